"""Claims about the method: the calibrated temperature, the concentration bounds, the samples, and the certificate."""

import math
from itertools import combinations

import numpy as np

from gfscore.bounds import rdi_radius, rdi_sample_size
from gfscore.paper.claim_table import ClaimTable, Judgement, PaperClaim, Standing, finding, grade
from gfscore.paper.facts import DELTA, PaperFacts, rho, rounds_to
from gfscore.paper.published_numbers import DATASETS

CALIBRATED = {"cifar10": "ρ = 0.871", "imagenet": "ρ = 1.000"}
ATTACK_CALIBRATED = "0.897"  # the original paper's, on CIFAR-10
TEMPERATURES = {"cifar10": "T* = 2.70", "imagenet": "T* = 0.10"}
SAME_VALUE = 1e-12  # two values of a trace that differ by less are equal
CLASS_RADIUS, RDI_RADIUS = "0.069", "0.35"  # stated for CIFAR-10 and for ImageNet
# Name, classes, and images of each.
TEST_SETS = {"cifar10": ("test set", 10, 1000), "imagenet": ("validation set", 1000, 50)}
SAME_ACCURACY = 0.01  # points; the leaderboard has two decimals
SUBSET = 5000  # ImageNet images that RobustBench draws from the 50,000 (RobustBench issue 47)

ON_METHOD = ClaimTable()


@ON_METHOD.claim("calibrated-rho", published=CALIBRATED, where="Abstract, Section 5.1, Table 2")
def _calibrated(facts: PaperFacts) -> Judgement:
    """Rank correlation of the scores calibrated at T = {T} with RobustBench."""
    own, plain = rho(facts.calibrated.great, facts.robust), rho(facts.plain.great, facts.robust)
    baseline = rho(facts.clean, facts.robust)
    if rounds_to(own, CALIBRATED[facts.dataset].removeprefix("ρ = ")):
        standing = Standing.SAYS_LITTLE if baseline >= own else Standing.HOLDS
        explanation = f"Clean accuracy alone, which is what the temperature is fitted to, gives {baseline:.3f}."
    else:
        standing = Standing.FAILS
        explanation = (
            f"The uncalibrated scores reach {plain:.3f}. {facts.published.trace.coarse_values.max():.3f} "
            "is the value of another objective: the mean over models of ρ(class score, class accuracy)."
        )
    return Judgement(f"ρ = {own:.3f}", standing, explanation)


@ON_METHOD.claim("clean-accuracy-alone")
def _baseline(facts: PaperFacts) -> Judgement:
    """How well clean accuracy alone ranks the models like RobustBench."""
    own, baseline = rho(facts.calibrated.great, facts.robust), rho(facts.clean, facts.robust)
    return finding(
        f"ρ = {baseline:.3f} (calibrated score: {own:.3f})",
        "The baseline that any score calibrated on clean accuracy has to beat.",
    )


@ON_METHOD.claim(
    "matches-attack-calibration",
    published=f"0.871 against {ATTACK_CALIBRATED}",
    where="caption of Table 2",
    only="cifar10",
)
def _against_attacks(facts: PaperFacts) -> Judgement:
    """Self-calibration matches or exceeds the original calibration, which needs attacks."""
    own = rho(facts.calibrated.great, facts.robust)
    return Judgement(
        f"{own:.3f} against {ATTACK_CALIBRATED}",
        grade(own >= float(ATTACK_CALIBRATED)),
        "Even the two printed numbers say less than that. For ImageNet the original has no calibrated value to compare "
        "with.",
    )


@ON_METHOD.claim("stated-objective", published=TEMPERATURES, where="Definition 6")
def _objective(facts: PaperFacts) -> Judgement:
    """T* maximises the rank correlation, over models, of score and clean accuracy."""
    plain, calibrated = rho(facts.plain.great, facts.clean), rho(facts.calibrated.great, facts.clean)
    return Judgement(
        f"ρ = {calibrated:.3f} at T*, {plain:.3f} at T = 1",
        grade(calibrated >= plain),
        "T = 1 lies in the range and is no better, so nothing published contradicts it; but the trace shows that "
        "another objective was searched."
        if calibrated >= plain
        else "T = 1 lies in the range and does better, so T* is not the maximum of what the paper defines.",
    )


