"""Claims about the calibrated temperature: how it was found, and what it achieves."""

from collections.abc import Iterator

import numpy as np

from gfscore.reproduction.facts import Facts, rho
from gfscore.reproduction.result import PaperClaim, Verdict
from gfscore.reproduction.rounding import rounds_to

CALIBRATED = {"cifar10": "0.871", "imagenet": "1.000"}
ATTACK_CALIBRATED = "0.897"  # the original paper's, on CIFAR-10
STATED_RANGE, STATED_STEPS = (0.01, 10.0), (0.1, 0.001)
SAME = 1e-12  # two values of a trace that differ by less are equal
OBJECTIVE = "class_accuracy"


def calibration_claims(facts: Facts) -> Iterator[PaperClaim]:
    """How the temperature was found, and what it achieves."""
    yield _calibrated(facts)
    yield _baseline(facts)
    if facts.dataset == "cifar10":
        yield _against_attacks(facts)
    yield _objective(facts)
    yield _optimum(facts)
    yield _grid(facts)
    yield _smooth(facts)
    yield _monotonic(facts)


def _calibrated(facts: Facts) -> PaperClaim:
    stated = CALIBRATED[facts.dataset]
    own, plain = rho(facts.calibrated.great, facts.robust), rho(facts.plain.great, facts.robust)
    baseline = rho(facts.clean, facts.robust)
    searched = float(facts.published.traces[OBJECTIVE].coarse_values.max())
    if not rounds_to(own, stated):
        verdict = Verdict.FAILS
        explanation = (
            f"The uncalibrated scores reach {plain:.3f}. {searched:.3f} is the value of another objective: the mean "
            "over models of ρ(class score, class accuracy)."
        )
    else:
        verdict = Verdict.SAYS_LITTLE if baseline >= own else Verdict.HOLDS
        explanation = f"Clean accuracy alone, which is what the temperature is fitted to, gives {baseline:.3f}."
    return PaperClaim(
        id="calibrated-rho",
        datasets=(facts.dataset,),
        where="Abstract, Section 5.1, Table 2",
        statement=f"Rank correlation of the scores calibrated at T = {facts.temperature:.2f} with RobustBench.",
        published=f"ρ = {stated}",
        recomputed=f"ρ = {own:.3f}",
        verdict=verdict,
        explanation=explanation,
    )


def _baseline(facts: Facts) -> PaperClaim:
    own = rho(facts.calibrated.great, facts.robust)
    return PaperClaim(
        id="clean-accuracy-alone",
        datasets=(facts.dataset,),
        statement="How well clean accuracy alone ranks the models like RobustBench.",
        recomputed=f"ρ = {rho(facts.clean, facts.robust):.3f} (calibrated score: {own:.3f})",
        verdict=Verdict.FINDING,
        explanation="The baseline that any score calibrated on clean accuracy has to beat.",
    )


def _against_attacks(facts: Facts) -> PaperClaim:
    own = rho(facts.calibrated.great, facts.robust)
    return PaperClaim(
        id="matches-attack-calibration",
        datasets=(facts.dataset,),
        where="caption of Table 2",
        statement="Self-calibration matches or exceeds the original calibration, which needs attacks.",
        published=f"{CALIBRATED[facts.dataset]} against {ATTACK_CALIBRATED}",
        recomputed=f"{own:.3f} against {ATTACK_CALIBRATED}",
        verdict=Verdict.HOLDS if own >= float(ATTACK_CALIBRATED) else Verdict.FAILS,
        explanation="Even the two printed numbers say less than that. For ImageNet the original has no calibrated "
        "value to compare with.",
    )


def _objective(facts: Facts) -> PaperClaim:
    plain, calibrated = rho(facts.plain.great, facts.clean), rho(facts.calibrated.great, facts.clean)
    return PaperClaim(
        id="stated-objective",
        datasets=(facts.dataset,),
        where="Definition 6",
        statement="T* maximises the rank correlation, over models, of score and clean accuracy.",
        published=f"T* = {facts.temperature:.2f}",
        recomputed=f"ρ = {calibrated:.3f} at T*, {plain:.3f} at T = 1",
        verdict=Verdict.HOLDS if calibrated >= plain else Verdict.FAILS,
        explanation=(
            "T = 1 lies in the range and is no better, so nothing published contradicts it; but the trace shows that "
            "another objective was searched."
            if calibrated >= plain
            else "T = 1 lies in the range and does better, so T* is not the maximum of what the paper defines."
        ),
    )


