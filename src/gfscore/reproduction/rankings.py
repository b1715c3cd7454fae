"""Claims about how models rank: against RobustBench, and by disparity."""

from collections.abc import Iterator

import numpy as np

from gfscore.ranking import agreement
from gfscore.reproduction.facts import Facts, places, rho, signed
from gfscore.reproduction.result import PaperClaim, Verdict
from gfscore.reproduction.rounding import rounds_to
from gfscore.samples import FloatArray

UNCALIBRATED = {"cifar10": "0.662", "imagenet": "0.900"}
ORIGINAL = {"cifar10": "0.6618", "imagenet": "0.800"}
RDI_RANGE = {"cifar10": ("0.11", "0.43"), "imagenet": ("1.13", "1.23")}
EXTREMES = ("Wu2020", "Augustin2020")  # fewest and most disparity on CIFAR-10, says the paper


def ranking_claims(facts: Facts) -> Iterator[PaperClaim]:
    """How models rank."""
    yield _uncalibrated(facts)
    yield _original(facts)
    yield _tension(facts)
    yield _tension_calibrated(facts)
    yield _tension_robustbench(facts)
    yield _rdi_range(facts)
    if facts.dataset == "cifar10":
        yield _most_fair(facts)
        yield _attack(facts)
    else:
        yield _range_is_best_class(facts)
        yield _few_models(facts)


def _uncalibrated(facts: Facts) -> PaperClaim:
    stated, own = UNCALIBRATED[facts.dataset], rho(facts.plain.great, facts.robust)
    return PaperClaim(
        id="uncalibrated-rho",
        datasets=(facts.dataset,),
        where="Section 5.1, Table 2",
        statement="Rank correlation of the scores at T = 1 with RobustBench.",
        published=f"ρ = {stated}",
        recomputed=f"ρ = {own:.3f}",
        verdict=Verdict.HOLDS if rounds_to(own, stated) else Verdict.FAILS,
        explanation="Spearman's rank correlation of the aggregate score with the accuracy under AutoAttack.",
    )


def _original(facts: Facts) -> PaperClaim:
    stated = ORIGINAL[facts.dataset]
    models = facts.published.models
    generated, tested = (
        rho(np.array([getattr(model, name) for model in models], dtype=np.float64), facts.robust)
        if all(getattr(model, name) is not None for model in models)
        else None
        for name in ("great_generated", "great_test")
    )
    found = {"generated samples": generated, "test samples": tested}
    known = {samples: value for samples, value in found.items() if value is not None}
    matches = [samples for samples, value in known.items() if rounds_to(value, stated)]
    same = sum(model.great_generated == model.great_test for model in models)
    return PaperClaim(
        id="original-rho",
        datasets=(facts.dataset,),
        where="Section 5.1, Table 2",
        statement="The original GREAT paper reports this correlation for its uncalibrated score.",
        published=f"ρ = {stated}",
        recomputed="; ".join(f"{value:.4f} {samples}" for samples, value in known.items()),
        verdict=Verdict.graded(full=len(matches) == len(known), part=bool(matches)),
        explanation=(
            "From the original's scores on generated samples (Li et al. 2024, Table 3)."
            if facts.dataset == "imagenet"
            else "The original's code lists 0.6618 for generated samples, yet the copied scores give it for test "
            f"samples only; in {same} of {len(models)} rows both columns hold the same number, so a slip in copying is "
            "possible."
        ),
    )


def _tension(facts: Facts) -> PaperClaim:
    gap, gini = rho(facts.plain.great, facts.plain.rdi), rho(facts.plain.great, facts.plain.nrgc)
    return PaperClaim(
        id="tension",
        datasets=(facts.dataset,),
        where="Abstract, Section 5.2, Figure 2",
        statement="More robust models treat their classes less equally.",
        published="clear positive correlation",
        recomputed=f"ρ(score, RDI) = {signed(gap)}; ρ(score, NRGC) = {signed(gini)}",
        verdict=Verdict.DEPENDS if (gap > 0) != (gini > 0) else Verdict.HOLDS if gap > 0 else Verdict.FAILS,
        explanation="A range grows when all scores grow. By NRGC, the paper's other measure of inequality, which is "
        "relative to the mean, higher scores go with more equal classes.",
    )


def _tension_calibrated(facts: Facts) -> PaperClaim:
    plain = rho(facts.plain.great, facts.plain.rdi)
    calibrated = rho(facts.calibrated.great, facts.calibrated.rdi)
    return PaperClaim(
        id="tension-calibrated",
        datasets=(facts.dataset,),
        statement="Whether score and RDI still rise together at the calibrated temperature.",
        recomputed=f"ρ(score, RDI) = {signed(calibrated)} at T = {facts.temperature:.2f}, {signed(plain)} at T = 1",
        verdict=Verdict.FINDING,
        explanation="The temperature changes no decision of any model, but it changes this correlation"
        f"{', even its sign' if plain * calibrated < 0 else ''}: it is no property of the models alone.",
    )


