"""What came of trying to refute a score: the claim, witnesses against it, and accuracy under attack beside it."""

from pydantic import Field

from gfscore.results.base_result import Interval, Metric, Result, Share
from gfscore.results.calibration_result import Agreement


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

    attack: str = Field(description="autoattack (standard) or pgd")
    norm: str
    eps: float
    n: int = Field(description="samples attacked, wrongly classified ones included")
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