@ON_METHOD.claim("optimum", published=TEMPERATURES, where="Section 5.1, Figure 6")
def _optimum(facts: PaperFacts) -> Judgement:
    """The calibrated temperature is the optimum of the search."""
    temperatures, values = facts.published.trace.points
    best = temperatures[values >= values.max() - SAME_VALUE]
    low, high = facts.published.trace.coarse_temperatures[[0, -1]]
    inside, unique = low < best.min() and best.max() < high, np.ptp(best) < SAME_VALUE
    where = f"{best.min():.2f}" if unique else f"[{best.min():.2f}, {best.max():.2f}]"
    return Judgement(
        f"highest at {where}; range searched [{low:g}, {high:g}]",
        grade(inside and unique),
        "The maximum lies inside the range and at one temperature only."
        if inside and unique
        else f"The highest value {'lies at' if unique else 'is a plateau that reaches'} the edge of the range "
        "searched: a wider range may hold a better temperature.",
    )


@ON_METHOD.claim("search-grid", published="[0.01, 10], steps 0.1 and 0.001", where="Section 3.4")
def _grid(facts: PaperFacts) -> Judgement:
    """The search covers this range with these steps, coarse and fine."""
    trace = facts.published.trace
    low, high = trace.coarse_temperatures[[0, -1]]
    coarse, fine = (np.diff(grid).mean() for grid in (trace.coarse_temperatures, trace.fine_temperatures))
    return Judgement(
        f"[{low:g}, {high:g}], steps {coarse:.3g} and {fine:.3g}",
        grade(np.allclose((low, coarse, fine), (0.01, 0.1, 0.001)) and abs(high - 10.0) < coarse),
        "Read off the published search trace; the published code has the same range and steps.",
    )


@ON_METHOD.claim("smooth-curves", published="smooth", where="caption of Figure 6")
def _smooth(facts: PaperFacts) -> Judgement:
    """The curve is smooth, which confirms that the search finds the optimum reliably."""
    values = facts.published.trace.coarse_values
    steps = np.diff(values)
    turns = int((np.diff(np.sign(steps[np.abs(steps) > SAME_VALUE])) != 0).sum())
    best = int(values.argmax())
    one_peak, inside = turns <= 1, bool(0 < best < len(values) - 1 and values[-1] < values[best] - SAME_VALUE)
    return Judgement(
        f"changes direction {turns} times; maximum {'inside' if inside else 'at the edge of'} the range",
        grade(one_peak and inside, part=one_peak or inside),
        "The curve is smooth, but a maximum at the edge confirms no optimum."
        if one_peak and not inside
        else "A rank correlation is a step function of the temperature: it is never smooth, and it shows with few "
        "classes.",
    )


@ON_METHOD.claim("monotonic", published="well-established", where="Section 3.4")
def _monotonic(facts: PaperFacts) -> Judgement:
    """More robust models have higher clean accuracy (within a defence family): a monotonic relation."""
    pairs = [(entry.clean_accuracy, entry.autoattack_accuracy) for entry in facts.published.leaderboard]
    known = np.array([pair for pair in pairs if None not in pair], dtype=np.float64)
    own = rho(*known.T)
    return Judgement(
        f"ρ = {own:.3f} over the {len(known)} {facts.published.threat} models of RobustBench",
        Standing.HOLDS if own == 1 else Standing.OVERSTATED,
        "A tendency, not a law, and the calibration uses it across families. The work cited for it (Tsipras et al. "
        "2019) argues that the two can be at odds.",
    )


@ON_METHOD.claim("class-bound", published=f"± {CLASS_RADIUS}", where="Proposition 1", only="cifar10")
def _class_bound(facts: PaperFacts) -> Judgement:
    """With 1,000 samples a class, all 10 class scores are this close to the truth, with 95 % probability."""
    holds = grade(rounds_to(facts.class_radius, CLASS_RADIUS))
    return Judgement(f"± {facts.class_radius:.4f}", holds, "Hoeffding's bound with a union over the classes.")


@ON_METHOD.claim("tight-rdi", published="tight", where="caption of Figure 7", only="cifar10")
def _tight(facts: PaperFacts) -> Judgement:
    """With 1,000 samples a class the RDI estimates are tight."""
    radius, values = facts.rdi_radius, facts.plain.rdi
    larger = int((values < radius).sum())
    return Judgement(
        f"± {radius:.3f}; {larger} of {facts.n_models} models have a smaller RDI than that",
        Standing.OVERSTATED if larger else Standing.HOLDS,
        f"The RDI of all models lies between {values.min():.3f} and {values.max():.3f}.",
    )


