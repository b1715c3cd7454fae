"""Claims about samples, certificates and earlier work: judged from the numbers where they decide, else from sources."""

import math
from collections.abc import Iterator

import numpy as np

from gfscore.paper.published_numbers import DATASETS
from gfscore.reproduction.facts import Facts
from gfscore.reproduction.result import PaperClaim, Verdict

SETS = {"cifar10": "test set", "imagenet": "validation set"}
TEST_SET = {"cifar10": (10, 1000), "imagenet": (1000, 50)}  # classes and images of each
SAME_ACCURACY = 0.01  # points; the leaderboard has two decimals
SUBSET = 5000  # ImageNet images that RobustBench draws from the 50,000 (RobustBench issue 47)


def statement_claims(facts: Facts) -> Iterator[PaperClaim]:
    """Samples, certificates and earlier work."""
    yield _samples(facts)
    if facts.dataset == "imagenet":
        yield _accuracy_gap(facts)
    yield _certified(facts)
    yield _comparison()


def _samples(facts: Facts) -> PaperClaim:
    n_classes, n = TEST_SET[facts.dataset]
    whole = facts.n_classes == n_classes and bool((facts.counts == n).all())
    equal = int((np.abs(facts.own_clean - facts.clean) < SAME_ACCURACY).sum())
    evidence = {
        "cifar10": f"The clean accuracy equals that of RobustBench on the test set to {SAME_ACCURACY} points for "
        f"{equal} of {facts.n_models} models; generated images would not give that.",
        "imagenet": "The counts are those of the validation set, which the published code reads unless told "
        "otherwise; the limitations speak of 50K images, too.",
    }
    return PaperClaim(
        id="generated-samples",
        datasets=(facts.dataset,),
        where="Section 4.1",
        statement="The scores were computed on GAN-generated samples.",
        published="test sets “with GAN-generated samples”",
        recomputed=f"{facts.n_min:,} samples in each of {facts.n_classes:,} classes: "
        f"{'all of' if whole else 'not'} the {SETS[facts.dataset]}",
        verdict=Verdict.FAILS if whole else Verdict.UNCLEAR,
        explanation=evidence[facts.dataset],
    )


def _accuracy_gap(facts: Facts) -> PaperClaim:
    gaps = facts.clean - facts.own_clean
    shares = facts.clean / 100
    errors = 100 * np.sqrt(shares * (1 - shares) / SUBSET)
    return PaperClaim(
        id="accuracy-gap",
        datasets=(facts.dataset,),
        statement="Clean accuracy of the published run against that of RobustBench for the same models.",
        recomputed=f"{gaps.min():.1f} to {gaps.max():.1f} points lower, {(gaps / errors).min():.0f} to "
        f"{(gaps / errors).max():.0f} standard errors",
        verdict=Verdict.FINDING,
        explanation=f"Too much for RobustBench's random {SUBSET:,} of the 50,000 images. The published code squeezes "
        "images to 224 × 224, where RobustBench resizes to 256 and crops; whether that is all cannot be shown here.",
    )


def _certified(facts: Facts) -> PaperClaim:
    top = int(facts.plain.great.argmax())
    same = all(np.array_equal(model.accuracies, model.calibrated_accuracies) for model in facts.published.models)
    before, after = float(facts.plain.great[top]), float(facts.calibrated.great[top])
    moved = not math.isclose(before, after)
    return PaperClaim(
        id="certified",
        datasets=(facts.dataset,),
        where="Title, Section 3.1",
        statement="The scores are certified: no smaller perturbation can change the prediction.",
        published="certified",
        recomputed=f"{facts.names[top]}: {before:.3f} at T = 1, {after:.3f} at T = {facts.temperature:.2f}; "
        f"{'same' if same else 'other'} accuracies",
        verdict=Verdict.OVERSTATED if same and moved else Verdict.UNCLEAR,
        explanation="The distance to the nearest adversarial example does not depend on T, the score does. It bounds "
        "that distance only under a Lipschitz premise that nothing in the computation checks.",
    )


def _comparison() -> PaperClaim:
    return PaperClaim(
        id="comparison-table",
        datasets=DATASETS,
        where="Table 1",
        statement="Of the methods compared, only this one offers all five: certified, per class, attack-free, "
        "post-hoc, fairness metrics.",
        published="5 of 5; GREAT score not per class",
        recomputed="GREAT score already by group",
        verdict=Verdict.OVERSTATED,
        explanation="Li et al. 2024 report the GREAT score by group (old, young, with and without eyeglasses) for face "
        "services. And the table calls their score attack-free, while the abstract removes its dependence on attacks.",
    )
