"""Claims about classes: which are weakest and strongest, how consistently, and what a zero means."""

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from gfscore.bounds import hoeffding_radius
from gfscore.reproduction.facts import Facts, rho
from gfscore.reproduction.result import PaperClaim, Verdict

DELTA = 0.05
NEAR_ZERO = 0.05
# What the paper says; counts of models in which a class is the worst or the best.
WORST = {"cifar10": {"cat": 13, "dog": 4}, "imagenet": {"n04525038": 3}}
BEST = {"cifar10": {"automobile": 10, "horse": 5, "truck": 2}, "imagenet": {"n12057211": 5}}
PAPER_NAMES = {"n04525038": "viaduct", "n12057211": "cattail"}
ZERO_MODELS = {"Salman_R18", "Wong2020"}


def class_claims(facts: Facts) -> Iterator[PaperClaim]:
    """Which classes are weakest and strongest."""
    yield _vulnerable(facts)
    if facts.dataset == "cifar10":
        yield _consistently(facts)
        yield _intrinsic(facts)
    else:
        yield _names(facts)
        yield _zero(facts)
        yield _zero_is_accuracy(facts)
        yield _near_zero(facts)
    yield _follows_accuracy(facts)
    yield _worst_set(facts)


def _counts(values: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    counted = Counter(values)
    return {name: counted[name] for name in names}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _vulnerable(facts: Facts) -> PaperClaim:
    worst, best = WORST[facts.dataset], BEST[facts.dataset]
    own_worst, own_best = _counts(facts.plain.worst, list(worst)), _counts(facts.plain.best, list(best))
    if facts.dataset == "cifar10":
        statement = "Cat is the weakest class in 76 % of the models, automobile the strongest in 59 %."
        explanation = (
            f"And cat is among the two weakest classes in {_among_two_lowest(facts, 'cat')} of {facts.n_models} models."
        )
    else:
        statement = "One class is the weakest in 3 of 5 models, another the strongest in all 5."
        explanation = "The classes are given by their WordNet ids; their names are another matter."
    return PaperClaim(
        id="worst-and-best-classes",
        datasets=(facts.dataset,),
        where="Sections 1 and 5.2, Figure 4" if facts.dataset == "cifar10" else "Figure 4",
        statement=statement,
        published=f"worst: {_listed(worst)}; best: {_listed(best)}",
        recomputed=f"worst: {_listed(own_worst)}; best: {_listed(own_best)}",
        verdict=Verdict.HOLDS if (own_worst, own_best) == (worst, best) else Verdict.FAILS,
        explanation=explanation,
    )


def _among_two_lowest(facts: Facts, name: str) -> int:
    lowest = np.argsort(facts.scores, axis=1)[:, :2]
    return int((lowest == facts.published.class_names.index(name)).any(axis=1).sum())


def _consistently(facts: Facts) -> PaperClaim:
    cat = facts.plain.worst.count("cat")
    automobile = facts.plain.best.count("automobile")
    total = facts.n_models
    return PaperClaim(
        id="consistently",
        datasets=(facts.dataset,),
        where="captions of Table 5 and Figure 1, Section 1",
        statement="Cat is “consistently” the lowest and automobile “consistently” the highest class.",
        published="consistently",
        recomputed=f"{cat} and {automobile} of {total}",
        verdict=Verdict.HOLDS if cat == automobile == total else Verdict.OVERSTATED,
        explanation="The text has the right counts; the captions and the introduction say more than they do.",
    )


def _intrinsic(facts: Facts) -> PaperClaim:
    weakest = facts.accuracies.argmin(axis=1)
    same = sum(
        facts.published.class_names[k] == name for k, name in zip(weakest.tolist(), facts.plain.worst, strict=True)
    )
    return PaperClaim(
        id="intrinsic",
        datasets=(facts.dataset,),
        where="Sections 1 and 5.2",
        statement="Which class is vulnerable is a property of the data, not of the training.",
        published="suggested",
        recomputed=f"worst class by score = worst by clean accuracy in {same} of {facts.n_models}",
        verdict=Verdict.OVERSTATED,
        explanation="Plausible, but all models were trained for robustness on CIFAR-10, so data and training cannot be "
        "told apart; mostly it is the class with the most clean errors.",
    )


def _names(facts: Facts) -> PaperClaim:
    names = {wordnet: facts.readable(wordnet) for wordnet in PAPER_NAMES}
    return PaperClaim(
        id="class-names",
        datasets=(facts.dataset,),
        where="Figure 4",
        statement="The weakest class is the viaduct and the strongest the cattail.",
        published=_pairs(PAPER_NAMES),
        recomputed=_pairs(names),
        verdict=Verdict.HOLDS if names == PAPER_NAMES else Verdict.FAILS,
        explanation="By the ImageNet class list (ILSVRC 2012). Viaduct is n04532670; cattail is not among the 1,000 "
        "classes.",
    )


def _pairs(names: dict[str, str]) -> str:
    return "; ".join(f"{wordnet} {name}" for wordnet, name in names.items())


def _zero(facts: Facts) -> PaperClaim:
    zero = {name for name, value in zip(facts.names, facts.plain.wcr, strict=True) if value == 0}
    return PaperClaim(
        id="zero-wcr",
        datasets=(facts.dataset,),
        where="Section 5.2, Table 4",
        statement="Two models have a class that scores zero.",
        published=", ".join(sorted(ZERO_MODELS)),
        recomputed=", ".join(sorted(zero)) or "none",
        verdict=Verdict.HOLDS if zero == ZERO_MODELS else Verdict.FAILS,
        explanation="Exactly zero, not zero after rounding.",
    )


def _zero_is_accuracy(facts: Facts) -> PaperClaim:
    zeros = np.argwhere(facts.scores == 0)
    missed = int(sum(facts.accuracies[model, k] == 0 for model, k in zeros))
    names = sorted({facts.readable(facts.published.class_names[k]) for _, k in zeros})
    upper = float(hoeffding_radius(facts.n_min, DELTA, n_classes=facts.n_classes))
    return PaperClaim(
        id="zero-is-accuracy",
        datasets=(facts.dataset,),
        where="Sections 5.2 and 6",
        statement="What a class score of zero tells.",
        recomputed=f"{missed} of {len(zeros)} zero classes ({', '.join(names)}) have clean accuracy 0",
        verdict=Verdict.FINDING,
        explanation=f"All {facts.n_min} images are misclassified without any attack. By the paper's own bound the true "
        f"score may be as high as {upper:.2f}.",
    )


def _near_zero(facts: Facts) -> PaperClaim:
    low = int((facts.scores < NEAR_ZERO).all(axis=0).sum())
    return PaperClaim(
        id="near-zero",
        datasets=(facts.dataset,),
        where="Figure 9",
        statement="Several classes score near zero in all models.",
        published="several",
        recomputed=f"{low} of {facts.n_classes:,} classes are below {NEAR_ZERO} in all {facts.n_models} models",
        verdict=Verdict.HOLDS if low > 1 else Verdict.FAILS,
        explanation=f"“Near zero” is read as below {NEAR_ZERO}; the largest possible score is 1.253.",
    )


def _follows_accuracy(facts: Facts) -> PaperClaim:
    plain, calibrated = (
        float(np.mean([rho(row, accuracy) for row, accuracy in zip(scores, facts.accuracies, strict=True)]))
        for scores in (facts.scores, facts.calibrated_scores)
    )
    return PaperClaim(
        id="profile-follows-accuracy",
        datasets=(facts.dataset,),
        statement="How far the class profile repeats the clean accuracy of the classes.",
        recomputed=f"mean Spearman over classes {plain:.3f} at T = 1, {calibrated:.3f} at T = {facts.temperature:.2f}",
        verdict=Verdict.FINDING,
        explanation="A misclassified sample scores zero, so a class score is the accuracy times the mean score of the "
        "correct samples. To see more than accuracy, compare the two.",
    )


def _worst_set(facts: Facts) -> PaperClaim:
    radius = float(hoeffding_radius(facts.n_min, DELTA, n_classes=facts.n_classes))
    candidates = (facts.scores - radius <= (facts.scores + radius).min(axis=1, keepdims=True)).sum(axis=1)
    certain = int((candidates == 1).sum())
    return PaperClaim(
        id="worst-class-certainty",
        datasets=(facts.dataset,),
        where="Proposition 1",
        statement="How sure the paper's own bound makes the worst class.",
        recomputed=f"certain in {certain} of {facts.n_models} models; {candidates.min()} to {candidates.max()} of "
        f"{facts.n_classes:,} classes could be the worst",
        verdict=Verdict.FINDING,
        explanation=f"Classes whose interval (±{radius:.3f}, all classes at once, 95 %) overlaps that of the worst "
        "cannot be told from it.",
    )
