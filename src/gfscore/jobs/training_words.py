"""The words of a repair by training; a repair by a bias refuses them."""

from dataclasses import dataclass, fields
from typing import Annotated, ClassVar

from gfscore.errors import OptionError
from gfscore.training import STRATEGIES, Recipe
from gfscore.words import Panel, Word

THEN, BASELINES = ("bias", "none"), ("all", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWords:
    """How a network is trained."""

    PANEL: ClassVar = Panel.TRAINING

    epochs: Annotated[
        int | None,
        Word(
            least=1, help="Times that all training images are seen.  [default: 10; frl, frl-remargin and wat take 30]"
        ),
    ] = None
    lr: Annotated[
        float | None, Word(help="Rate of learning at the start; it falls to 0 as a cosine.  [default: 0.003]")
    ] = None
    batch: Annotated[int | None, Word(least=1, help="Images of a step of training.  [default: 128]")] = None
    inner: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Attack on training images: nfgsm (one step from noise) or pgd with its steps, as pgd10.  "
            "[default: nfgsm; bat takes pgd10]",
        ),
    ] = None
    beta: Annotated[
        float | None,
        Word(
            help="Weight of the divergence between the output for an image and for the attacked one: large for large "
            "images, 1 for digits.  [default: 6; frl and frl-remargin take 1.5; at, faal and coda have none]",
        ),
    ] = None
    then: Annotated[
        str | None,
        Word(any_case=True, help="What follows training: bias, chosen on images that do not judge, or none.  "
             "[default: bias]"),
    ] = None  # fmt: skip
    baselines: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Whether plain adversarial training of the same budget is run too, to say what the method itself "
            "adds: all or none.  [default: all]",
        ),
    ] = None

    def __post_init__(self) -> None:
        for name, known in (("then", THEN), ("baselines", BASELINES)):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise OptionError(f"--{name} {value!r} is not known. Choose {' or '.join(known)}.")

    def refuse(self, method: str) -> None:
        """Refuse what is said of training where nothing is trained."""
        for field in fields(self):
            if getattr(self, field.name) is not None:
                known = ", ".join(STRATEGIES)
                raise OptionError(
                    f"--{field.name} is about training, and --method {method} trains nothing. Leave it out, or choose "
                    f"one that does: {known}."
                )

    def recipe(self, method: str, norm: str, eps: float, seed: int) -> Recipe:
        """All numbers of a training run, as said or by default."""
        said = {name: getattr(self, name) for name in ("epochs", "lr", "batch", "inner", "beta")}
        given = {name: value for name, value in said.items() if value is not None}
        if method in STRATEGIES:
            given.setdefault("epochs", STRATEGIES[method].default_epochs)
        return Recipe(method=method, norm=norm, eps=eps, seed=seed, **given)

    @property
    def with_bias(self) -> bool:
        """Whether a bias follows."""
        return self.then != "none"

    @property
    def with_baselines(self) -> bool:
        """Whether baselines are trained."""
        return self.baselines != "none"
