"""The judges of claims about how models rank, and about the method: temperature, bounds, samples and certificate."""

import math
from itertools import combinations
from typing import Any

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.bounds import rdi_radius, rdi_sample_size
from gfscore.paper.claims_on_classes import Judgement, Judges, Standing, grade
from gfscore.paper.recomputed import DELTA, PaperFacts, places, rho, rounds_to
from gfscore.ranking import agreement

EXTREMES = ("Wu2020", "Augustin2020")  # fewest and most disparity on CIFAR-10, says the paper
FAR_MOVE = 2  # places; a move by one is a swap of neighbours
SAME_VALUE = 1e-12  # two values of a trace that differ by less are equal
TEST_SETS = {"cifar10": ("test set", 10, 1000), "imagenet": ("validation set", 1000, 50)}  # name, classes, images each
SAME_ACCURACY = 0.01  # points; the leaderboard has two decimals
SUBSET = 5000  # ImageNet images that RobustBench draws from the 50,000 (RobustBench issue 47)

ON_MODELS = Judges()


def with_sign(value: float) -> str:
    """A correlation for readers, with its sign.

    >>> with_sign(-0.5)
    '−0.500'
    """
    return f"{value:+.3f}".replace("-", "−")


@ON_MODELS.enter
def _uncalibrated_rho(facts: PaperFacts) -> Judgement:
    own = rho(facts.plain.great, facts.robust)
    return Judgement({"own": own}, grade(rounds_to(own, *facts.stated("uncalibrated-rho"))))


@ON_MODELS.enter
def _original_rho(facts: PaperFacts) -> Judgement:
    generated, tested = zip(*((one.great_generated, one.great_test) for one in facts.published.models), strict=True)
    known = {
        samples: rho(np.array(scores, dtype=np.float64), facts.robust)
        for samples, scores in (("generated samples", generated), ("test samples", tested))
        if None not in scores
    }
    matches = sum(rounds_to(value, *facts.stated("original-rho")) for value in known.values())
    same = sum(first == second for first, second in zip(generated, tested, strict=True))
    text = "; ".join(f"{value:.4f} {samples}" for samples, value in known.items())
    return Judgement({"known": text, "same": same}, grade(matches == len(known), part=matches > 0))


@ON_MODELS.enter
def _tension(facts: PaperFacts) -> Judgement:
    gap, gini = rho(facts.plain.great, facts.plain.rdi), rho(facts.plain.great, facts.plain.nrgc)
    standing = Standing.DEPENDS if (gap > 0) != (gini > 0) else grade(gap > 0)
    return Judgement({"gap": with_sign(gap), "gini": with_sign(gini)}, standing)


@ON_MODELS.enter
def _tension_calibrated(facts: PaperFacts) -> Judgement:
    plain, calibrated = (rho(metrics.great, metrics.rdi) for metrics in (facts.plain, facts.calibrated))
    values = {"plain": with_sign(plain), "calibrated": with_sign(calibrated)}
    return Judgement(values, case="sign" if plain * calibrated < 0 else None)


@ON_MODELS.enter
def _tension_robustbench(facts: PaperFacts) -> Judgement:
    gap, gini = rho(facts.robust, facts.plain.rdi), rho(facts.robust, facts.plain.nrgc)
    return Judgement({"gap": with_sign(gap), "gini": with_sign(gini)})


def _extremes(facts: PaperFacts, values: FloatArray) -> tuple[str, str]:
    """The models with the lowest and the highest value."""
    return facts.names[int(values.argmin())], facts.names[int(values.argmax())]


@ON_MODELS.enter
def _rdi_range(facts: PaperFacts) -> Judgement:
    low, high = float(facts.plain.rdi.min()), float(facts.plain.rdi.max())
    names = _extremes(facts, facts.plain.rdi)
    in_range = all(rounds_to(*pair) for pair in zip((low, high), facts.stated("rdi-range"), strict=True))
    values = {"low": low, "high": high, "lowest": names[0], "highest": names[1]}
    return Judgement(values, grade(in_range and (facts.dataset == "imagenet" or names == EXTREMES)))


@ON_MODELS.enter
def _most_fair(facts: PaperFacts) -> Judgement:
    by_gap, by_gini = _extremes(facts, facts.plain.rdi), _extremes(facts, facts.plain.nrgc)
    place = places(-facts.plain.nrgc)[facts.names.index("Wu2020")]
    standing = Standing.FAILS if by_gap != EXTREMES else Standing.HOLDS if by_gini == EXTREMES else Standing.DEPENDS
    return Judgement({"by_gap": " / ".join(by_gap), "by_gini": " / ".join(by_gini), "place": place}, standing)


