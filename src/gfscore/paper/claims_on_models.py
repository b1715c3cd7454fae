"""Claims about how models rank: against RobustBench, by disparity, and by FP-GREAT, the score with its penalty."""

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.paper.claim_table import ClaimTable, Judgement, Standing, finding, grade
from gfscore.paper.facts import PaperFacts, places, rho, rounds_to, with_sign
from gfscore.ranking import agreement

UNCALIBRATED = {"cifar10": "ρ = 0.662", "imagenet": "ρ = 0.900"}
ORIGINAL = {"cifar10": "ρ = 0.6618", "imagenet": "ρ = 0.800"}
RDI_RANGE = {"cifar10": ("0.11", "0.43"), "imagenet": ("1.13", "1.23")}
EXTREMES = ("Wu2020", "Augustin2020")  # fewest and most disparity on CIFAR-10, says the paper
MOVES = "Augustin2020 2 → 5; Wu2020 16 → 14"  # from the place by score to that by FP-GREAT
FAR_MOVE = 2  # places; a move by one is a swap of neighbours

ON_MODELS = ClaimTable()


@ON_MODELS.claim("uncalibrated-rho", published=UNCALIBRATED, where="Section 5.1, Table 2")
def _uncalibrated(facts: PaperFacts) -> Judgement:
    """Rank correlation of the scores at T = 1 with RobustBench."""
    own = rho(facts.plain.great, facts.robust)
    return Judgement(
        f"ρ = {own:.3f}",
        grade(rounds_to(own, UNCALIBRATED[facts.dataset].removeprefix("ρ = "))),
        "Spearman's rank correlation of the aggregate score with the accuracy under AutoAttack.",
    )


@ON_MODELS.claim("original-rho", published=ORIGINAL, where="Section 5.1, Table 2")
def _original(facts: PaperFacts) -> Judgement:
    """The original GREAT paper reports this correlation for its uncalibrated score."""
    models = facts.published.models
    generated, tested = [model.great_generated for model in models], [model.great_test for model in models]
    known = {
        samples: rho(np.array(scores, dtype=np.float64), facts.robust)
        for samples, scores in (("generated samples", generated), ("test samples", tested))
        if None not in scores
    }
    stated = ORIGINAL[facts.dataset].removeprefix("ρ = ")
    matches = sum(rounds_to(value, stated) for value in known.values())
    same = sum(first == second for first, second in zip(generated, tested, strict=True))
    return Judgement(
        "; ".join(f"{value:.4f} {samples}" for samples, value in known.items()),
        grade(matches == len(known), part=matches > 0),
        "From the original's scores on generated samples (Li et al. 2024, Table 3)."
        if facts.dataset == "imagenet"
        else "The original's code lists 0.6618 for generated samples, yet the copied scores give it for test samples "
        f"only; in {same} of {len(models)} rows both columns hold the same number, so a slip in copying is possible.",
    )


@ON_MODELS.claim("tension", published="clear positive correlation", where="Abstract, Section 5.2, Figure 2")
def _tension(facts: PaperFacts) -> Judgement:
    """More robust models treat their classes less equally."""
    gap, gini = rho(facts.plain.great, facts.plain.rdi), rho(facts.plain.great, facts.plain.nrgc)
    return Judgement(
        f"ρ(score, RDI) = {with_sign(gap)}; ρ(score, NRGC) = {with_sign(gini)}",
        Standing.DEPENDS if (gap > 0) != (gini > 0) else grade(gap > 0),
        "A range grows when all scores grow. By NRGC, the paper's other measure of inequality, which is relative to "
        "the mean, higher scores go with more equal classes.",
    )


@ON_MODELS.claim("tension-calibrated")
def _tension_calibrated(facts: PaperFacts) -> Judgement:
    """Whether score and RDI still rise together at the calibrated temperature."""
    plain, calibrated = (rho(metrics.great, metrics.rdi) for metrics in (facts.plain, facts.calibrated))
    return finding(
        f"ρ(score, RDI) = {with_sign(calibrated)} at T = {facts.temperature:.2f}, {with_sign(plain)} at T = 1",
        "The temperature changes no decision of any model, but it changes this correlation"
        f"{', even its sign' if plain * calibrated < 0 else ''}: it is no property of the models alone.",
    )


