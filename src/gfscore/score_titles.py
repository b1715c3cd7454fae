"""What local scores are called, and what may be said of them: the table that whoever shows a result reads.

How they are computed is in :mod:`gfscore.scores`. The words stand apart from that, because a result shows itself
without computing anything, and because the file of a score that is not installed here must still be readable.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from gfscore.errors import OptionError
from gfscore.plugins import load_plugins

SMALL = 0.5  # the largest value of a score below which three digits after the point say too little
ORDERS_NO_MODELS = "A higher score does not make a model more robust than one that was trained differently."


class Needs(StrEnum):
    """What a score is computed from."""

    LOGITS = "logits"
    MODEL = "model"  # forward passes on pixels, and gradients where there are any
    RADII = "radii"  # numbers that were found elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreTitle:
    """A local score in words."""

    name: str  # in results and options
    title: str  # for readers
    column: str = ""  # where there is little room; the title where there is none
    meaning: str = "its local score"  # of the number of one sample
    needs: Needs = Needs.LOGITS
    maximum: float | None = None  # the largest value of a sample; None where settings decide it
    accuracy: str = "clean accuracy"  # what the share of its correct decisions is called
    decider: str | None = None  # whose decisions those are, where they are not the model's own
    orders_models: bool = False  # a higher score means a more robust model, however either was trained
    has_temperature: bool = False  # activation and temperature decide it

    @property
    def heading(self) -> str:
        """Of a column."""
        return self.column or self.title


GREAT, FIRST_ORDER, ROBUST = "great", "first-order", "robust"
SCORES: dict[str, ScoreTitle] = {
    score.name: score
    for score in (
        ScoreTitle(
            name=GREAT,
            title="GREAT score",
            column="GREAT",
            meaning="by how much the confidence in the true class beats the strongest rival's",
            has_temperature=True,
        ),
        ScoreTitle(
            name=FIRST_ORDER,
            title="first-order radius",
            column="radius",
            meaning="how far off the nearest wrong decision is, judged by the slope at it and on the way",
            needs=Needs.MODEL,
            orders_models=True,
        ),
        ScoreTitle(
            name=ROBUST,
            title="robust accuracy",
            meaning="1 where its first-order radius is above eps, else 0",
            needs=Needs.MODEL,
            maximum=1.0,
            orders_models=True,
        ),
        ScoreTitle(
            name="smoothing",
            title="certified radius",
            column="radius",
            meaning="up to where the decision of the smoothed classifier provably stays, but for the stated chance of "
            "error",
            needs=Needs.MODEL,
            accuracy="smoothed accuracy",
            decider="Under noise, the smoothed classifier",
            orders_models=True,
        ),
        ScoreTitle(
            name="lipschitz",
            title="certified radius",
            column="radius",
            meaning="up to where a known Lipschitz constant keeps the decision",
            orders_models=True,
        ),
        ScoreTitle(
            name="given",
            title="given score",
            column="given",
            meaning="the number that was given for it",
            needs=Needs.RADII,
            orders_models=True,
        ),
    )
}


def title_of(name: str) -> ScoreTitle:
    """The words for a score; one that is not known, as in a file from elsewhere, keeps its own name.

    >>> title_of("first-order").title, title_of("stability").title
    ('first-order radius', 'stability score')
    """
    if name not in SCORES:
        load_plugins()
    return SCORES.get(name) or ScoreTitle(name=name, title=f"{name} score", column=name, orders_models=True)


def add_title(score: ScoreTitle) -> None:
    """Add the words for a score; see :func:`gfscore.scores.register_score`, which also takes what computes it."""
    if SCORES.get(score.name) == score:
        return
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", score.name):
        raise OptionError(f"{score.name!r} cannot be the name of a score. Use small letters, digits, _ and -.")
    if score.name in SCORES:
        raise OptionError(f"there is a score {score.name!r} already. Give another name.")
    SCORES[score.name] = score


def digits_of_range(largest: float) -> int:
    """Digits after the point that values of a score with this largest value are shown with.

    >>> digits_of_range(1.25), digits_of_range(32 / 255)
    (3, 4)
    """
    return 4 if largest < SMALL else 3
