"""Flags: facts that make a number less trustworthy than it looks, each with what to do about it."""

import numpy as np

from gfscore.disparity import worst_classes
from gfscore.errors import PLURALS
from gfscore.profile import ClassProfile
from gfscore.results import Flag
from gfscore.samples import Samples
from gfscore.scores.local import Activation, LocalScores

DEFAULT_MIN_N = (
    30  # the usual rule of thumb; Hoeffding's interval at n = 30, K = 10 is then +-0.4, a third of the range
)
SATURATED = 0.99  # share of the maximum above which a score cannot say more
SATURATED_SHARE = 0.5  # of the samples: then the profile is mostly accuracy
SHIFT_KEPT = 0.5  # share of the sigmoid score left over by the common shift of the logits
NAMED = 5  # names listed in a message before "and N more"


def audit_flags(samples: Samples, local: LocalScores, profile: ClassProfile, *, min_n: int) -> tuple[Flag, ...]:
    """All flags that apply, in a fixed order."""
    found = (
        _absent(profile),
        _few_samples(profile, min_n),
        _tied_worst(profile),
        _zero_classes(profile),
        _tied_logits(samples, local),
        _saturated(local),
        _sigmoid_shift(local),
        _bounded_logits(samples),
    )
    return tuple(flag for flag in found if flag is not None)


def _absent(profile: ClassProfile) -> Flag | None:
    if not profile.absent:
        return None
    return Flag(
        code="absent_classes",
        message=f"classes without a sample ({_some(profile.absent)}; {len(profile.absent):,} in all) have no score and "
        "are left out of every metric.",
    )


def _few_samples(profile: ClassProfile, min_n: int) -> Flag | None:
    few = tuple(name for name, n in zip(profile.names, profile.counts.tolist(), strict=True) if n < min_n)
    if not few:
        return None
    return Flag(
        code="few_samples",
        message=f"{len(few)} of {len(profile.names)} {_parts(profile)} have fewer than {min_n} samples ({_some(few)}): "
        "their scores are mostly chance; read the intervals, not the points.",
    )


def _tied_worst(profile: ClassProfile) -> Flag | None:
    worst = worst_classes(profile.scores)
    if len(worst) < 2:
        return None
    names = tuple(profile.names[k] for k in worst)
    lowest = profile.scores[worst[0]]
    return Flag(
        code="tied_worst",
        message=f"{len(names)} {_parts(profile)} share the lowest score {lowest:.4g} ({_some(names)}): "
        "the one named as worst is only the first of them.",
    )


def _zero_classes(profile: ClassProfile) -> Flag | None:
    zero = tuple(profile.names[k] for k in np.flatnonzero(profile.scores == 0))
    if not zero:
        return None
    if len(zero) == len(profile.names):
        return Flag(
            code="all_zero",
            message="every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class. "
            "Check that labels and logits belong together.",
        )
    return Flag(
        code="zero_classes",
        message=f"{len(zero)} of {len(profile.names)} {_parts(profile)} score exactly 0 ({_some(zero)}): no sample of "
        "theirs has its own class in front. Atkinson is then 1, and its adjusted mean 0, by definition.",
    )


def _tied_logits(samples: Samples, local: LocalScores) -> Flag | None:
    counted = int((local.tied & (local.predicted == samples.labels)).sum())
    if counted == 0:
        return None
    return Flag(
        code="tied_logits",
        message=f"{counted:,} samples count as correct only because their class comes first among equal logits: "
        "they score 0. Coarse logits (float16, int8) do this.",
    )


def _saturated(local: LocalScores) -> Flag | None:
    share = float((local.values > SATURATED * local.maximum).mean())
    if share <= SATURATED_SHARE:
        return None
    return Flag(
        code="saturated",
        message=f"{100 * share:.1f} % of the samples score above {SATURATED:g} of the maximum: the profile repeats "
        "the class accuracies. A higher temperature (of a radius: a higher cap, more noise samples) spreads it out.",
    )


def _sigmoid_shift(local: LocalScores) -> Flag | None:
    """How much of the sigmoid score a common shift of all logits, which changes no decision, has cost."""
    if local.activation is not Activation.SIGMOID or local.temperature is None:
        return None
    if local.own_logits is None or local.rival_logits is None:
        return None
    leads = local.own_logits > local.rival_logits
    if not leads.any():
        return None
    with np.errstate(over="ignore"):  # a gap may be infinite; its hyperbolic tangent is 1
        gaps = (local.own_logits[leads] - local.rival_logits[leads]) / local.temperature
    centred = local.maximum * np.tanh(gaps / 4.0)  # sigma(d/2) - sigma(-d/2): the most a shift can give
    if local.values[leads].sum() >= SHIFT_KEPT * centred.sum():
        return None
    kept = float(local.values[leads].sum() / centred.sum())
    return Flag(
        code="sigmoid_shift",
        message=f"sigmoid keeps {100 * kept:.1f} % of the score that the same logits would have if shifted to their "
        "middle: the level of the logits, which decides nothing, sets the score. Use softmax.",
    )


def _bounded_logits(samples: Samples) -> Flag | None:
    low, high = samples.value_range
    if samples.probabilities or low < 0 or high > 1 or np.isclose(low, high):
        return None
    return Flag(
        code="bounded_logits",
        message=f"all logits lie in [{low:.3g}, {high:.3g}]: if these are sigmoid outputs or normalised scores, "
        "they are no logits and the score means nothing.",
    )


def _parts(profile: ClassProfile) -> str:
    return PLURALS[profile.partition]


def _some(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:NAMED])
    return shown if len(names) <= NAMED else f"{shown} and {len(names) - NAMED:,} more"
