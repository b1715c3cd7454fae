"""How scores are computed from samples, by name: one line a score, from here or from outside the package."""

from collections.abc import Callable

import numpy as np

from gfscore.errors import OptionError
from gfscore.plugins import load_plugins
from gfscore.samples import Samples
from gfscore.score_titles import GREAT, SCORES, Needs, ScoreTitle, add_title
from gfscore.scores.great import great_scores
from gfscore.scores.local import Activation, LocalScores

Compute = Callable[[Samples], LocalScores]
OTHERS: dict[str, Compute] = {}  # scores of samples that were registered, by name; GREAT's has settings of its own


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
    OTHERS[title.name] = compute


def scores_of_samples() -> tuple[str, ...]:
    """The names of all scores that samples alone decide, those of installed plug-ins too."""
    load_plugins()
    return (GREAT, *OTHERS)


def check_score(name: str) -> None:
    """Refuse a score that samples alone do not decide."""
    if name == GREAT or name in OTHERS or name in scores_of_samples():
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
    local, title = OTHERS[name](samples), SCORES[name]
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