@ON_MODELS.claim("tension-robustbench")
def _tension_robustbench(facts: PaperFacts) -> Judgement:
    """The same question, with robustness measured by attack (RobustBench)."""
    gap, gini = rho(facts.robust, facts.plain.rdi), rho(facts.robust, facts.plain.nrgc)
    return finding(
        f"ρ(accuracy, RDI) = {with_sign(gap)}; ρ(accuracy, NRGC) = {with_sign(gini)}",
        "The answer depends on the measure of inequality here, too.",
    )


@ON_MODELS.claim(
    "rdi-range",
    published={"cifar10": "0.11 (Wu2020) to 0.43 (Augustin2020)", "imagenet": "1.13 to 1.23"},
    where="Section 5.2",
)
def _rdi_range(facts: PaperFacts) -> Judgement:
    """The RDI of the models lies in this range."""
    low, high = float(facts.plain.rdi.min()), float(facts.plain.rdi.max())
    stated, names = RDI_RANGE[facts.dataset], _extremes(facts, facts.plain.rdi)
    in_range = rounds_to(low, stated[0]) and rounds_to(high, stated[1])
    return Judgement(
        f"{low:.3f} ({names[0]}) to {high:.3f} ({names[1]})",
        grade(in_range and (facts.dataset == "imagenet" or names == EXTREMES)),
        "All above 1.1, as the captions say; the largest possible value is 1.253."
        if facts.dataset == "imagenet"
        else "Rounded to two decimals as in the text.",
    )


@ON_MODELS.claim("most-fair", published="Wu2020 / Augustin2020", where="Section 5.2", only="cifar10")
def _most_fair(facts: PaperFacts) -> Judgement:
    """Wu2020 is the fairest model and Augustin2020 the most disparate."""
    by_gap, by_gini = _extremes(facts, facts.plain.rdi), _extremes(facts, facts.plain.nrgc)
    place = places(-facts.plain.nrgc)[facts.names.index("Wu2020")]
    return Judgement(
        f"RDI: {' / '.join(by_gap)}; NRGC: {' / '.join(by_gini)}",
        Standing.FAILS if by_gap != EXTREMES else Standing.HOLDS if by_gini == EXTREMES else Standing.DEPENDS,
        f"By NRGC, Wu2020 is {place} of {facts.n_models} from the most equal: its gap is small because all its scores "
        "are.",
    )


def _extremes(facts: PaperFacts, values: FloatArray) -> tuple[str, str]:
    """The models with the lowest and the highest value."""
    return facts.names[int(values.argmin())], facts.names[int(values.argmax())]


@ON_MODELS.claim("attack-distortion", only="cifar10")
def _attack(facts: PaperFacts) -> Judgement:
    """Whether the score ranks models like the distance a C&W attack needs."""
    distortion = np.array([model.cw_distortion for model in facts.published.models], dtype=np.float64)
    below = int((facts.plain.great < distortion).sum())
    plain, calibrated, robust, clean = (
        rho(values, distortion) for values in (facts.plain.great, facts.calibrated.great, facts.robust, facts.clean)
    )
    return finding(
        f"ρ = {plain:.3f} at T = 1, {calibrated:.3f} at T = {facts.temperature:.2f}; RobustBench {robust:.3f}, clean "
        f"accuracy {clean:.3f}",
        f"Distortions from Li et al. 2024. The mean score is below the mean distortion for {below} of "
        f"{facts.n_models} models, as a lower bound should be; that tests no single sample.",
    )


@ON_MODELS.claim("rdi-is-best-class", where="Section 5.2", only="imagenet")
def _range_is_best_class(facts: PaperFacts) -> Judgement:
    """What the RDI measures with 1,000 classes."""
    apart = float((facts.scores.max(axis=1) - facts.plain.rdi).max())
    return finding(
        f"RDI equals the score of the best class to {apart:.3f} in all {facts.n_models} models",
        "The worst of 1,000 classes scores almost zero in every model, so the range only tells how well the single "
        "best class does.",
    )