def _tension_robustbench(facts: Facts) -> PaperClaim:
    gap, gini = rho(facts.robust, facts.plain.rdi), rho(facts.robust, facts.plain.nrgc)
    return PaperClaim(
        id="tension-robustbench",
        datasets=(facts.dataset,),
        statement="The same question, with robustness measured by attack (RobustBench).",
        recomputed=f"ρ(accuracy, RDI) = {signed(gap)}; ρ(accuracy, NRGC) = {signed(gini)}",
        verdict=Verdict.FINDING,
        explanation="The answer depends on the measure of inequality here, too.",
    )


def _rdi_range(facts: Facts) -> PaperClaim:
    low, high = RDI_RANGE[facts.dataset]
    values = facts.plain.rdi
    first, last = int(values.argmin()), int(values.argmax())
    named = facts.dataset == "imagenet" or (facts.names[first], facts.names[last]) == EXTREMES
    holds = rounds_to(float(values[first]), low) and rounds_to(float(values[last]), high) and named
    return PaperClaim(
        id="rdi-range",
        datasets=(facts.dataset,),
        where="Section 5.2",
        statement="The RDI of the models lies in this range.",
        published=f"{low} ({EXTREMES[0]}) to {high} ({EXTREMES[1]})"
        if facts.dataset == "cifar10"
        else f"{low} to {high}",
        recomputed=f"{values[first]:.3f} ({facts.names[first]}) to {values[last]:.3f} ({facts.names[last]})",
        verdict=Verdict.HOLDS if holds else Verdict.FAILS,
        explanation=(
            "All above 1.1, as the captions say; the largest possible value is 1.253."
            if facts.dataset == "imagenet"
            else "Rounded to two decimals as in the text."
        ),
    )


def _most_fair(facts: Facts) -> PaperClaim:
    gap, gini = facts.plain.rdi, facts.plain.nrgc
    by_gap = (facts.names[int(gap.argmin())], facts.names[int(gap.argmax())])
    by_gini = (facts.names[int(gini.argmin())], facts.names[int(gini.argmax())])
    same = sum(first == second for first, second in zip(by_gini, EXTREMES, strict=True))
    return PaperClaim(
        id="most-fair",
        datasets=(facts.dataset,),
        where="Section 5.2",
        statement="Wu2020 is the fairest model and Augustin2020 the most disparate.",
        published=" / ".join(EXTREMES),
        recomputed=f"RDI: {' / '.join(by_gap)}; NRGC: {' / '.join(by_gini)}",
        verdict=Verdict.FAILS if by_gap != EXTREMES else Verdict.HOLDS if same == len(EXTREMES) else Verdict.DEPENDS,
        explanation=f"By NRGC, Wu2020 is {_place(-gini, facts, 'Wu2020')} of {facts.n_models} from the most equal: "
        "its gap is small because all its scores are.",
    )


def _range_is_best_class(facts: Facts) -> PaperClaim:
    apart = float((facts.scores.max(axis=1) - facts.plain.rdi).max())
    return PaperClaim(
        id="rdi-is-best-class",
        datasets=(facts.dataset,),
        where="Section 5.2",
        statement="What the RDI measures with 1,000 classes.",
        recomputed=f"RDI equals the score of the best class to {apart:.3f} in all {facts.n_models} models",
        verdict=Verdict.FINDING,
        explanation="The worst of 1,000 classes scores almost zero in every model, so the range only tells how well "
        "the single best class does.",
    )


def _few_models(facts: Facts) -> PaperClaim:
    observed, order = rho(facts.plain.great, facts.plain.rdi), range(facts.n_models)
    p_value, perfect = (
        agreement(score, other).spearman_p or 1.0  # no order at all: every order agrees as much
        for score, other in ((facts.plain.great, facts.plain.rdi), (order, order))
    )
    return PaperClaim(
        id="few-models",
        datasets=(facts.dataset,),
        where="Sections 5.1 and 5.2",
        statement="How much five models can show.",
        recomputed=f"ρ = {observed:.3f} or beyond, either way, has probability {p_value:.3f} by chance",
        verdict=Verdict.FINDING,
        explanation="Counted over all orders of five models. Only a perfect order is rarer than 5 % "
        f"({perfect:.3f}); the paper names the small number as a limitation.",
    )


def _attack(facts: Facts) -> PaperClaim:
    distortion = np.array([model.cw_distortion for model in facts.published.models], dtype=np.float64)
    below = int((facts.plain.great < distortion).sum())
    plain, calibrated, robust, clean = (
        rho(values, distortion) for values in (facts.plain.great, facts.calibrated.great, facts.robust, facts.clean)
    )
    return PaperClaim(
        id="attack-distortion",
        datasets=(facts.dataset,),
        statement="Whether the score ranks models like the distance a C&W attack needs.",
        recomputed=f"ρ = {plain:.3f} at T = 1, {calibrated:.3f} at T = {facts.temperature:.2f}; "
        f"RobustBench {robust:.3f}, clean accuracy {clean:.3f}",
        verdict=Verdict.FINDING,
        explanation=f"Distortions from Li et al. 2024. The mean score is below the mean distortion for {below} of "
        f"{facts.n_models} models, as a lower bound should be; that tests no single sample.",
    )


def _place(values: FloatArray, facts: Facts, name: str) -> int:
    return int(places(values)[facts.names.index(name)])
