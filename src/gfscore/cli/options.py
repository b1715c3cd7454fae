"""Options that several commands share, each written once."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from gfscore import auditing
from gfscore.engines.loading import Loading
from gfscore.engines.ray import Cluster
from gfscore.errors import OptionError
from gfscore.inputs.small_files import read_class_names
from gfscore.measures.run import DEFAULT_BATCH
from gfscore.measures.slopes import Gradients
from gfscore.score_titles import FIRST_ORDER, GREAT, title_of
from gfscore.storage.store import Store, default_root

DEFAULTS = auditing.Options()
RADIUS_DEFAULTS = auditing.FirstOrder(norm="linf")
PREPROCESSING = ("preset", "mean", "std", "layout", "resize", "crop", "interpolation", "grey", "value_range")


def size(text: str) -> float:
    """A size in pixels, written as a number or as a fraction.

    >>> size("0.25"), size("51/255")
    (0.25, 0.2)
    """
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"{text!r} is not a number. Write it as 0.0078 or 2/255.") from None


ModelSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="SPEC",
        help="A model to run: FILE.onnx, FILE.pt2, torch:module:factory, timm:NAME, hf:ORG/NAME, "
        "robustbench:DATASET/THREAT/NAME or zoo:NAME. May be given several times.",
    ),
]
DataSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="SPEC",
        help="Labelled images: FILE.npz, FILE.parquet, an image folder, a CIFAR or MNIST folder, generator:FILE.onnx, "
        "zoo:digits or generator:zoo. May be given several times.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A number per model to rank beside: a CSV (model,value), a JSON object, or robustbench:cifar10/L2.",
    ),
]
Accuracies = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Clean accuracies by model to calibrate with, as --reference; robustbench:cifar10/L2 takes its clean "
        "ones.  [default: from the data]",
    ),
]
ClassNames = Annotated[Path | None, typer.Option(help="Names of the classes: one per line, or a JSON list.")]
Probabilities = Annotated[
    bool, typer.Option("--probabilities", help="The files hold probabilities: softmax is not applied again.")
]
Groups = Annotated[
    Path | None, typer.Option(help="Profile over these groups: a name per line, or a CSV with a column each.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print audit.json instead of tables; write it only with --out.")]
PerSample = Annotated[Path | None, typer.Option(help="Also write a row per sample, to .csv or .parquet.")]
Out = Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-audit]")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="Where logits are kept.  [default: $GFSCORE_STORE or the user's cache]")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


class Engine(StrEnum):
    """Where the forward passes run."""

    LOCAL = "local"
    RAY = "ray"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How models are loaded and run, for every command that takes ``--model`` and ``--data``."""

    trust_model: Annotated[
        bool, typer.Option("--trust-model", help="Load model formats that hold code (.pt2, TorchScript).")
    ] = False
    form: Annotated[
        str | None, typer.Option("--format", help="torchscript, when the ending of the file does not say so.")
    ] = None
    output: Annotated[str | None, typer.Option(help="Name or position of the output that holds the logits.")] = None
    model_dir: Annotated[Path | None, typer.Option(help="Where RobustBench keeps its weights.")] = None
    preset: Annotated[
        str | None, typer.Option(help="Mean and std by name: imagenet, cifar10, cifar100, mnist or half (0.5).")
    ] = None
    mean: Annotated[str | None, typer.Option(help="Subtracted from [0, 1] pixels, such as 0.49,0.48,0.45.")] = None
    std: Annotated[str | None, typer.Option(help="Divides them then, such as 0.25,0.24,0.26.")] = None
    layout: Annotated[str | None, typer.Option(help="NHWC or NCHW, when the shape of the images does not tell.")] = None
    resize: Annotated[str | None, typer.Option(help="Shorter side in pixels, or height x width (224x224).")] = None
    crop: Annotated[str | None, typer.Option(help="Side of the middle that stays, in pixels.")] = None
    interpolation: Annotated[str | None, typer.Option(help="nearest, bilinear, bicubic, lanczos or box.")] = None
    grey: Annotated[bool, typer.Option("--grey", help="One channel instead of three.")] = False
    value_range: Annotated[
        str | None, typer.Option("--range", help="What stands for black and white in float images, such as -1,1.")
    ] = None
    batch_size: Annotated[
        int, typer.Option(min=1, help="Images a forward pass; a model with a fixed batch keeps its own.")
    ] = DEFAULT_BATCH
    split: Annotated[str | None, typer.Option(help="Which part of a data folder that has several: train or test.")] = (
        None
    )
    n_per_class: Annotated[
        int | None,
        typer.Option(
            "--n-per-class",
            min=1,
            help="Images a generator draws of each class (100), or a random part of each class of other data (all).",
        ),
    ] = None
    classes: Annotated[
        int | None, typer.Option("--classes", min=2, help="Classes of a generator that does not say so.")
    ] = None
    class_names: ClassNames = None
    threads: Annotated[
        int | None,
        typer.Option(min=1, help="Threads an ONNX graph may use.  [default: all cores; 1 a worker with --engine ray]"),
    ] = None
    engine: Annotated[Engine, typer.Option(help="Where models run: on this machine, or on a Ray cluster.")] = (
        Engine.LOCAL
    )
    address: Annotated[
        str | None,
        typer.Option(
            help="Ray cluster: auto (the one found here), local (one of its own) or host:port.  [default: local]"
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Ray workers that run models side by side.  [default: as many as find room]"),
    ] = None
    gpus_per_actor: Annotated[
        float | None, typer.Option(min=0, help="GPUs of a Ray worker, or the part of one.  [default: 0]")
    ] = None
    store: StoreFolder = None
    seed: Seed = 0
    quiet: Quiet = False

    @property
    def loading(self) -> Loading:
        """How models and data are opened, here or on a worker."""
        return Loading(
            trust_model=self.trust_model,
            form=self.form,
            output=self.output,
            model_dir=None if self.model_dir is None else str(self.model_dir),
            preprocessing=self.preprocessing,
            batch_size=self.batch_size,
            split=self.split,
            n_per_class=self.n_per_class,
            classes=self.classes,
            class_names=self.names,
            seed=self.seed,
            threads=self.threads,
        )

    @property
    def kept(self) -> Store:
        """Where measurements are kept; a folder that cannot be one is refused before anything is opened."""
        return Store(self.store or default_root())

    @property
    def cluster(self) -> Cluster | None:
        """The Ray cluster to run on; None for this machine."""
        said: dict[str, Any] = {name: getattr(self, name) for name in ("address", "workers", "gpus_per_actor")}
        given = {name: value for name, value in said.items() if value is not None}
        if self.engine is Engine.RAY:
            return Cluster(**given)
        for name in given:
            raise OptionError(f"--{name.replace('_', '-')} is about a Ray cluster. Say --engine ray too.")
        return None

    def refuse_ray(self, what: str) -> None:
        """Refuse to run on a cluster what runs on this machine only."""
        if self.cluster is not None:
            raise OptionError(f"{what} runs on this machine only; --engine ray computes logits. Leave --engine out.")

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What was said about preprocessing, as ``Preprocessing.from_options`` takes it."""
        return {name: value for name in PREPROCESSING if (value := getattr(self, name)) not in (None, False)}

    @property
    def names(self) -> Sequence[str] | None:
        """The class names in the file that was given."""
        return None if self.class_names is None else read_class_names(self.class_names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Which local score, for every command that audits models."""

    score: Annotated[
        str,
        typer.Option(help="great, first-order (an estimated radius, which needs --model), or one of a plug-in."),
    ] = GREAT
    norm: Annotated[str | None, typer.Option(help="Norm of a radius: l2 or linf.")] = None
    eps: Annotated[
        float | None,
        typer.Option(
            parser=size,
            metavar="SIZE",
            help="Also the share of radii above this, in [0, 1] pixels (2/255): it estimates robust accuracy.",
        ),
    ] = None
    rivals: Annotated[
        int | None,
        typer.Option(
            help=f"Strongest other classes that a first-order radius looks at.  [default: {RADIUS_DEFAULTS.rivals}]"
        ),
    ] = None
    directions: Annotated[
        int | None,
        typer.Option(help="Random directions of a forward-only radius, two passes each.  [default: l2 32, linf 64]"),
    ] = None
    step: Annotated[
        float | None,
        typer.Option(help=f"L2 length of a step along them, in [0, 1] pixels.  [default: {RADIUS_DEFAULTS.step:g}]"),
    ] = None
    max_radius: Annotated[
        float | None,
        typer.Option(help="Larger first-order radii count as this.  [default: l2 2, linf 32/255]"),
    ] = None
    gradients: Annotated[
        str | None,
        typer.Option(help="Whether radii use gradients: no (forward passes alone), auto or yes.  [default: no]"),
    ] = None
    seed: Seed = 0

    @property
    def name(self) -> str | None:
        """The score that samples alone decide; None for a radius."""
        return None if self.score == FIRST_ORDER else self.score

    @property
    def choice(self) -> Gradients:
        """Whether radii use gradients, checked."""
        return Gradients.NO if self.gradients is None else Gradients.named(self.gradients)

    def first_order(self) -> auditing.FirstOrder | None:
        """How to find first-order radii, checked; None for the GREAT score, which takes none of what is about them."""
        if self.score != FIRST_ORDER and self.score not in (known := auditing.scores_of_samples()):
            choices = " or ".join([GREAT, FIRST_ORDER, *known[1:]])
            raise OptionError(f"score {self.score!r} is not known. Choose {choices}.")
        names = ("norm", "eps", "rivals", "directions", "step", "max_radius", "gradients")
        said: dict[str, Any] = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.score != FIRST_ORDER:
            if self.norm is not None or self.eps is not None:
                title = title_of(self.score).title
                raise OptionError(f"--norm and --eps are for radii, which the {title} is not. Say --score first-order.")
            for name in said:
                raise OptionError(
                    f"--{name.replace('_', '-')} is about first-order radii. Say --score first-order too."
                )
            return None
        unused = ("directions", "step") if self.choice is Gradients.YES else ()
        for name in unused:
            if name in said:
                raise OptionError(f"--{name} is about radii without gradients. Leave it or --gradients yes out.")
        return auditing.FirstOrder(**{name: said[name] for name in said.keys() - {"gradients"}}, seed=self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileOptions:
    """What is made of scores, whatever they are, for every command that audits."""

    fairness_weight: Annotated[float, typer.Option(help="Lambda of FP-GREAT = class mean - lambda * RDI.")] = (
        DEFAULTS.fairness_weight
    )
    delta: Annotated[float, typer.Option(help="All intervals of a model hold together with probability 1 - delta.")] = (
        DEFAULTS.delta
    )
    interval: Annotated[str, typer.Option(help="How intervals are found: betting, kl, bernstein or hoeffding.")] = (
        DEFAULTS.interval
    )
    permutations: Annotated[int, typer.Option(help="Shuffles of the noise floor; 0 leaves it out.")] = (
        DEFAULTS.permutations
    )
    min_n: Annotated[int, typer.Option(help="Flag classes with fewer samples.")] = DEFAULTS.min_n
    expect_accuracy: Annotated[
        float | None, typer.Option(help="Stop when the clean accuracy is off by more than sampling explains.")
    ] = None
    seed: Seed = 0

    def checked(self) -> auditing.Options:
        """The options, checked."""
        return auditing.Options(**{name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions(ProfileOptions):
    """The same for the GREAT score, with what makes it."""

    activation: Annotated[
        str | None,
        typer.Option(help=f"How logits become confidences: softmax or sigmoid.  [default: {DEFAULTS.activation}]"),
    ] = None
    temperature: Annotated[
        float | None, typer.Option(help=f"Divides the logits first.  [default: {DEFAULTS.temperature:g}]")
    ] = None

    def checked(self, score: str | None = GREAT) -> auditing.Options:
        """The options for a score that samples alone decide, checked; ``score`` is None where a radius is measured.

        What makes confidences of logits is refused for a score that has none.
        """
        if score is None or not title_of(score).has_temperature:
            what = "a radius" if score is None else f"the {title_of(score).title}"
            for name in ("activation", "temperature"):
                if getattr(self, name) is not None:
                    raise OptionError(f"--{name} is about the GREAT score, and {what} has none. Leave it out.")
        said = {name: value for name, value in asdict(self).items() if value is not None}
        return auditing.Options(**said, score=score or GREAT)
