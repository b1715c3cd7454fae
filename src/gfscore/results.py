"""Results: frozen, versioned, to and from JSON.

The contract with whoever reads ``audit.json``: within ``gfscore.audit/1`` keys are only added, readers ignore keys
they do not know, and a number that does not exist is null, never 0.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gfscore import views
from gfscore.consistency import check_consistent
from gfscore.errors import FileError, ResultError, naming
from gfscore.files import write_text
from gfscore.metrics import BUILT_IN, find_metric
from gfscore.places.addresses import shown
from gfscore.places.copies import to_read
from gfscore.places.outgoing import to_write

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "gfscore.audit/1"

Interval = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]
WeightedBy = Literal["samples", "class_sizes", "unequal_draws"]


class Result(BaseModel):
    """Base of everything in a result file."""

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        validate_by_name=True,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )


class ScoreInfo(Result):
    """Which local score was used, and how."""

    name: str = Field(description="great, or another local score")
    range: Interval = Field(description="smallest and largest value a sample can have")
    activation: Literal["softmax", "sigmoid"] | None = None
    temperature: float | None = None
    norm: str | None = None
    eps: float | None = None
    settings: dict[str, Any] | None = Field(
        default=None, description="what else decides the score, such as rivals, directions or sigma"
    )
    probabilities: bool = Field(default=False, description="the input held probabilities, not logits")


class SamplesInfo(Result):
    """Where the samples came from."""

    source: str = Field(description="file, or 'arrays' when they were handed over in memory")
    n: int = Field(ge=1)
    seed: int | None = Field(default=None, description="of the generator that drew them, if one did")
    weighted_by: WeightedBy = Field(
        default="samples",
        description="what numbers of the whole (aggregate, accuracy, robust_accuracy, abstained) are means over: all "
        "samples alike; classes by their size, because they were not drawn in proportion to it; or unequal_draws: all "
        "samples alike although classes were not drawn in proportion, so that these numbers are about the draw only",
    )


class IntervalInfo(Result):
    """What all intervals of a model have in common: together they hold with probability 1 - delta."""

    method: str = Field(description="betting, kl, bernstein, hoeffding, blocks or mixture")
    delta: float = Field(gt=0, lt=1)
    target: Literal["population", "finite"] = Field(
        description="what is bounded: the distribution the samples come from, or the fixed set they were drawn from"
    )
    seed: int | None = Field(
        default=None,
        description="of the order in which betting takes the samples, or of the blocks that they were dealt to",
    )
    anytime: bool = Field(
        default=False, description="they hold together at every moment of a stream, whatever made one look or stop"
    )


class Metric(Result):
    """A number of a model or class, and how far it may be from the truth."""

    value: float | None = Field(description="null when it does not exist, as the Gini coefficient of zeros")
    interval: Interval | None = Field(default=None, description="null when no bound was computed")


class ClassResult(Result):
    """A class, or a group where the audit was asked for groups."""

    name: str
    n: int = Field(ge=1)
    size: int | None = Field(
        default=None, description="samples of the class in the data set that these were drawn from, where it is known"
    )
    score: float = Field(description="mean local score of the samples")
    std: float | None = Field(description="standard deviation of the local scores, n - 1; null when n is 1")
    accuracy: Share
    interval: Interval | None = Field(description="for the expected score; all classes at once")
    shrunken: float | None = Field(
        default=None, description="estimate that borrows from the other classes; beside the score, not in its place"
    )
    confused_with: str | None = Field(description="class most often predicted by mistake; null without mistakes")
    confused_share: Share = Field(default=0.0, description="share of the samples predicted so")
    robust_accuracy: Metric | None = Field(
        default=None, description="share of radii above eps; the interval covers sampling only: it is no bound"
    )
    refuted: Metric | None = Field(
        default=None, description="share of claimed radii in which an adversarial example was found"
    )
    abstained: Share | None = Field(
        default=None, description="share of the samples for which no class was named; null where none can be withheld"
    )
    attacked: Metric | None = Field(default=None, description="accuracy under the attack of the cross-check")


class WorstCase(Metric):
    """WCR, with its class."""

    class_: str = Field(alias="class", description="class that attains it, the first of several")


class Disparity(Metric):
    """RDI, with the two classes that make it."""

    classes: tuple[str, str] = Field(description="highest and lowest class")


class Penalised(Metric):
    """FP-GREAT, with its fairness weight."""

    weight: float = Field(ge=0, description="lambda")


class Atkinson(Metric):
    """Atkinson's index, with its inequality aversion and the mean it adjusts."""

    aversion: float = Field(default=1.0, ge=0, description="epsilon")
    adjusted_mean: float | None = Field(default=None, description="class mean times (1 - index)")