@ON_MODELS.enter
def _attack_distortion(facts: PaperFacts) -> Judgement:
    distortion = np.array([model.cw_distortion for model in facts.published.models], dtype=np.float64)
    ranked = {"plain": facts.plain.great, "calibrated": facts.calibrated.great}
    ranked |= {"robust": facts.robust, "clean": facts.clean}
    values: dict[str, Any] = {name: rho(scores, distortion) for name, scores in ranked.items()}
    return Judgement(values | {"below": int((facts.plain.great < distortion).sum())})


@ON_MODELS.enter
def _rdi_is_best_class(facts: PaperFacts) -> Judgement:
    return Judgement({"apart": float((facts.scores.max(axis=1) - facts.plain.rdi).max())})


@ON_MODELS.enter
def _few_models(facts: PaperFacts) -> Judgement:
    order = range(facts.n_models)
    p_value, perfect = (
        agreement(score, other).spearman_p or 1.0  # no order at all: every order agrees as much
        for score, other in ((facts.plain.great, facts.plain.rdi), (order, order))
    )
    return Judgement({"own": rho(facts.plain.great, facts.plain.rdi), "p_value": p_value, "perfect": perfect})


@ON_MODELS.enter
def _fp_great_moves(facts: PaperFacts) -> Judgement:
    before, after = places(facts.plain.great), places(facts.plain.fp_great)
    moves = {name: f"{name} {start} → {end}" for name, start, end in zip(facts.names, before, after, strict=True)}
    largest = facts.names[int(np.abs(after - before).argmax())]
    return Judgement({"moves": moves, "largest": moves[largest]})


@ON_MODELS.enter
def _fp_great_reranking(facts: PaperFacts) -> Judgement:
    moves = np.abs(facts.places_won)
    moved, far = int((moves > 0).sum()), int((moves >= FAR_MOVE).sum())
    values = {"moved": moved, "far": far, "own": rho(facts.plain.great, facts.plain.fp_great)}
    return Judgement(values, grade(2 * far > facts.n_models, part=moved > 0))


@ON_MODELS.enter
def _fp_great_direction(facts: PaperFacts) -> Judgement:
    won, gap = facts.places_won, facts.plain.rdi
    low, high = gap < np.median(gap), gap > np.median(gap)
    expected, moved = int((((won > 0) & low) | ((won < 0) & high)).sum()), int((won != 0).sum())
    risers, fallers = (
        ", ".join(facts.names[i] for i in np.flatnonzero(which)) for which in ((won > 0) & high, (won < 0) & low)
    )
    values = {"expected": expected, "moved": moved, "own": with_sign(rho(gap, won.astype(np.float64)))}
    values |= {"risers": risers or "None", "fallers": fallers or "none"}
    return Judgement(values, grade(expected == moved, part=2 * expected > moved))


@ON_MODELS.enter
def _fp_great_negative(facts: PaperFacts) -> Judgement:
    negative, after = (int((metrics.fp_great < 0).sum()) for metrics in (facts.plain, facts.calibrated))
    return Judgement({"negative": negative, "after": after}, grade(negative == facts.n_models))


# The method


@ON_MODELS.enter
def _calibrated_rho(facts: PaperFacts) -> Judgement:
    own, baseline = rho(facts.calibrated.great, facts.robust), rho(facts.clean, facts.robust)
    standing = Standing.SAYS_LITTLE if baseline >= own else Standing.HOLDS
    if not rounds_to(own, *facts.stated("calibrated-rho")):
        standing = Standing.FAILS
    other = facts.published.trace.coarse_values.max()
    plain = rho(facts.plain.great, facts.robust)
    return Judgement({"own": own, "baseline": baseline, "plain": plain, "other": other}, standing)


@ON_MODELS.enter
def _clean_accuracy_alone(facts: PaperFacts) -> Judgement:
    return Judgement({"own": rho(facts.calibrated.great, facts.robust), "baseline": rho(facts.clean, facts.robust)})


@ON_MODELS.enter
def _matches_attack_calibration(facts: PaperFacts) -> Judgement:
    own, (_, by_attacks) = rho(facts.calibrated.great, facts.robust), facts.stated("matches-attack-calibration")
    return Judgement({"own": own}, grade(own >= float(by_attacks)))


@ON_MODELS.enter
def _stated_objective(facts: PaperFacts) -> Judgement:
    plain, calibrated = (rho(metrics.great, facts.clean) for metrics in (facts.plain, facts.calibrated))
    return Judgement({"plain": plain, "calibrated": calibrated}, grade(calibrated >= plain))


@ON_MODELS.enter
def _optimum(facts: PaperFacts) -> Judgement:
    temperatures, values = facts.published.trace.points
    best = temperatures[values >= values.max() - SAME_VALUE]
    low, high = facts.published.trace.coarse_temperatures[[0, -1]]
    inside, unique = low < best.min() and best.max() < high, np.ptp(best) < SAME_VALUE
    where = f"{best.min():.2f}" if unique else f"[{best.min():.2f}, {best.max():.2f}]"
    reaches = "lies at" if unique else "is a plateau that reaches"
    return Judgement({"where": where, "low": low, "high": high, "reaches": reaches}, grade(inside and unique))


