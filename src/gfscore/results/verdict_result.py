"""Verdicts of a gate, and what tried to refute a score."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from gfscore.results.attack_result import FewAttacks, Referee
from gfscore.results.base_result import Flag, Interval, Metric, Provenance, Result, ResultFile, ScoreInfo, Share
from gfscore.results.calibration_result import Agreement


class Verdict(StrEnum):
    """What the data say about a rule: it holds, it does not, or they cannot tell."""

    PASS = "PASS"  # noqa: S105 (no password)
    FAIL = "FAIL"
    UNDECIDED = "UNDECIDED"

    @classmethod
    def all_of(cls, verdicts: "list[Verdict]") -> "Verdict":
        """FAIL if any fails; PASS if all pass.

        >>> Verdict.all_of([Verdict.PASS, Verdict.UNDECIDED]).value
        'UNDECIDED'
        """
        if cls.FAIL in verdicts:
            return cls.FAIL
        return cls.UNDECIDED if cls.UNDECIDED in verdicts else cls.PASS


class RuleEvidence(Result):
    """E-values of a rule: each has an expectation of at most 1 if what it speaks against is true.

    So it exceeds 20 with probability at most 0.05. Those of fresh samples may be multiplied, and held against a level
    that was chosen after seeing them.
    """

    against_rule: float = Field(ge=0, description="against 'the rule holds'")
    for_rule: float = Field(ge=0, description="against 'the rule does not hold'")
    made_from: Literal["samples", "means", "interval"] = Field(
        description="bets on the samples; what means and counts tell of such bets; or 1/level where the interval "
        "decides, and 0 where it does not"
    )


class RuleVerdict(Result):
    """One rule, judged on the interval of what it is about."""

    rule: str = Field(description="as a person would write it: WCR ≥ 0.1")
    metric: str = Field(description="wcr, rdi, ..., class, accuracy, class_accuracy, refuted or change")
    class_: str | None = Field(default=None, alias="class", description="of a rule about one class")
    eps: float | None = Field(default=None, description="size of attack that a rule on robust accuracy is about")
    change: bool = Field(default=False, description="the rule is about the change against a baseline")
    at_least: float | None = Field(default=None, description="the threshold of a rule with a lowest value")
    at_most: float | None = Field(default=None, description="the threshold of a rule with a highest value")
    value: float | None = Field(description="the estimate; null when it does not exist")
    interval: Interval | None = None
    verdict: Verdict
    reason: str = Field(description="a sentence with numbers")
    samples_needed: int | None = Field(
        default=None, description="of an undecided rule: about so many would decide, if the estimate stays"
    )
    evidence: RuleEvidence | None = Field(default=None, description="e-values, each for the rule by itself")


class AdaptiveClass(Result):
    """A class after an adaptive run."""

    name: str
    n: int = Field(ge=0, description="samples spent on it")
    available: int = Field(ge=1, description="samples that could be drawn")
    size: int | None = Field(
        default=None, description="of the class in the fixed set that the verdict is about; null: a distribution"
    )
    score: float | None = Field(description="mean of the scores drawn; null when none was")
    accuracy: float | None = Field(description="share predicted rightly of those drawn; null when none was")
    log_above: float | None = Field(description="natural logarithm of the evidence for above; null: it is certain")
    log_below: float | None = Field(description="natural logarithm of the evidence for below; null: it is certain")


class AdaptiveRun(Result):
    """How an adaptive gate came to its verdict."""

    threshold: float
    used: int = Field(ge=0, description="samples that the verdict took")
    passes_per_sample: int = Field(default=1, ge=1, description="forward passes that a sample takes, at most")
    available: int = Field(ge=1, description="samples there are")
    from_store: int = Field(default=0, ge=0, description="of those used, done by an earlier run of the same command")
    rounds: int = Field(ge=0)
    seed: int = Field(description="of the order of the samples within each class")
    target: Literal["population", "finite"]
    classes: tuple[AdaptiveClass, ...]


class ModelVerdict(Result):
    """A model, judged by every rule of a policy."""

    name: str
    score: ScoreInfo | None = Field(default=None, description="which local score is judged, and how it was made")
    verdict: Verdict
    reasons: tuple[str, ...] = Field(description="what decides: of the rules that fail, else of those undecided")
    rules: tuple[RuleVerdict, ...]
    delta: float = Field(gt=0, lt=1, description="the verdict is wrong with at most this probability")
    levels: dict[str, float] = Field(description="the share of delta of each kind of rule")
    adaptive: AdaptiveRun | None = Field(default=None, description="of an adaptive gate")
    referee: Referee | None = Field(default=None, description="of a gate that attacks until the verdict stands")
    accuracy: Metric | None = Field(
        default=None,
        description="clean accuracy, its interval at level delta by itself; of an adaptive gate of the samples "
        "looked at, classes weighed equally, without one",
    )
    preprocessing: str | None = Field(
        default=None, description="what happened to the pixels, or 'none'; null where logits were given"
    )
    absent_classes: tuple[str, ...] = Field(default=(), description="classes without a sample")
    flags: tuple[Flag, ...] = Field(default=(), description="those of the audit, and of the comparison with a baseline")
    allowed: tuple[str, ...] = Field(
        default=(), description="flags that would have kept the verdict from being given, had they not been allowed"
    )


class GateResult(ResultFile):
    """What ``gfscore gate`` says: PASS needs every rule of every model."""

    schema_: str = Field(default="gfscore.gate/1", alias="schema", pattern=r"^gfscore\.gate/1$")
    verdict: Verdict
    models: tuple[ModelVerdict, ...] = Field(min_length=1)
    provenance: Provenance


class ClassChange(Result):
    """A class (or group) in two versions of a model."""

    name: str
    n: int = Field(description="samples behind the change; of the new version where they are not shared")
    old: float
    new: float
    change: Metric = Field(description="new minus old; all intervals of a comparison hold together")
    accuracy: tuple[float, float] = Field(description="old and new")
    p_value: float | None = Field(default=None, description="of 'no worse'; null where samples are not shared")
    p_holm: float | None = Field(default=None, description="the same, corrected for all classes")
    verdict: Literal["worse", "better", "within", "unclear"] = Field(
        description="within: where a tolerance was given, shown to have fallen by no more"
    )


class MetricChange(Metric):
    """A metric of the whole model in two versions; value and interval are of the change, new minus old."""

    old: float | None
    new: float | None
    reason: str | None = Field(default=None, description="why there is no change, where both versions have a value")


class RobustChange(Result):
    """Robust accuracy of two versions at one size of attack."""

    eps: float = Field(gt=0)
    norm: str
    kind: Literal["estimated", "certified"]
    paired: bool = Field(description="both were measured on the same samples")
    delta: float = Field(gt=0, lt=1, description="anything here is wrong with at most this probability")
    old: Share
    new: Share
    change: Metric = Field(description="new minus old, of the whole")
    classes: tuple[ClassChange, ...]
    worse: tuple[str, ...] = Field(description="classes that fell, by Holm's procedure")
    better: tuple[str, ...] = Field(description="classes whose interval lies above 0")


class Comparison(ResultFile):
    """Two versions of a model, class by class."""

    schema_: str = Field(default="gfscore.comparison/1", alias="schema", pattern=r"^gfscore\.comparison/1$")
    old: str
    new: str
    score: ScoreInfo | None = Field(default=None, description="which local score is compared, and how it was made")
    paired: bool
    pairing: str = Field(description="how samples were matched, or why they were not")
    n: int = Field(ge=1, description="samples compared; of the new version where they are not shared")
    partition: Literal["class", "group"] = "class"
    delta: float = Field(
        gt=0, lt=1, description="anything below is wrong with at most this probability, all of it together"
    )
    tolerance: float | None = Field(default=None, ge=0, description="a fall that is accepted")
    classes: tuple[ClassChange, ...]
    not_compared: tuple[str, ...] = Field(
        default=(), description="classes that a version has samples of, but that could not be compared"
    )
    metrics: dict[str, MetricChange]
    robustness: tuple[RobustChange, ...] = Field(
        default=(), description="changes of robust accuracy where both versions have it; that of the headline first"
    )
    accuracy: tuple[float, float] = Field(description="old and new")
    worse: tuple[str, ...] = Field(description="classes that fell: Holm's procedure, or disjoint intervals")
    better: tuple[str, ...] = Field(description="classes whose interval lies above 0")
    hidden: str | None = Field(description="what a better mean hides, in a sentence; null when it hides nothing")
    verdict: Verdict = Field(
        description="FAIL: a class is worse; UNDECIDED: where a tolerance was given, or a class was not compared"
    )
    reason: str
    flags: tuple[Flag, ...] = ()
    provenance: Provenance


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


class AttackFreeScores(Result):
    """Scores that need no attack, by class."""

    clean_accuracy: dict[str, float] = Field(default_factory=dict, alias="clean accuracy")
    great: dict[str, float] = Field(default_factory=dict)
    first_order: dict[str, float] = Field(
        default_factory=dict, alias="first-order", description="share of first-order radii above eps"
    )


class AttackAgreements(Result):
    """How alike each score and the accuracy under attack order the classes."""

    clean_accuracy: Agreement | None = Field(default=None, alias="clean accuracy")
    great: Agreement | None = None
    first_order: Agreement | None = Field(default=None, alias="first-order")


class CrossCheck(Result):
    """Accuracy under an attack beside the scores that need none; by class it is ``attacked``."""

    attack: str = Field(description="autoattack (standard) or pgd (20 steps of APGD)")
    norm: str
    eps: float
    n: int = Field(description="samples attacked, wrongly classified ones included; with a budget, without them")
    accuracy: Metric = Field(
        description="share of samples that no attack moved to another class; classes weigh as in the audited samples"
    )
    delta: float = Field(description="this interval and those of all classes hold together with probability 1 - delta")
    seconds: dict[str, float] = Field(description="time taken by the attack and by each score, on the same samples")
    scores: AttackFreeScores = Field(description="on the same samples")
    agreement: AttackAgreements = Field(description="ranks of the classes by score and by accuracy attacked")
    first_order: str = Field(
        default="by gradients, 3 rivals; made for this check",
        description="how the first-order radii were found: those of the audit, if it is of them and in this norm",
    )
    few: FewAttacks | None = Field(
        default=None,
        description="with a budget: accuracy, classes and scores are then of all samples, though few were attacked",
    )