class MetricBlock(Result):
    """Base of what holds every metric of a model: one way to read them all."""

    def metric(self, key: str) -> Metric:
        """A metric of the whole model by its key, with its interval; its value is None where this result has none."""
        if key in BUILT_IN:
            found = getattr(self, key)
            if isinstance(found, Metric):
                return found
            return Metric(value=found, interval=getattr(self, f"{key}_interval", None))
        others: dict[str, Metric] = getattr(self, "metrics", {})
        if key not in others and find_metric(key) is None:
            raise ResultError(f"there is no metric {key!r}. There are {', '.join([*BUILT_IN, *others])}.")
        return others.get(key, Metric(value=None))


class Null(Result):
    """An index of disparity under chance alone: all classes equal."""

    null_mean: float = Field(description="what chance gives on average, by the test with the larger p-value")
    null_q95: float = Field(description="what chance exceeds in 5 % of the shuffles, likewise")
    p_value: float = Field(
        gt=0, le=1, description="how often chance gives at least what was observed: the larger of both tests"
    )
    p_holm: float | None = Field(
        default=None, description="p_value, corrected (Holm) for RDI and NRGC being asked together"
    )
    p_plain: float | None = Field(
        default=None, description="of the plain test: exact for classes that all have one distribution"
    )
    p_studentised: float | None = Field(
        default=None, description="of the studentised test: approximate, for classes with equal means"
    )
    test: Literal["plain", "studentised"] | None = Field(default=None, description="the one with the larger p-value")


class Noise(Result):
    """The noise floor of RDI and NRGC."""

    rdi: Null
    nrgc: Null | None = Field(description="null when all scores are 0")
    permutations: int = Field(description="shuffles, or draws")
    studentised: bool = Field(description="false only where an earlier version made the plain test alone")
    seed: int
    kind: Literal["permutation", "normal"] = Field(
        default="permutation", description="shuffled samples, or normal draws where the samples are gone"
    )


class Flag(Result):
    """Something that makes a number less trustworthy than it looks."""

    code: str
    message: str


class Witness(Result):
    """An image inside a claimed radius that the model labels otherwise, looked at twice."""

    class_: str = Field(alias="class")
    predicted: str
    sample: str = Field(description="id of the sample, or its row")
    distance: float = Field(gt=0)
    radius: float = Field(gt=0, description="what was claimed")
    image: str | None = Field(default=None, description="file that shows the sample, the witness and their difference")
    data: str | None = Field(
        default=None,
        description="npz file with both as the model saw them, float32 in [0, 1]: sample, witness, label, ...",
    )


class Claim(Result):
    """What the score would need to be a radius, and what is known about it."""

    premise: str
    certified: bool = Field(default=False, description="the scores are proven radii under the premise")
    premise_violated_share: Share | None = Field(
        default=None,
        description="of samples with a positive radius, weighed as radius_refuted_share; null when not tried",
    )
    radius_refuted_share: Share | None = Field(
        default=None,
        description="of samples with a positive radius: each class weighs as much as it has of them, however many were "
        "tried; null when not tried",
    )
    radius_refuted_interval: Interval | None = Field(
        default=None, description="for that share in a population with the classes in these numbers"
    )
    tried_by: tuple[str, ...] = Field(default=(), description="the refuters that were run")
    tried_on: int | None = Field(default=None, description="samples with a positive radius that were tried")
    delta: float | None = Field(
        default=None,
        description="all intervals of refuted shares hold together with probability 1 - delta, beside the others",
    )
    witnesses: tuple[Witness, ...] = Field(default=(), description="the strongest of each class, strongest first")


class CrossCheck(Result):
    """Accuracy under an attack beside the scores that need none; by class it is ``attacked``."""

    attack: str = Field(description="autoattack (standard) or pgd")
    norm: str
    eps: float
    n: int = Field(description="samples attacked, wrongly classified ones included")
    accuracy: Metric = Field(
        description="share of samples that no attack moved to another class; classes weigh as in the audited samples"
    )
    delta: float = Field(description="this interval and those of all classes hold together with probability 1 - delta")
    seconds: dict[str, float] = Field(description="time taken by the attack and by each score, on the same samples")
    scores: dict[str, dict[str, float]] = Field(
        description="clean accuracy, great, and first-order (share of radii above eps), by class, on the same samples"
    )
    agreement: dict[str, dict[str, Any]] = Field(description="ranks of the classes by score and by accuracy attacked")
    first_order: str = Field(
        default="by gradients, 3 rivals; made for this check",
        description="how the first-order radii were found: those of the audit, if it is of them and in this norm",
    )


