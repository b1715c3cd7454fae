"""The words that jobs share: how to run models, how to score, what to make of scores. Each is written once, here."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gfscore.bounds import Method, check_level
from gfscore.engines.loading import Loading
from gfscore.engines.pool import Cluster
from gfscore.errors import OptionError
from gfscore.inputs.model_specs import PREPROCESSING
from gfscore.inputs.models.devices import AUTO, CPU
from gfscore.inputs.small_files import read_class_names
from gfscore.jobs.common_words import ClassNames, Seed, StoreFolder
from gfscore.judge import check_expectation
from gfscore.judge.flags import DEFAULT_MIN_N
from gfscore.measures.slopes import Gradients
from gfscore.metrics import formulas
from gfscore.score_titles import FIRST_ORDER, GREAT, title_of
from gfscore.scores import Activation, FirstOrder, scores_of_samples
from gfscore.scores.great import check_activation, check_temperature
from gfscore.scores.margin_slopes import REFINE
from gfscore.storage.store import Store, default_root
from gfscore.words import Panel, Word, read_size

RADIUS_WORDS = ("norm", "eps", "rivals", "refine", "directions", "step", "max_radius", "gradients")
RADIUS_DEFAULTS = FirstOrder(norm="linf")


known_scores = scores_of_samples  # for a choice: the dashboard may not ask the stages


class Engine(StrEnum):
    """Where the forward passes run."""

    LOCAL = "local"
    RAY = "ray"


class Target(StrEnum):
    """What the intervals are about."""

    POPULATION = "population"
    FINITE = "finite"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(Loading):
    """How models are loaded and run, for every job that takes a model and data."""

    PANEL: ClassVar = Panel.CLUSTER

    class_names: ClassNames = None
    engine: Annotated[Engine, Word(help="Where models run: on this machine, or on a Ray cluster.")] = Engine.LOCAL
    address: Annotated[
        str | None,
        Word(
            expert=True,
            help="Ray cluster: auto (the one found here), local (one of its own) or host:port.  [default: local]",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Word(expert=True, least=1, help="Ray workers that run models side by side.  [default: as many as find room]"),
    ] = None
    gpus_per_actor: Annotated[
        float | None,
        Word(expert=True, least=0, help="GPUs that each Ray worker has, or the part of one.  [default: 0]"),
    ] = None
    store: StoreFolder = None
    dry_run: Annotated[
        bool,
        Word(
            panel=Panel.OUTPUT,
            help="Compute nothing: open and check model and data, try each measurement for at most ten seconds, and "
            "say what the run would take: passes, gradients, bytes and time.",
        ),
    ] = False

    @property
    def loading(self) -> Loading:
        """How models and data are opened, here or on a worker."""
        said = {field.name: getattr(self, field.name) for field in fields(Loading)}
        if self.engine == Engine.RAY:  # which says itself who has a GPU
            if self.device not in (AUTO, CPU):
                raise OptionError(
                    f"--device {self.device} is about this machine. Give Ray's workers GPUs: --gpus-per-actor 1."
                )
            said["device"] = CPU
        return Loading(**said | {"class_names": self.names})

    @property
    def kept(self) -> Store:
        """Where measurements are kept; a folder that cannot be one is refused before anything is opened."""
        return Store(self.store or default_root())

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster to run on; None for this machine."""
        said: dict[str, Any] = {name: getattr(self, name) for name in ("address", "workers", "gpus_per_actor")}
        given = {name: value for name, value in said.items() if value is not None}
        if self.engine == Engine.RAY:
            return Cluster(**given)
        for name in given:
            raise OptionError(f"--{name.replace('_', '-')} is about a Ray cluster. Say --engine ray too.")
        return None

    def refuse_ray(self, what: str) -> None:
        """Refuse a cluster where no model is run."""
        if self.cluster is not None:
            raise OptionError(f"{what} runs no model, and --engine says where models run. Leave --engine out.")

    def refuse_running(self, what: str) -> None:
        """Refuse what is said of running a model where none is run: it would be passed over."""
        self.refuse_ray(what)
        for name in (*PREPROCESSING, "split", "n_per_class"):
            if getattr(self, name) is not None and getattr(self, name) is not False:  # a mean of 0 is one
                raise OptionError(
                    f"--{name.replace('_', '-')} is about images that a model is run on, and {what} runs none. "
                    "Leave it out, or say --model and --data."
                )

    @property
    def names(self) -> Sequence[str] | None:
        """The class names: those given, or those in the file that was given."""
        return read_class_names(self.class_names) if isinstance(self.class_names, Path) else self.class_names


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """What is made of scores, whatever they are; checked when made."""

    PANEL: ClassVar = Panel.STATISTICS

    fairness_weight: Annotated[
        float,
        Word(
            expert=True,
            help="How much the gap counts in the penalised mean (FP-GREAT): mean of the classes minus this times the "
            "gap (RDI).",
        ),
    ] = formulas.DEFAULT_FAIRNESS_WEIGHT
    delta: Annotated[
        float, Word(help="Error level: all intervals of scores and metrics hold together with probability 1 - delta.")
    ] = 0.05
    interval: Annotated[
        str, Word(any_case=True, expert=True, help=f"How intervals are found: {', '.join(Method)}.")
    ] = Method.BETTING
    permutations: Annotated[
        int,
        Word(
            expert=True, help="Shuffles of the samples that show what chance alone would give; 0 leaves that test out."
        ),
    ] = 1000
    min_n: Annotated[int, Word(expert=True, help="Warn of classes with fewer samples than this.")] = DEFAULT_MIN_N
    expect_accuracy: Annotated[
        float | None,
        Word(
            help="Accuracy that the model is known for, such as 0.92: stop "
            "where the one found here is off by more than "
            "chance explains.  [default: not checked]"
        ),
    ] = None
    seed: Seed = 0

    def __post_init__(self) -> None:
        formulas.checked_weight(self.fairness_weight)
        check_level(self.delta)
        Method.named(self.interval)
        if self.permutations < 0 or self.seed < 0:
            raise OptionError("the number of permutations and the seed must be 0 or more.")
        if self.min_n < 1:
            raise OptionError(f"min_n {self.min_n} is not a number of samples. Give at least 1.")
        if self.expect_accuracy is not None:
            check_expectation(self.expect_accuracy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(ProfileOptions):
    """How to audit, the same for every model of an audit: which local score, and what is made of it."""

    PANEL: ClassVar = Panel.SCORE

    score: Annotated[
        str,
        Word(
            any_case=True,
            help="What is measured of each sample: great (from confidences), first-order (an estimated radius, which "
            "needs --model), or a score of a plug-in.",
        ),
    ] = GREAT
    activation: Annotated[
        str | None,
        Word(
            any_case=True, help=f"How logits become confidences: softmax or sigmoid.  [default: {Activation.SOFTMAX}]"
        ),
    ] = None
    temperature: Annotated[
        float | None, Word(help="Divide the logits by this before they become confidences.  [default: 1]")
    ] = None
    norm: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Norm of a radius: l2 or linf.  [default: linf; for --score first-order it must be said]",
        ),
    ] = None
    eps: Annotated[
        float | None,
        Word(
            parse=read_size,
            metavar="SIZE",
            help="Robust accuracy in the headline is at this size of attack, in [0, 1] pixels, such as 2/255.  "
            "[default: linf 2/255, l2 1/4]",
        ),
    ] = None
    rivals: Annotated[
        int | None,
        Word(
            expert=True,
            help=f"Strongest other classes that a first-order radius looks at.  [default: {RADIUS_DEFAULTS.rivals}]",
        ),
    ] = None
    refine: Annotated[
        int | None,
        Word(
            expert=True,
            help="Points half-way to the boundary from which a radius by gradients is found again; 0: first-order.  "
            f"[default: {REFINE}]",
        ),
    ] = None
    directions: Annotated[
        int | None,
        Word(
            expert=True,
            help="Random directions of a radius without gradients, one pass each.  [default: l2 32, linf 64]",
        ),
    ] = None
    step: Annotated[
        float | None,
        Word(
            expert=True,
            help=f"L2 length of a step along such a direction, in [0, 1] pixels.  [default: {RADIUS_DEFAULTS.step:g}]",
        ),
    ] = None
    max_radius: Annotated[
        float | None,
        Word(expert=True, help="Larger first-order radii count as this.  [default: l2 2, linf 32/255, or twice eps]"),
    ] = None
    gradients: Annotated[
        str | None,
        Word(
            any_case=True,
            help="Whether radii use gradients: no (forward passes alone), yes, or auto: where the model has them.  "
            "[default: auto; no with --directions or --step]",
        ),
    ] = None

    def __post_init__(self) -> None:
        ProfileOptions.__post_init__(self)
        if self.score not in (GREAT, FIRST_ORDER, *(known := scores_of_samples())):
            raise OptionError(
                f"score {self.score!r} is not known. Choose {' or '.join([GREAT, FIRST_ORDER, *known[1:]])}."
            )
        self._refuse_confidences() if not title_of(self.score).has_temperature else self._check_confidences()
        _ = self.radius

    def _check_confidences(self) -> None:
        check_activation(self.softmax_or_sigmoid)
        check_temperature(self.divisor)

    def _refuse_confidences(self) -> None:
        """Refuse what makes confidences of logits for a score that has none."""
        what = "a radius" if self.score == FIRST_ORDER else f"the {title_of(self.score).title}"
        for name in ("activation", "temperature"):
            if getattr(self, name) is not None:
                raise OptionError(f"--{name} is about the GREAT score, and {what} has none. Leave it out.")

    @property
    def softmax_or_sigmoid(self) -> str:
        """The activation, as said or by default."""
        return self.activation or Activation.SOFTMAX

    @property
    def divisor(self) -> float:
        """The temperature, as said or by default."""
        return 1.0 if self.temperature is None else self.temperature

    @property
    def choice(self) -> Gradients:
        """Whether radii use gradients; who speaks of directions or steps means radii without."""
        if self.gradients is not None:
            return Gradients.named(self.gradients)
        return Gradients.AUTO if self.directions is None and self.step is None else Gradients.NO

    @property
    def radius(self) -> FirstOrder | None:
        """How the radii are found that are the score; None for another score."""
        return self.first_order(self.norm) if self.score == FIRST_ORDER else None

    def first_order(self, norm: str | None) -> FirstOrder:
        """How first-order radii in a norm are found."""
        said: dict[str, Any] = {name: value for name in RADIUS_WORDS if (value := getattr(self, name)) is not None}
        unused = {Gradients.YES: ("directions", "step"), Gradients.NO: ("refine",)}.get(self.choice, ())
        for name in unused:
            if name in said:
                others = f"with{'out' if self.choice is Gradients.YES else ''} gradients"
                also = f"--gradients {self.choice}" if self.gradients is not None else "--directions and --step"
                raise OptionError(f"--{name} is about radii {others}. Leave it or {also} out.")
        said |= {"norm": norm, "seed": self.seed}
        return FirstOrder(**{name: said[name] for name in said.keys() - {"gradients"}})

    def refuse_radii(self, why: str) -> None:
        """Refuse what is said about radii where none are measured: it would be passed over."""
        for name in RADIUS_WORDS if self.score != FIRST_ORDER else ():
            if getattr(self, name) is not None:
                raise OptionError(f"--{name.replace('_', '-')} is about first-order radii, {why}")
