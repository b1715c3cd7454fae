"""What leaves nothing to judge: flags that void a verdict unless they are allowed, and classes without a sample."""

from collections.abc import Iterable, Sequence

from gfscore import views
from gfscore.errors import InvalidInputError, first_few
from gfscore.results import Flag

ABSENT = "absent_classes"
VOIDING = ("at_chance", "all_zero", "bounded_logits")
ALLOWABLE = (ABSENT, *VOIDING)


class UnsoundError(InvalidInputError):
    """Numbers that are about nothing, so that no verdict can rest on them."""


def refuse_void(flags: Iterable[Flag], allow: Sequence[str]) -> None:
    """Stop where a flag says that there is nothing to judge, unless it is allowed."""
    found = [flag for flag in flags if flag.code in VOIDING and flag.code not in allow]
    if found:
        options = " ".join(f"--allow {flag.code}" for flag in found)
        raise UnsoundError(f"there is nothing to judge: {found[0].message} To judge nevertheless, give {options}.")


def without_samples(names: Sequence[str]) -> str:
    """Classes and that they have no sample, as the beginning of a clause.

    >>> without_samples(["cow"]), without_samples(["ant", "cow"])
    ('cow has no sample', 'ant, cow have no sample')
    """
    return f"{first_few(list(map(views.printable, names)))} {'has' if len(names) == 1 else 'have'} no sample"