@ON_MODELS.enter
def _search_grid(facts: PaperFacts) -> Judgement:
    trace = facts.published.trace
    low, high = trace.coarse_temperatures[[0, -1]]
    coarse, fine = (np.diff(grid).mean() for grid in (trace.coarse_temperatures, trace.fine_temperatures))
    holds = np.allclose((low, coarse, fine), (0.01, 0.1, 0.001)) and abs(high - 10.0) < coarse
    return Judgement({"low": low, "high": high, "coarse": coarse, "fine": fine}, grade(holds))


@ON_MODELS.enter
def _smooth_curves(facts: PaperFacts) -> Judgement:
    values = facts.published.trace.coarse_values
    steps = np.diff(values)
    turns = int((np.diff(np.sign(steps[np.abs(steps) > SAME_VALUE])) != 0).sum())
    best = int(values.argmax())
    one_peak, inside = turns <= 1, bool(0 < best < len(values) - 1 and values[-1] < values[best] - SAME_VALUE)
    standing, place = grade(one_peak and inside, part=one_peak or inside), "inside" if inside else "at the edge of"
    return Judgement({"turns": turns, "place": place}, standing, case="edge" if one_peak and not inside else None)


@ON_MODELS.enter
def _monotonic(facts: PaperFacts) -> Judgement:
    pairs = [(entry.clean_accuracy, entry.autoattack_accuracy) for entry in facts.published.leaderboard]
    known = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
    own = rho(*known.T)
    return Judgement({"own": own, "n": len(known)}, Standing.HOLDS if own == 1 else Standing.OVERSTATED)


@ON_MODELS.enter
def _class_bound(facts: PaperFacts) -> Judgement:
    return Judgement({}, grade(rounds_to(facts.class_radius, *facts.stated("class-bound"))))


@ON_MODELS.enter
def _tight_rdi(facts: PaperFacts) -> Judgement:
    larger = int((facts.plain.rdi < facts.rdi_radius).sum())
    values = {"larger": larger, "low": facts.plain.rdi.min(), "high": facts.plain.rdi.max()}
    return Judgement(values, Standing.OVERSTATED if larger else Standing.HOLDS)


@ON_MODELS.enter
def _rdi_bound(facts: PaperFacts) -> Judgement:
    (stated,) = facts.stated("rdi-bound")
    needed = rdi_sample_size(float(stated), DELTA, n_classes=facts.n_classes)
    return Judgement({"needed": needed, "apart": np.ptp(facts.plain.rdi)}, grade(rounds_to(facts.rdi_radius, stated)))


@ON_MODELS.enter
def _rdi_pairs(facts: PaperFacts) -> Judgement:
    both = 2 * rdi_radius(facts.n_min, DELTA / 2, n_classes=facts.n_classes)  # half the error for each of two models
    gaps = [abs(first - second) for first, second in combinations(facts.plain.rdi.tolist(), 2)]
    return Judgement({"apart": sum(gap > both for gap in gaps), "n": len(gaps), "both": both})


@ON_MODELS.enter
def _generated_samples(facts: PaperFacts) -> Judgement:
    name, n_classes, n = TEST_SETS[facts.dataset]
    whole = facts.n_classes == n_classes and bool((facts.counts == n).all())
    equal = int((np.abs(facts.own_clean - facts.clean) < SAME_ACCURACY).sum())
    values = {"part": "all of" if whole else "not", "test_set": name, "within": SAME_ACCURACY, "equal": equal}
    return Judgement(values, Standing.FAILS if whole else Standing.UNCLEAR)


@ON_MODELS.enter
def _accuracy_gap(facts: PaperFacts) -> Judgement:
    gaps, shares = facts.clean - facts.own_clean, facts.clean / 100
    errors = gaps / (100 * np.sqrt(shares * (1 - shares) / SUBSET))
    values = {"low": gaps.min(), "high": gaps.max(), "fewest": errors.min(), "most": errors.max()}
    return Judgement(values | {"subset": SUBSET})


@ON_MODELS.enter
def _certified(facts: PaperFacts) -> Judgement:
    top = int(facts.plain.great.argmax())
    before, after = float(facts.plain.great[top]), float(facts.calibrated.great[top])
    same = all(np.array_equal(model.accuracies, model.calibrated_accuracies) for model in facts.published.models)
    values = {"model": facts.names[top], "before": before, "after": after, "same": "same" if same else "other"}
    return Judgement(values, Standing.OVERSTATED if same and not math.isclose(before, after) else Standing.UNCLEAR)
