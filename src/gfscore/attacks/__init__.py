"""What tries to refute a claimed radius, by forward passes alone or by attacks, and what follows for an audit.

Every witness is looked at again, by the model that the claim is about: :mod:`gfscore.measures.targets`.
"""

from gfscore.attacks.claims import with_refutation
from gfscore.attacks.cross_check import with_cross_check
from gfscore.attacks.refuting import PER_CLASS, Refutation, Refuter, ScoredRun, refute
from gfscore.attacks.sparing import with_few_attacks

__all__ = [
    "PER_CLASS",
    "Refutation",
    "Refuter",
    "ScoredRun",
    "refute",
    "with_cross_check",
    "with_few_attacks",
    "with_refutation",
]
