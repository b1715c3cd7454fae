"""Claims about classes: which are weakest and strongest, how consistently, and what a zero means."""

import numpy as np

from gfscore.paper.claim_table import ClaimTable, Judgement, Standing, finding, grade
from gfscore.paper.facts import PaperFacts, rho

NEAR_ZERO = 0.05
WORST_AND_BEST = {  # classes, and in how many models each is that
    "cifar10": "worst: cat 13, dog 4; best: automobile 10, horse 5, truck 2",
    "imagenet": "worst: n04525038 3; best: n12057211 5",
}
PAPER_NAMES = "n04525038 viaduct; n12057211 cattail"
ZERO_MODELS = "Salman_R18, Wong2020"

ON_CLASSES = ClaimTable()


@ON_CLASSES.claim(
    "worst-and-best-classes", published=WORST_AND_BEST, where="Sections 1 and 5.2, Figure 4", only="cifar10"
)
def _worst_and_best_of_ten(facts: PaperFacts) -> Judgement:
    """Cat is the weakest class in 76 % of the models, automobile the strongest in 59 %."""
    own = _worst_and_best(facts, ("cat", "dog"), ("automobile", "horse", "truck"))
    lowest = np.argsort(facts.scores, axis=1)[:, :2]
    cat = int((lowest == facts.published.class_names.index("cat")).any(axis=1).sum())
    return Judgement(
        own,
        grade(own == WORST_AND_BEST["cifar10"]),
        f"And cat is among the two weakest classes in {cat} of {facts.n_models} models.",
    )


@ON_CLASSES.claim("worst-and-best-classes", published=WORST_AND_BEST, where="Figure 4", only="imagenet")
def _worst_and_best_of_thousand(facts: PaperFacts) -> Judgement:
    """One class is the weakest in 3 of 5 models, another the strongest in all 5."""
    own = _worst_and_best(facts, ("n04525038",), ("n12057211",))
    return Judgement(
        own,
        grade(own == WORST_AND_BEST["imagenet"]),
        "The classes are given by their WordNet ids; their names are another matter.",
    )


def _worst_and_best(facts: PaperFacts, worst: tuple[str, ...], best: tuple[str, ...]) -> str:
    """In how many models these classes are the worst and the best."""
    lowest = ", ".join(f"{name} {facts.plain.worst.count(name)}" for name in worst)
    highest = ", ".join(f"{name} {facts.plain.best.count(name)}" for name in best)
    return f"worst: {lowest}; best: {highest}"


@ON_CLASSES.claim(
    "consistently", published="consistently", where="captions of Table 5 and Figure 1, Section 1", only="cifar10"
)
def _consistently(facts: PaperFacts) -> Judgement:
    """Cat is “consistently” the lowest and automobile “consistently” the highest class."""
    cat, automobile, total = facts.plain.worst.count("cat"), facts.plain.best.count("automobile"), facts.n_models
    return Judgement(
        f"{cat} and {automobile} of {total}",
        Standing.HOLDS if cat == automobile == total else Standing.OVERSTATED,
        "The text has the right counts; the captions and the introduction say more than they do.",
    )


@ON_CLASSES.claim("intrinsic", published="suggested", where="Sections 1 and 5.2", only="cifar10")
def _intrinsic(facts: PaperFacts) -> Judgement:
    """Which class is vulnerable is a property of the data, not of the training."""
    by_accuracy = [facts.published.class_names[k] for k in facts.accuracies.argmin(axis=1)]
    same = sum(first == second for first, second in zip(by_accuracy, facts.plain.worst, strict=True))
    return Judgement(
        f"worst class by score = worst by clean accuracy in {same} of {facts.n_models}",
        Standing.OVERSTATED,
        "Plausible, but all models were trained for robustness on CIFAR-10, so data and training cannot be told apart; "
        "mostly it is the class with the most clean errors.",
    )


@ON_CLASSES.claim("class-names", published=PAPER_NAMES, where="Figure 4", only="imagenet")
def _class_names(facts: PaperFacts) -> Judgement:
    """The weakest class is the viaduct and the strongest the cattail."""
    own = "; ".join(f"{wordnet} {facts.readable(wordnet)}" for wordnet in ("n04525038", "n12057211"))
    return Judgement(
        own,
        grade(own == PAPER_NAMES),
        "By the ImageNet class list (ILSVRC 2012). Viaduct is n04532670; cattail is not among the 1,000 classes.",
    )


@ON_CLASSES.claim("zero-wcr", published=ZERO_MODELS, where="Section 5.2, Table 4", only="imagenet")
def _zero(facts: PaperFacts) -> Judgement:
    """Two models have a class that scores zero."""
    own = ", ".join(sorted(name for name, value in zip(facts.names, facts.plain.wcr, strict=True) if value == 0))
    return Judgement(own or "none", grade(own == ZERO_MODELS), "Exactly zero, not zero after rounding.")


@ON_CLASSES.claim("zero-is-accuracy", where="Sections 5.2 and 6", only="imagenet")
def _zero_is_accuracy(facts: PaperFacts) -> Judgement:
    """What a class score of zero tells."""
    models, classes = np.nonzero(facts.scores == 0)
    missed = int((facts.accuracies[models, classes] == 0).sum())
    names = sorted({facts.readable(facts.published.class_names[k]) for k in classes})
    return finding(
        f"{missed} of {len(classes)} zero classes ({', '.join(names)}) have clean accuracy 0",
        f"All {facts.n_min} images are misclassified without any attack. By the paper's own bound the true score may "
        f"be as high as {facts.class_radius:.2f}.",
    )


@ON_CLASSES.claim("near-zero", published="several", where="Figure 9", only="imagenet")
def _near_zero(facts: PaperFacts) -> Judgement:
    """Several classes score near zero in all models."""
    low = int((facts.scores < NEAR_ZERO).all(axis=0).sum())
    return Judgement(
        f"{low} of {facts.n_classes:,} classes are below {NEAR_ZERO} in all {facts.n_models} models",
        grade(low > 1),
        f"“Near zero” is read as below {NEAR_ZERO}; the largest possible score is 1.253.",
    )


@ON_CLASSES.claim("profile-follows-accuracy")
def _follows_accuracy(facts: PaperFacts) -> Judgement:
    """How far the class profile repeats the clean accuracy of the classes."""
    plain, calibrated = (
        float(np.mean([rho(row, accuracy) for row, accuracy in zip(scores, facts.accuracies, strict=True)]))
        for scores in (facts.scores, facts.calibrated_scores)
    )
    return finding(
        f"mean Spearman over classes {plain:.3f} at T = 1, {calibrated:.3f} at T = {facts.temperature:.2f}",
        "A misclassified sample scores zero, so a class score is the accuracy times the mean score of the correct "
        "samples. To see more than accuracy, compare the two.",
    )


@ON_CLASSES.claim("worst-class-certainty", where="Proposition 1")
def _worst_set(facts: PaperFacts) -> Judgement:
    """How sure the paper's own bound makes the worst class."""
    radius = facts.class_radius
    candidates = (facts.scores - radius <= (facts.scores + radius).min(axis=1, keepdims=True)).sum(axis=1)
    return finding(
        f"certain in {(candidates == 1).sum()} of {facts.n_models} models; {candidates.min()} to {candidates.max()} of "
        f"{facts.n_classes:,} classes could be the worst",
        f"Classes whose interval (±{radius:.3f}, all classes at once, 95 %) overlaps that of the worst cannot be told "
        "from it.",
    )
