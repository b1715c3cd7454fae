"""Accuracy under an attack that most samples were spared: estimates, bounds, and what they cost."""

from typing import Annotated, Literal

from pydantic import Field

from gfscore.results.base_result import Interval, Metric, Result, Share

AttackedFirst = Annotated[
    int,
    Field(
        ge=0,
        description="samples with radii near or below eps, which met APGD-CE before any was drawn; not of the budget",
    ),
]
Fallen = Annotated[
    int,
    Field(
        ge=0,
        description="of the rightly classified ones, those that APGD-CE, the first of AutoAttack's four attacks, broke "
        "before any was drawn for all four: they do not stand, and are not attacked again",
    ),
]


class AttackedPart(Result):
    """A class (or group), some samples of which were attacked."""

    name: str
    n: int = Field(ge=1, description="samples of it")
    right: int = Field(ge=0, description="of them rightly classified: only these are attacked, the others do not stand")
    fallen: int = Field(
        default=0,
        ge=0,
        description="of the rightly classified ones, those that APGD-CE, the first of AutoAttack's four attacks, broke "
        "before any was drawn for all four: they do not stand, and are not attacked again",
    )
    attacked: int = Field(ge=0)
    mistaken: int = Field(ge=0, description="of those attacked, how many came out otherwise than predicted")
    value: Share = Field(description="accuracy under attack: predictions, corrected by those attacked")
    interval: Interval
    predicted: Share = Field(description="what the radii alone say: the share of them above eps")


class FewAttacks(Result):
    """Accuracy under attack from predictions for all samples and attacks on some; all intervals hold together.

    That is so whatever the predictions are worth: they only decide how wide the intervals are.
    """

    budget: int = Field(ge=1, description="samples that might be attacked")
    attacked: int = Field(ge=0, description="samples that were: whole blocks, as far as the budget reaches")
    right: int = Field(ge=0, description="samples that could be: those rightly classified")
    attacked_first: AttackedFirst = 0
    fallen: Fallen = 0
    n: int = Field(ge=1, description="samples that it is about")
    block: int = Field(ge=1, description="samples attacked together")
    from_store: int = Field(default=0, ge=0, description="of those attacked, how many an earlier run had attacked")
    mistaken: int = Field(ge=0, description="of those attacked, how many came out otherwise than predicted")
    predicted: Share = Field(description="what the radii alone say: the share of them above eps")
    predictor: str = Field(description="how the radii were found")
    classes: tuple[AttackedPart, ...]
    worst: Metric = Field(description="accuracy under attack of the worst class")
    worst_class: str = Field(description="the class with the lowest estimate")
    worst_set: tuple[str, ...] = Field(description="classes that cannot be excluded as the worst")
    gap: Metric = Field(description="best class minus worst class")
    gini: Metric = Field(description="Gini coefficient of the classes; null where every class is at 0")
    delta: float = Field(gt=0, lt=1, description="all intervals hold together with probability 1 - delta")
    target: Literal["finite", "population"] = Field(description="these very samples, or what they were drawn from")
    seed: int = Field(description="of the order in which samples are attacked, and of the attacks")


class RefereeSize(Result):
    """What a referee found at one size of attack."""

    eps: float = Field(gt=0)
    attacked: int = Field(ge=0, description="samples that it took")
    right: int = Field(ge=0, description="samples that could be attacked: those rightly classified")
    attacked_first: AttackedFirst = 0
    fallen: Fallen = 0
    mistaken: int = Field(ge=0, description="of those attacked, how many came out otherwise than predicted")
    without_predictions: int | None = Field(
        default=None,
        description="about how many attacks as sure a verdict would have taken without radii, by Clopper and Pearson's "
        "bounds; at most all; null where nothing was decided",
    )
    classes: tuple[AttackedPart, ...] = Field(description="intervals are those that the verdict rests on")


class Referee(Result):
    """How a gate on accuracy under attack came to its verdict."""

    attack: str = Field(description="autoattack (standard) or pgd (20 steps of APGD)")
    norm: str
    n: int = Field(ge=1, description="samples that it is about")
    attacked: int = Field(ge=0, description="attacks that the verdict took, at all sizes")
    budget: int | None = Field(default=None, description="attacks that it might have taken; null: as many as there are")
    from_store: int = Field(default=0, ge=0, description="of those attacked, how many an earlier run had attacked")
    predictor: str = Field(description="how the radii were found that predict what withstands")
    sizes: tuple[RefereeSize, ...]
    target: Literal["finite", "population"]
    seed: int