@ON_MODELS.claim("few-models", where="Sections 5.1 and 5.2", only="imagenet")
def _few_models(facts: PaperFacts) -> Judgement:
    """How much five models can show."""
    order = range(facts.n_models)
    p_value, perfect = (
        agreement(score, other).spearman_p or 1.0  # no order at all: every order agrees as much
        for score, other in ((facts.plain.great, facts.plain.rdi), (order, order))
    )
    return finding(
        f"ρ = {rho(facts.plain.great, facts.plain.rdi):.3f} or beyond, either way, has probability {p_value:.3f} by "
        "chance",
        "Counted over all orders of five models. Only a perfect order is rarer than 5 % "
        f"({perfect:.3f}); the paper names the small number as a limitation.",
    )


@ON_MODELS.claim("fp-great-moves", published=MOVES, where="Section 5.2", only="cifar10")
def _moves(facts: PaperFacts) -> Judgement:
    """Ranked by FP-GREAT instead of the score, Augustin2020 falls and Wu2020 rises."""
    before, after = places(facts.plain.great), places(facts.plain.fp_great)
    moves = [f"{name} {start} → {end}" for name, start, end in zip(facts.names, before, after, strict=True)]
    own = "; ".join(moves[facts.names.index(name)] for name in ("Augustin2020", "Wu2020"))
    largest = int(np.abs(after - before).argmax())
    return Judgement(own, grade(own == MOVES), f"The largest move is not mentioned: {moves[largest]}.")


@ON_MODELS.claim("fp-great-reranking", published="substantially", where="Section 5.2, Figure 5")
def _reranking(facts: PaperFacts) -> Judgement:
    """Ranking by FP-GREAT instead of the score shifts the ranking substantially."""
    moves = np.abs(_places_won(facts))
    moved, far = int((moves > 0).sum()), int((moves >= FAR_MOVE).sum())
    return Judgement(
        f"{moved} of {facts.n_models} models move, {far} by two places or more; "
        f"ρ = {rho(facts.plain.great, facts.plain.fp_great):.3f}",
        grade(2 * far > facts.n_models, part=moved > 0),
        "“Substantially” is read as: most models move by two places or more. The example in the text is from CIFAR-10.",
    )


@ON_MODELS.claim("fp-great-direction", published="Wu2020 rises, Augustin2020 falls", where="Figure 5", only="cifar10")
def _direction(facts: PaperFacts) -> Judgement:
    """Models with low disparity rise in the FP-GREAT ranking, those with high disparity fall."""
    won, gap = _places_won(facts), facts.plain.rdi
    low, high = gap < np.median(gap), gap > np.median(gap)
    expected, moved = int((((won > 0) & low) | ((won < 0) & high)).sum()), int((won != 0).sum())
    risers, fallers = (
        ", ".join(facts.names[i] for i in np.flatnonzero(which)) for which in ((won > 0) & high, (won < 0) & low)
    )
    return Judgement(
        f"true of {expected} of the {moved} models that move; ρ(RDI, places won) = "
        f"{with_sign(rho(gap, won.astype(np.float64)))}",
        grade(expected == moved, part=2 * expected > moved),
        f"Low and high are below and above the median RDI. {risers or 'None'} rise with high RDI; {fallers or 'none'} "
        "fall with low RDI: what decides is the RDI of models that score alike.",
    )


def _places_won(facts: PaperFacts) -> IntArray:
    """Places that each model rises when ranked by FP-GREAT instead of the score."""
    return places(facts.plain.great) - places(facts.plain.fp_great)


@ON_MODELS.claim("fp-great-negative", published="all", where="Figure 5", only="imagenet")
def _negative(facts: PaperFacts) -> Judgement:
    """At λ = 0.5 the FP-GREAT of every model is negative."""
    negative, after = (int((metrics.fp_great < 0).sum()) for metrics in (facts.plain, facts.calibrated))
    return Judgement(
        f"{negative} of {facts.n_models}",
        grade(negative == facts.n_models),
        f"At the calibrated temperature {after} of {facts.n_models} are: the sign, too, depends on T.",
    )