class Curves(Result):
    """Scores over a range of temperatures; with many classes only the lowest ones are kept."""

    temperature: tuple[float, ...]
    aggregate: tuple[float, ...]
    scores: dict[str, tuple[float, ...]] = Field(description="by class")
    metrics: dict[str, tuple[float | None, ...]] = Field(
        default_factory=dict, description="every metric but the aggregate, of all classes, by key"
    )
    error: float = Field(
        description="estimate of how far a value is from the score at that temperature at most, not a bound"
    )


class Calibrated(MetricBlock):
    """The metrics at the calibrated temperature, beside those at the temperature of the audit.

    All intervals here hold together at the audit's level for a temperature fixed beforehand. This one was chosen on the
    same samples, which they do not account for, and they do not hold together with those of the audit itself. There is
    no noise floor: audit other samples at this temperature to have both.
    """

    temperature: float = Field(description="T*, chosen on these samples")
    aggregate: float
    class_mean: float
    classes: tuple[ClassResult, ...] = Field(description="intervals as if T* had been fixed beforehand")
    worst_set: tuple[str, ...] = Field(description="from these intervals")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson
    metrics: dict[str, Metric] = Field(default_factory=dict, description="those of plug-ins, by key")


class ModelAudit(MetricBlock):
    """Everything about one model."""

    name: str
    score: ScoreInfo
    samples: SamplesInfo
    run: dict[str, Any] | None = Field(
        default=None, description="model, data, preprocessing and batch size, when the logits were made here"
    )
    interval: IntervalInfo
    partition: Literal["class", "group"] = "class"
    accuracy: Share = Field(description="share of correct decisions, of what samples.weighted_by says")
    aggregate: float = Field(description="mean local score, of what samples.weighted_by says")
    aggregate_interval: Interval | None = Field(
        default=None, description="null when no bound was computed, as for unequal draws that cannot be weighed"
    )
    class_mean: float = Field(description="unweighted mean of the class scores")
    class_mean_interval: Interval | None = None
    classes: tuple[ClassResult, ...] = Field(
        min_length=2, description="in the order of the class index; groups by name"
    )
    absent_classes: tuple[str, ...] = Field(description="classes without a sample: left out of every metric")
    worst_set: tuple[str, ...] = Field(description="classes whose interval allows them to be the worst")
    rdi: Disparity
    nrgc: Metric
    wcr: WorstCase
    fp_great: Penalised
    theil: Metric
    atkinson: Atkinson
    metrics: dict[str, Metric] = Field(default_factory=dict, description="those of plug-ins, by key")
    robust_accuracy: Metric | None = Field(
        default=None, description="share of radii above eps; the interval covers sampling only: it is no bound"
    )
    abstained: Share | None = Field(default=None, description="share of all samples for which no class was named")
    noise: Noise | None = None
    flags: tuple[Flag, ...]
    claim: Claim
    cross_check: CrossCheck | None = None
    verdict: str | None = None
    curves: Curves | None = None
    calibrated: Calibrated | None = None

    @property
    def class_weights(self) -> tuple[float, ...]:
        """What each class counts for in numbers of the whole; they sum to 1."""
        by_size = self.samples.weighted_by == "class_sizes"
        totals = [(entry.size or 0) if by_size else entry.n for entry in self.classes]
        return tuple(total / sum(totals) for total in totals)

    def __repr__(self) -> str:
        return views.model_text(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return views.model_html(self)


class Calibration(Result):
    """All temperatures that maximise an objective over some models, and what the choice is worth."""

    objective: str
    models: tuple[str, ...]
    temperature: float | None = Field(description="T*, the middle of the widest interval; null when undefined")
    value: float | None = Field(description="of the objective, anywhere in the intervals")
    intervals: tuple[Interval, ...] = Field(description="all temperatures that maximise it: open intervals")
    temperature_range: Interval = Field(description="what was searched")
    resolution: float | None = Field(default=None, description="of the intervals' ends, as a factor; null: exact")
    curve: dict[str, tuple[float | None, ...]] = Field(description="the objective, a step function of T: edges, values")
    grid: dict[str, Any] | None = Field(default=None, description="what the paper's two-phase grid search finds")
    baselines: dict[str, float | None] = Field(description="the objective at T = 1, and by clean accuracy alone")
    left_out: tuple[dict[str, Any], ...] = Field(
        default=(),
        description="without each model: T* and value of the others (temperature, value), and their value at the T* "
        "of all models (at_full), which is lower where T* depends on the model",
    )
    reference: dict[str, Any] | None = Field(
        default=None,
        description="agreement with a reference, if one was given; p-values and intervals of calibrated are null with "
        "the objective given, since T* was chosen to make that agreement large",
    )
    flags: tuple[Flag, ...] = ()

    def to_json(self) -> str:
        """As ``calibrate --json`` prints it."""
        return self.model_dump_json(indent=1) + "\n"


class Provenance(Result):
    """What made the result."""

    gfscore: str
    python: str
    numpy: str
    scipy: str
    command: str | None = None
    created: str = Field(description="UTC, ISO 8601")
    inputs: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each input file")


class ResultFile(Result):
    """Base of what is a file of its own, with the name of its schema in it."""

    schema_: str = Field(alias="schema")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote; keys that this version does not know are ignored."""
        schema = cls.model_fields["schema_"].default
        name = schema.removeprefix("gfscore.").partition("/")[0]
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not JSON ({error}). Give the {name}.json that gfscore wrote.") from error
        found = data.get("schema") if isinstance(data, dict) else None
        if found != schema:
            raise FileError(f"has schema {found!r}; this version reads {schema!r}. Run the {name} again.")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise FileError(f"breaks the schema at {place}: {first['msg']}. Run the {name} again.") from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote."""
        with naming(shown(path)):
            try:
                text = to_read(path).read_bytes()
            except OSError as error:
                raise FileError(f"cannot be read ({error.strerror}). Check the path.") from error
            return cls.from_json(text)

    def to_json(self) -> str:
        """The contents of the file, and what ``--json`` prints."""
        return self.model_dump_json(indent=1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write :meth:`to_json` to a file, whole or not at all."""
        write_text(to_write(path), self.to_json())


class Audit(ResultFile):
    """Audits of one or more models; with exactly one, its numbers can be read from here directly."""

    schema_: str = Field(default=SCHEMA, alias="schema", pattern=r"^gfscore\.audit/1$")
    models: tuple[ModelAudit, ...] = Field(min_length=1)
    calibration: Calibration | None = None
    ranking: dict[str, Any] | None = Field(
        default=None,
        description="how alike two numbers order three or more models: score and clean accuracy, and with a reference "
        "either of them and it; Spearman and Kendall with p-values and intervals",
    )
    provenance: Provenance

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote; numbers that contradict each other are refused."""
        audit = super().from_json(text)
        for model in audit.models:
            check_consistent(model)
        return audit

    def to_frame(self) -> "pd.DataFrame":
        """One row per model and class (needs pandas, from the extra ``tables``)."""
        return views.frame(self)

    def __getitem__(self, name: str) -> ModelAudit:
        for model in self.models:
            if model.name == name:
                return model
        raise KeyError(f"no model {name!r}; there are {', '.join(repr(model.name) for model in self.models)}")

    @property
    def model(self) -> ModelAudit:
        """The only model; with several, take one by name: ``audit["name"]``."""
        if len(self.models) != 1:
            names = ", ".join(repr(model.name) for model in self.models)
            raise ResultError(f"this audit holds {len(self.models)} models ({names}). Take one: audit[name].")
        return self.models[0]

    @property
    def classes(self) -> tuple[ClassResult, ...]:
        """Classes of the only model."""
        return self.model.classes

    @property
    def accuracy(self) -> float:
        """Clean accuracy of the only model."""
        return self.model.accuracy

    @property
    def aggregate(self) -> float:
        """Mean local score of the only model: its GREAT score."""
        return self.model.aggregate

    @property
    def class_mean(self) -> float:
        """Unweighted mean of the class scores of the only model."""
        return self.model.class_mean

    @property
    def rdi(self) -> Disparity:
        """RDI of the only model."""
        return self.model.rdi

    @property
    def nrgc(self) -> Metric:
        """NRGC of the only model."""
        return self.model.nrgc

    @property
    def wcr(self) -> WorstCase:
        """WCR of the only model."""
        return self.model.wcr

    @property
    def fp_great(self) -> Penalised:
        """FP-GREAT of the only model."""
        return self.model.fp_great

    @property
    def theil(self) -> Metric:
        """Theil's index of the only model."""
        return self.model.theil

    @property
    def atkinson(self) -> Atkinson:
        """Atkinson's index of the only model."""
        return self.model.atkinson

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the only model."""
        return self.model.flags

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.models))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return "".join(map(views.model_html, self.models))


def json_schema() -> dict[str, Any]:
    """JSON Schema of ``audit.json``; the copy in the package and the docs is made from this."""
    return Audit.model_json_schema(mode="serialization")
