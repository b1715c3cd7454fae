"""The earlier version that a gate holds a model against: read, refused where it is about nothing, compared."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from gfscore.errors import OptionError, naming
from gfscore.jobs.compare import compare_audits
from gfscore.jobs.options import Options
from gfscore.jobs.sources import Source
from gfscore.jobs.stages import score_samples
from gfscore.judge import refuse_void
from gfscore.judge.flags import Facts, audit_flags, known_flags
from gfscore.judge.policy import Kind, Policy
from gfscore.judge.robust_changes import unpaired_robust_change
from gfscore.profile import class_profile
from gfscore.results import Audit, Comparison, ModelAudit
from gfscore.samples import Samples

Baseline = Samples | ModelAudit


def read_baseline(given: Any, read: Callable[[Source], Samples], options: Options) -> Baseline | None:
    """The earlier version: as given, or from its file."""
    if isinstance(given, Path):
        with naming(given) if is_audit(given) else nullcontext():
            given = Audit.load(given).model if is_audit(given) else read(Source(name=given.stem, path=given))
    if options.radius is not None and isinstance(given, Samples):
        raise OptionError("a radius cannot be compared with a baseline of logits. Give its audit.json instead.")
    if not isinstance(given, Samples | ModelAudit | Audit | None):
        raise OptionError(f"the baseline is {type(given).__name__}. Give a file, Samples, or an audit.")
    return given.model if isinstance(given, Audit) else given


def refuse_void_baseline(baseline: Baseline, policy: Policy, options: Options) -> None:
    """A change against what is about nothing is about nothing."""
    if isinstance(baseline, ModelAudit):
        flags = known_flags(baseline)
    else:
        local = score_samples(baseline, options)
        flags = audit_flags(Facts.of(baseline, local), class_profile(baseline, local), min_n=options.min_n)
    with naming("baseline"):
        refuse_void(flags, policy.allow)


def compare_with(baseline: ModelAudit, model: ModelAudit, policy: Policy, levels: Mapping[Kind, float]) -> Comparison:
    """The unpaired comparison, at the level of the baseline: that of the new audit is spent already.

    Changes of robust accuracy are counted anew, at the level that is left for changes.
    """
    changes = [
        unpaired_robust_change(baseline, model, eps, delta=levels[Kind.CHANGE] / len(policy.eps)) for eps in policy.eps
    ]
    known = tuple(change for change in changes if change is not None)
    about_scores = any(rule.kind is Kind.CHANGE and rule.eps is None for rule in policy.rules)
    delta = baseline.interval.delta if about_scores else levels[Kind.CHANGE]
    return compare_audits(baseline, model).model_copy(update={"delta": delta, "robustness": known})


def is_audit(path: Any) -> bool:
    """Whether a path is that of an audit, which samples are not kept in."""
    return isinstance(path, Path) and path.suffix.lower() == ".json"
