"""Labels or images that are nonsense, in jobs that are no audit: the flags of one, and what they mean for a verdict."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from gfscore.errors import OptionError
from gfscore.jobs.options import Options
from gfscore.jobs.probing import input_flags
from gfscore.jobs.stages import score_samples
from gfscore.judge import Facts, UnsoundError, audit_flags, known_flags, refuse_void
from gfscore.measures import Run
from gfscore.profile import class_profile
from gfscore.results import MISTAKES, VOIDING, Comparison, Flag, ModelAudit, Verdict
from gfscore.samples import Samples
from gfscore.words import Panel, Word

Allow = Annotated[
    list[str] | None,
    Word(
        panel=Panel.RULES,
        metavar="FLAG",
        help=f"Judge in spite of a flag: {', '.join(VOIDING[:-1])} or {VOIDING[-1]}. May be given several times.",
    ),
]


def check_allowed(allow: Sequence[str] | None) -> tuple[str, ...]:
    """The flags that may be there, by code; refused where there is no such flag.

    >>> check_allowed(["at_chance"])
    ('at_chance',)
    """
    codes = [allow] if isinstance(allow, str) else list(allow or ())
    for code in codes:
        if code not in VOIDING:
            raise OptionError(f"--allow {code} is no flag that voids a verdict. There are {', '.join(VOIDING)}.")
    return tuple(codes)


def mistakes_of(
    version: Samples | ModelAudit, options: Options, run: Run | None = None, *, name: str = ""
) -> tuple[Flag, ...]:
    """The flags of an audit that say that labels, images or logits are not what they are taken for; causes first.

    Of an audit those that it knows; of samples those of an audit, and where they come from a ``run`` of its images. A
    ``name`` is put before each, where there are several.
    """
    if isinstance(version, ModelAudit):
        found = known_flags(version)
    else:
        local = score_samples(version, options)
        found = audit_flags(Facts.of(version, local), class_profile(version, local), min_n=options.min_n)
        found += input_flags(run, float(local.correct(version.labels).mean()), version.n_classes)
    kept = sorted((flag for flag in found if flag.mistaken), key=lambda flag: MISTAKES.index(flag.code))
    return tuple(flag.model_copy(update={"message": f"{name}: {flag.message}"}) if name else flag for flag in kept)


def refuse_mistakes(samples: Samples, run: Run | None, allow: Sequence[str]) -> tuple[Flag, ...]:
    """The flags of samples that are nonsense; refused as a gate does where nothing can be judged by them."""
    flags = mistakes_of(samples, replace(Options(), permutations=0), run)
    refuse_void(flags, allow)
    return flags


def doubted(found: Comparison, said: Sequence[Flag], allow: Sequence[str]) -> Comparison:
    """A comparison with the flags of both versions before its own; UNDECIDED where they leave nothing to judge."""
    changed: dict[str, object] = {"flags": (*said, *found.flags)}
    try:
        refuse_void(said, allow)
    except UnsoundError as error:
        why = str(error)
        changed |= {"verdict": Verdict.UNDECIDED, "reason": why[:1].upper() + why[1:], "hidden": None}
    return found.model_copy(update=changed)