@ON_METHOD.claim("rdi-bound", published=f"± {RDI_RADIUS}", where="caption of Figure 7", only="imagenet")
def _rdi_bound(facts: PaperFacts) -> Judgement:
    """With 50 samples a class the RDI is known to about this much, with 95 % probability."""
    needed = rdi_sample_size(float(RDI_RADIUS), DELTA, n_classes=facts.n_classes)
    return Judgement(
        f"± {facts.rdi_radius:.3f}",
        grade(rounds_to(facts.rdi_radius, RDI_RADIUS)),
        f"By Proposition 2 itself; {RDI_RADIUS} takes {needed} samples a class. The five RDI differ by "
        f"{np.ptp(facts.plain.rdi):.3f} at most.",
    )


@ON_METHOD.claim("rdi-pairs", where="Proposition 2")
def _pairs(facts: PaperFacts) -> Judgement:
    """How many pairs of models the paper's RDI bound can tell apart."""
    radius = rdi_radius(facts.n_min, DELTA / 2, n_classes=facts.n_classes)  # both models at once: half the error each
    gaps = [abs(first - second) for first, second in combinations(facts.plain.rdi.tolist(), 2)]
    return finding(
        f"{sum(gap > 2 * radius for gap in gaps)} of {len(gaps)} pairs",
        f"Pairs whose RDI differ by more than {2 * radius:.3f}, the two radii when both bounds hold together with 95 % "
        "probability.",
    )


@ON_METHOD.claim("generated-samples", published="test sets “with GAN-generated samples”", where="Section 4.1")
def _samples(facts: PaperFacts) -> Judgement:
    """The scores were computed on GAN-generated samples."""
    name, n_classes, n = TEST_SETS[facts.dataset]
    whole = facts.n_classes == n_classes and bool((facts.counts == n).all())
    equal = int((np.abs(facts.own_clean - facts.clean) < SAME_ACCURACY).sum())
    return Judgement(
        f"{facts.n_min:,} samples in each of {facts.n_classes:,} classes: {'all of' if whole else 'not'} the {name}",
        Standing.FAILS if whole else Standing.UNCLEAR,
        f"The clean accuracy equals that of RobustBench on the test set to {SAME_ACCURACY} points for {equal} of "
        f"{facts.n_models} models; generated images would not give that."
        if facts.dataset == "cifar10"
        else "The counts are those of the validation set, which the published code reads unless told otherwise; the "
        "limitations speak of 50K images, too.",
    )


@ON_METHOD.claim("accuracy-gap", only="imagenet")
def _accuracy_gap(facts: PaperFacts) -> Judgement:
    """Clean accuracy of the published run against that of RobustBench for the same models."""
    gaps, shares = facts.clean - facts.own_clean, facts.clean / 100
    errors = gaps / (100 * np.sqrt(shares * (1 - shares) / SUBSET))
    return finding(
        f"{gaps.min():.1f} to {gaps.max():.1f} points lower, {errors.min():.0f} to {errors.max():.0f} standard errors",
        f"Too much for RobustBench's random {SUBSET:,} of the 50,000 images. The published code squeezes images to "
        "224 × 224, where RobustBench resizes to 256 and crops; whether that is all cannot be shown here.",
    )


@ON_METHOD.claim("certified", published="certified", where="Title, Section 3.1")
def _certified(facts: PaperFacts) -> Judgement:
    """The scores are certified: no smaller perturbation can change the prediction."""
    top = int(facts.plain.great.argmax())
    before, after = float(facts.plain.great[top]), float(facts.calibrated.great[top])
    same = all(np.array_equal(model.accuracies, model.calibrated_accuracies) for model in facts.published.models)
    return Judgement(
        f"{facts.names[top]}: {before:.3f} at T = 1, {after:.3f} at T = {facts.temperature:.2f}; "
        f"{'same' if same else 'other'} accuracies",
        Standing.OVERSTATED if same and not math.isclose(before, after) else Standing.UNCLEAR,
        "The distance to the nearest adversarial example does not depend on T, the score does. It bounds that distance "
        "only under a Lipschitz premise that nothing in the computation checks.",
    )


COMPARISON_TABLE = PaperClaim(  # about both experiments at once, and judged by what others published
    id="comparison-table",
    datasets=DATASETS,
    where="Table 1",
    statement="Of the methods compared, only this one offers all five: certified, per class, attack-free, post-hoc, "
    "fairness metrics.",
    published="5 of 5; GREAT score not per class",
    recomputed="GREAT score already by group",
    verdict=Standing.OVERSTATED,
    explanation="Li et al. 2024 report the GREAT score by group (old, young, with and without eyeglasses) for face "
    "services. And the table calls their score attack-free, while the abstract removes its dependence on attacks.",
)
