"""Claims about the ranking by FP-GREAT, the score after the fairness penalty."""

from collections.abc import Iterator

import numpy as np

from gfscore.reproduction.facts import Facts, places, rho, signed
from gfscore.reproduction.result import PaperClaim, Verdict

MOVES = {"Augustin2020": (2, 5), "Wu2020": (16, 14)}
FAR = 2  # places; a move by one is a swap of neighbours


def reranking_claims(facts: Facts) -> Iterator[PaperClaim]:
    """What the fairness penalty changes."""
    if facts.dataset == "cifar10":
        yield _moves(facts)
    yield _reranking(facts)
    yield _direction(facts) if facts.dataset == "cifar10" else _negative(facts)


def _moves(facts: Facts) -> PaperClaim:
    before, after = places(facts.plain.great), places(facts.plain.fp_great)
    own = {name: (int(before[i]), int(after[i])) for i, name in enumerate(facts.names)}
    largest = max(own, key=lambda name: abs(own[name][1] - own[name][0]))
    return PaperClaim(
        id="fp-great-moves",
        datasets=(facts.dataset,),
        where="Section 5.2",
        statement="Ranked by FP-GREAT instead of the score, Augustin2020 falls and Wu2020 rises.",
        published=_moves_text(MOVES),
        recomputed=_moves_text({name: own[name] for name in MOVES}),
        verdict=Verdict.HOLDS if all(own[name] == move for name, move in MOVES.items()) else Verdict.FAILS,
        explanation=f"The largest move is not mentioned: {_moves_text({largest: own[largest]})}.",
    )


def _reranking(facts: Facts) -> PaperClaim:
    moves = np.abs(places(facts.plain.fp_great) - places(facts.plain.great))
    moved, far = int((moves > 0).sum()), int((moves >= FAR).sum())
    kept = rho(facts.plain.great, facts.plain.fp_great)
    return PaperClaim(
        id="fp-great-reranking",
        datasets=(facts.dataset,),
        where="Section 5.2, Figure 5",
        statement="Ranking by FP-GREAT instead of the score shifts the ranking substantially.",
        published="substantially",
        recomputed=f"{moved} of {facts.n_models} models move, {far} by two places or more; ρ = {kept:.3f}",
        verdict=Verdict.graded(full=2 * far > facts.n_models, part=moved > 0),
        explanation="“Substantially” is read as: most models move by two places or more. The example in the text is "
        "from CIFAR-10.",
    )


def _direction(facts: Facts) -> PaperClaim:
    moves = places(facts.plain.great) - places(facts.plain.fp_great)  # positive: rises
    gap = facts.plain.rdi
    middle = float(np.median(gap))
    expected = int(((moves > 0) & (gap < middle)).sum() + ((moves < 0) & (gap > middle)).sum())
    moved = int((moves != 0).sum())
    risers = [facts.names[i] for i in np.flatnonzero((moves > 0) & (gap > middle))]
    fallers = [facts.names[i] for i in np.flatnonzero((moves < 0) & (gap < middle))]
    return PaperClaim(
        id="fp-great-direction",
        datasets=(facts.dataset,),
        where="Figure 5",
        statement="Models with low disparity rise in the FP-GREAT ranking, those with high disparity fall.",
        published="Wu2020 rises, Augustin2020 falls",
        recomputed=f"true of {expected} of the {moved} models that move; ρ(RDI, places won) = "
        f"{signed(rho(gap, moves.astype(np.float64)))}",
        verdict=Verdict.graded(full=expected == moved, part=2 * expected > moved),
        explanation=f"Low and high are below and above the median RDI. {', '.join(risers) or 'None'} rise with high "
        f"RDI; {', '.join(fallers) or 'none'} fall with low RDI: what decides is the RDI of models that score alike.",
    )


def _negative(facts: Facts) -> PaperClaim:
    negative = int((facts.plain.fp_great < 0).sum())
    after = int((facts.calibrated.fp_great < 0).sum())
    return PaperClaim(
        id="fp-great-negative",
        datasets=(facts.dataset,),
        where="Figure 5",
        statement="At λ = 0.5 the FP-GREAT of every model is negative.",
        published="all",
        recomputed=f"{negative} of {facts.n_models}",
        verdict=Verdict.HOLDS if negative == facts.n_models else Verdict.FAILS,
        explanation=f"At the calibrated temperature {after} of {facts.n_models} are: the sign, too, depends on T.",
    )


def _moves_text(moves: dict[str, tuple[int, int]]) -> str:
    return "; ".join(f"{name} {before} → {after}" for name, (before, after) in moves.items())
