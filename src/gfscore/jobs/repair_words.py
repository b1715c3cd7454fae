"""The words of ``repair``: how, against which attack, and what that may cost."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from gfscore.attacks.under_attack import AttackKind
from gfscore.bounds import check_level
from gfscore.errors import OptionError
from gfscore.judge.robust_accuracy import default_eps
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder, Norm
from gfscore.training import STRATEGIES
from gfscore.words import Panel, Word, read_size

METHODS = ("bias", *STRATEGIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairWords:
    """What is repaired, and what that may cost."""

    PANEL: ClassVar = Panel.SCORE

    method: Annotated[
        str,
        Word(
            any_case=True,
            help="How to repair: bias, a constant for the logit of each class, without training; or by training: "
            f"{', '.join(STRATEGIES)}.",
        ),
    ] = "bias"
    norm: Annotated[str | None, Word(any_case=True, help="Norm of the attack: l2 or linf.  [default: linf]")] = None
    eps: Annotated[
        float | None,
        Word(
            parse=read_size,
            metavar="SIZE",
            help="Size of the attack, in [0, 1] pixels, such as 2/255.  [default: linf 2/255, l2 1/4]",
        ),
    ] = None
    keep_mean: Annotated[
        float, Word(least=0, most=1, help="What the mean of the classes may lose, clean or under attack, at most.")
    ] = 0.02
    max_loss: Annotated[
        float, Word(least=0, most=1, help="What any class may lose, clean or under attack, at most.")
    ] = 0.05
    samples: Annotated[
        int | None,
        Word(
            least=2,
            help="Of how many samples of each class slopes are measured: half of them choose, half judge.  [default: "
            "about 4,000 in all by gradients, 1,000 by forward passes; all of a logits file]",
        ),
    ] = None
    attack: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Also attack the samples that judge, before and after, and judge by that: autoattack, apgd (two of "
            "its four attacks, a tenth of the time) or pgd (20 steps of APGD, a little kinder).  "
            "[default: first-order radii alone]",
        ),
    ] = None
    attacked: Annotated[
        int | None,
        Word(least=1, help="Samples of each class that are attacked.  [default: all that judge]"),
    ] = None
    gradients: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Whether slopes are gradients: no (forward passes alone), yes, or auto: where the model has them.  "
            "[default: auto]",
        ),
    ] = None
    delta: Annotated[
        float,
        Word(
            panel=Panel.STATISTICS, help="Error level: a gain that is none is reported with at most this probability."
        ),
    ] = 0.05

    def __post_init__(self) -> None:
        if self.method == "temperature":
            raise OptionError(
                "temperature divides all logits alike and changes no decision: it is no repair. Choose --method bias."
            )
        if self.method not in METHODS:
            raise OptionError(
                f"method {self.method!r} is not known. Choose {', '.join(METHODS[:-1])} or {METHODS[-1]}."
            )
        check_level(self.delta)
        if self.attack is not None:
            AttackKind.named(self.attack)
        elif self.attacked is not None:
            raise OptionError("--attacked is about an attack, and none is asked for. Say --attack apgd too.")
        for name in ("keep_mean", "max_loss"):
            if not 0 <= getattr(self, name) <= 1:
                raise OptionError(
                    f"--{name.replace('_', '-')} {getattr(self, name)} is no loss. Give a share, as 0.02."
                )
        Gradients.named(self.gradients or Gradients.AUTO)

    def radius(self, seed: int) -> FirstOrder:
        """How slopes are measured, and the size that radii must exceed."""
        norm = Norm.named(self.norm or Norm.LINF)
        eps = default_eps(norm) if self.eps is None else self.eps
        if not eps > 0:
            raise OptionError(f"eps {eps:g} is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")
        return FirstOrder(norm=norm, eps=eps, seed=seed)

    def refuse_attacks(self, why: str) -> None:
        """Refuse what is said of attacks where there are only logits."""
        for name in ("eps", "norm", "gradients", "attack"):
            if getattr(self, name) is not None:
                raise OptionError(f"--{name} is about attacks, {why}")
