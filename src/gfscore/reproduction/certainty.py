"""Claims about how sure the numbers are: the concentration bounds."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from gfscore.bounds import hoeffding_radius, rdi_radius, rdi_sample_size
from gfscore.reproduction.facts import Facts
from gfscore.reproduction.result import PaperClaim, Verdict
from gfscore.reproduction.rounding import rounds_to

DELTA = 0.05
CLASS_RADIUS = "0.069"  # stated for CIFAR-10
RDI_RADIUS = "0.35"  # stated for ImageNet


def certainty_claims(facts: Facts) -> Iterator[PaperClaim]:
    """How sure the numbers are."""
    if facts.dataset == "cifar10":
        yield _class_bound(facts)
        yield _tight(facts)
    else:
        yield _rdi_bound(facts)
    yield _pairs(facts)


def _class_bound(facts: Facts) -> PaperClaim:
    own = float(hoeffding_radius(facts.n_min, DELTA, n_classes=facts.n_classes))
    return PaperClaim(
        id="class-bound",
        datasets=(facts.dataset,),
        where="Proposition 1",
        statement="With 1,000 samples a class, all 10 class scores are this close to the truth, with 95 % probability.",
        published=f"± {CLASS_RADIUS}",
        recomputed=f"± {own:.4f}",
        verdict=Verdict.HOLDS if rounds_to(own, CLASS_RADIUS) else Verdict.FAILS,
        explanation="Hoeffding's bound with a union over the classes.",
    )


def _tight(facts: Facts) -> PaperClaim:
    radius = rdi_radius(facts.n_min, DELTA, n_classes=facts.n_classes)
    larger = int((facts.plain.rdi < radius).sum())
    return PaperClaim(
        id="tight-rdi",
        datasets=(facts.dataset,),
        where="caption of Figure 7",
        statement="With 1,000 samples a class the RDI estimates are tight.",
        published="tight",
        recomputed=f"± {radius:.3f}; {larger} of {facts.n_models} models have a smaller RDI than that",
        verdict=Verdict.OVERSTATED if larger else Verdict.HOLDS,
        explanation=f"The RDI of all models lies between {facts.plain.rdi.min():.3f} and {facts.plain.rdi.max():.3f}.",
    )


def _rdi_bound(facts: Facts) -> PaperClaim:
    own = rdi_radius(facts.n_min, DELTA, n_classes=facts.n_classes)
    needed = rdi_sample_size(float(RDI_RADIUS), DELTA, n_classes=facts.n_classes)
    return PaperClaim(
        id="rdi-bound",
        datasets=(facts.dataset,),
        where="caption of Figure 7",
        statement="With 50 samples a class the RDI is known to about this much, with 95 % probability.",
        published=f"± {RDI_RADIUS}",
        recomputed=f"± {own:.3f}",
        verdict=Verdict.HOLDS if rounds_to(own, RDI_RADIUS) else Verdict.FAILS,
        explanation=f"By Proposition 2 itself; {RDI_RADIUS} takes {needed} samples a class. The five RDI differ by "
        f"{np.ptp(facts.plain.rdi):.3f} at most.",
    )


def _pairs(facts: Facts) -> PaperClaim:
    radius = rdi_radius(facts.n_min, DELTA / 2, n_classes=facts.n_classes)  # both models at once: half the error each
    gaps = [abs(first - second) for first, second in combinations(facts.plain.rdi.tolist(), 2)]
    told = sum(gap > 2 * radius for gap in gaps)
    return PaperClaim(
        id="rdi-pairs",
        datasets=(facts.dataset,),
        where="Proposition 2",
        statement="How many pairs of models the paper's RDI bound can tell apart.",
        recomputed=f"{told} of {len(gaps)} pairs",
        verdict=Verdict.FINDING,
        explanation=f"Pairs whose RDI differ by more than {2 * radius:.3f}, the two radii when both bounds hold "
        "together with 95 % probability.",
    )
