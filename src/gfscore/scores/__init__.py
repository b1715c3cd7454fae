"""A number per sample: how far the classifier is from changing its mind about it.

The table of scores that samples alone decide is here: one line a score, from here or from outside the package.
"""

from collections.abc import Callable

import numpy as np

from gfscore.errors import OptionError
from gfscore.plugins import load_plugins
from gfscore.samples import Samples
from gfscore.score_titles import GREAT, SCORES, Needs, ScoreTitle, add_title
from gfscore.scores.first_order import first_order_radii, first_order_scores, radius_flags
from gfscore.scores.given import given_scores
from gfscore.scores.great import SCORE_MAX, great_scores, local_scores
from gfscore.scores.lipschitz import lipschitz_scores
from gfscore.scores.margin_slopes import (
    FirstOrder,
    Norm,
    forward_only_norms,
    gradient_norms,
    is_leading,
    strongest_rivals,
)
from gfscore.scores.radius_counts import RadiusCounts
from gfscore.scores.sample_scores import Activation, LocalScores
from gfscore.scores.smoothing import Noise, certified_radii, smoothing_scores

__all__ = [
    "SCORE_MAX",
    "Activation",
    "FirstOrder",
    "LocalScores",
    "Noise",
    "Norm",
    "RadiusCounts",
    "ScoreTitle",
    "certified_radii",
    "check_score",
    "compute_scores",
    "first_order_radii",
    "first_order_scores",
    "forward_only_norms",
    "given_scores",
    "gradient_norms",
    "great_scores",
    "is_leading",
    "lipschitz_scores",
    "local_scores",
    "radius_flags",
    "register_score",
    "scores_of_samples",
    "smoothing_scores",
    "strongest_rivals",
]

Compute = Callable[[Samples], LocalScores]
REGISTERED: dict[str, Compute] = {}  # scores of samples from outside, by name; GREAT's has settings of its own


def register_score(title: ScoreTitle, compute: Compute) -> None:
    """Add a local score: a function from samples to :class:`LocalScores`, and what it is called.

    The title says the largest value that a sample can have (``maximum``), since intervals need a range that was fixed
    before looking. From then on ``gfscore.audit(..., score=NAME)``, ``gfscore audit --score NAME`` and the dashboard
    know it.

    >>> register_score(ScoreTitle(name="great", title="mine", maximum=1.0), lambda samples: None)
    Traceback (most recent call last):
    gfscore.errors.OptionError: there is a score 'great' already. Give another name.
    """
    if title.maximum is None or not (np.isfinite(title.maximum) and title.maximum > 0):
        raise OptionError(f"the score {title.name!r} has a largest value of {title.maximum}. Give a positive maximum.")
    add_title(title)
    REGISTERED[title.name] = compute


def scores_of_samples() -> tuple[str, ...]:
    """The names of all scores that samples alone decide, those of installed plug-ins too."""
    load_plugins()
    return (GREAT, *REGISTERED)


def check_score(name: str) -> None:
    """Refuse a score that samples alone do not decide."""
    if name == GREAT or name in REGISTERED or name in scores_of_samples():
        return
    known = " or ".join(scores_of_samples())
    if name in SCORES:
        what = "radii that were found elsewhere" if SCORES[name].needs is Needs.RADII else "the model itself"
        raise OptionError(f"the score {name!r} takes {what}, not logits alone. Choose {known} here.")
    raise OptionError(f"score {name!r} is not known. Choose {known}.")


def compute_scores(
    samples: Samples, name: str = GREAT, *, activation: Activation | str = Activation.SOFTMAX, temperature: float = 1.0
) -> LocalScores:
    """The local score of each sample; activation and temperature are the GREAT score's."""
    check_score(name)
    if name == GREAT:
        return great_scores(samples, activation=activation, temperature=temperature)
    local, title = REGISTERED[name](samples), SCORES[name]
    values = np.asarray(local.values)
    if local.name != name or local.maximum != title.maximum:
        raise OptionError(
            f"the score {name!r} calls itself {local.name!r} with values up to {local.maximum:g}, and was registered "
            f"with values up to {title.maximum:g}. Let both say the same."
        )
    if values.shape != (samples.n_samples,) or not ((values >= 0) & (values <= local.maximum)).all():
        raise OptionError(
            f"the score {name!r} gave {values.size:,} values for {samples.n_samples:,} samples, or some outside 0 to "
            f"{local.maximum:g}. Give one in that range for each."
        )
    return local