def _optimum(facts: Facts) -> PaperClaim:
    trace = facts.published.traces[OBJECTIVE]
    temperatures = np.concatenate([trace.coarse_temperatures, trace.fine_temperatures])
    values = np.concatenate([trace.coarse_values, trace.fine_values])
    best = temperatures[values >= values.max() - SAME]
    low, high = float(trace.coarse_temperatures[0]), float(trace.coarse_temperatures[-1])
    inside = low < best.min() and best.max() < high
    unique = np.ptp(best) < SAME
    where = f"[{best.min():.2f}, {best.max():.2f}]" if not unique else f"{best.min():.2f}"
    return PaperClaim(
        id="optimum",
        datasets=(facts.dataset,),
        where="Section 5.1, Figure 6",
        statement="The calibrated temperature is the optimum of the search.",
        published=f"T* = {facts.temperature:.2f}",
        recomputed=f"highest at {where}; range searched [{low:g}, {high:g}]",
        verdict=Verdict.HOLDS if inside and unique else Verdict.FAILS,
        explanation=(
            "The maximum lies inside the range and at one temperature only."
            if inside and unique
            else f"The highest value {'is a plateau that reaches' if not unique else 'lies at'} the edge of the range "
            "searched: a wider range may hold a better temperature."
        ),
    )


def _grid(facts: Facts) -> PaperClaim:
    trace = facts.published.traces[OBJECTIVE]
    low, high = float(trace.coarse_temperatures[0]), float(trace.coarse_temperatures[-1])
    coarse, fine = (float(np.diff(grid).mean()) for grid in (trace.coarse_temperatures, trace.fine_temperatures))
    same = np.allclose((low, coarse, fine), (STATED_RANGE[0], *STATED_STEPS)) and abs(high - STATED_RANGE[1]) < coarse
    return PaperClaim(
        id="search-grid",
        datasets=(facts.dataset,),
        where="Section 3.4",
        statement="The search covers this range with these steps, coarse and fine.",
        published=f"[{STATED_RANGE[0]:g}, {STATED_RANGE[1]:g}], steps {STATED_STEPS[0]:g} and {STATED_STEPS[1]:g}",
        recomputed=f"[{low:g}, {high:g}], steps {coarse:.3g} and {fine:.3g}",
        verdict=Verdict.HOLDS if same else Verdict.FAILS,
        explanation="Read off the published search trace; the published code has the same range and steps.",
    )


def _smooth(facts: Facts) -> PaperClaim:
    trace = facts.published.traces[OBJECTIVE]
    steps = np.diff(trace.coarse_values)
    signs = np.sign(steps[np.abs(steps) > SAME])
    turns = int((np.diff(signs) != 0).sum())
    best = int(trace.coarse_values.argmax())
    inside = bool(
        0 < best < len(trace.coarse_values) - 1 and trace.coarse_values[-1] < trace.coarse_values[best] - SAME
    )
    one_peak = turns <= 1
    return PaperClaim(
        id="smooth-curves",
        datasets=(facts.dataset,),
        where="caption of Figure 6",
        statement="The curve is smooth, which confirms that the search finds the optimum reliably.",
        published="smooth",
        recomputed=f"changes direction {turns} times; maximum {'inside' if inside else 'at the edge of'} the range",
        verdict=Verdict.graded(full=one_peak and inside, part=one_peak or inside),
        explanation=(
            "The curve is smooth, but a maximum at the edge confirms no optimum."
            if one_peak and not inside
            else "A rank correlation is a step function of the temperature: it is never smooth, and it shows "
            "with few classes."
        ),
    )


def _monotonic(facts: Facts) -> PaperClaim:
    known = [
        (entry.clean_accuracy, entry.autoattack_accuracy)
        for entry in facts.published.leaderboard
        if entry.clean_accuracy is not None and entry.autoattack_accuracy is not None
    ]
    clean, robust = np.array(known).T
    own = rho(clean, robust)
    return PaperClaim(
        id="monotonic",
        datasets=(facts.dataset,),
        where="Section 3.4",
        statement="More robust models have higher clean accuracy (within a defence family): a monotonic relation.",
        published="well-established",
        recomputed=f"ρ = {own:.3f} over the {len(known)} {facts.published.threat} models of RobustBench",
        verdict=Verdict.HOLDS if own == 1 else Verdict.OVERSTATED,
        explanation="A tendency, not a law, and the calibration uses it across families. The work cited for it "
        "(Tsipras et al. 2019) argues that the two can be at odds.",
    )
