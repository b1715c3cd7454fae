"""Puts the refuters and the attacks in order, and says what follows for the claim of an audit."""

from gfscore.refuting.claims import with_refutation
from gfscore.refuting.crosscheck import Assault, with_cross_check
from gfscore.refuting.trying import PER_CLASS, Refutation, Refuter, Subject, refute

__all__ = [
    "PER_CLASS",
    "Assault",
    "Refutation",
    "Refuter",
    "Subject",
    "refute",
    "with_cross_check",
    "with_refutation",
]
