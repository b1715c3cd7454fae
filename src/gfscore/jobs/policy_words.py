"""What a gate judges by: rules as words, over those of a policy, and the earlier version that changes are against."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gfscore.errors import OptionError, naming
from gfscore.inputs.small_files import allow_also, extend_policy, read_policy
from gfscore.jobs.compared import compare_audit_scores
from gfscore.jobs.given_words import kinds_of
from gfscore.jobs.mistaken_inputs import mistakes_of
from gfscore.jobs.options import Options
from gfscore.jobs.sources import Source
from gfscore.judge import refuse_void
from gfscore.judge.policy import Kind, Policy
from gfscore.judge.robust_changes import unpaired_robust_change
from gfscore.results import Audit, Comparison, ModelAudit
from gfscore.samples import Samples
from gfscore.words import Panel, Word

Baseline = Samples | ModelAudit
LEAST_LEFT = 1e-9  # of a level: less is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWords:
    """Rules beside a policy, in place of the same rule there; several are texts ``NAME=NUMBER``, or a mapping."""

    PANEL: ClassVar = Panel.RULES

    wcr: Annotated[float | None, Word(help="The score of the worst class (WCR) is at least this.")] = None
    rdi: Annotated[float | None, Word(help="The gap between best and worst class (RDI) is at most this.")] = None
    nrgc: Annotated[float | None, Word(help="The Gini coefficient of the classes (NRGC) is at most this.")] = None
    fp_great: Annotated[float | None, Word(help="The penalised mean (FP-GREAT) is at least this.")] = None
    class_: Annotated[list[str] | None, Word(metavar="NAME=SCORE", help="The score of a class is at least this.")] = (
        None
    )
    accuracy: Annotated[float | None, Word(help="Clean accuracy is at least this share.")] = None
    class_accuracy: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="NAME=SHARE",
            help="The accuracy of a class (*: of every one) is at least this.",
        ),
    ] = None
    robust_accuracy: Annotated[
        Any,
        Word(
            kind=str | None,
            metavar="SHARE@EPS",
            help="Accuracy under attacks of a size, estimated by radii, is at least this: 0.3@2/255. Needs --model.",
        ),
    ] = None
    class_robust_accuracy: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="NAME=SHARE@EPS",
            help="That of a class (*: of every one) is at least this: '*=0.1@2/255'.",
        ),
    ] = None
    refuted: Annotated[float | None, Word(help="The share of radii that were refuted is at most this.")] = None
    rule: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="METRIC=VALUE",
            help="Any metric, such as theil=0.1 or one of a plug-in, is at least this where more is better, else at "
            "most.",
        ),
    ] = None
    change: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="METRIC=CHANGE",
            help="Against --baseline, a metric such as wcr changes for the worse by no more: wcr=-0.02, rdi=0.02, "
            "robust_accuracy=-0.02@2/255.",
        ),
    ] = None
    class_change: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="NAME=CHANGE",
            help="The same for a class (*: for every one), such as cat=-0.05.",
        ),
    ] = None
    class_robust_change: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="NAME=CHANGE@EPS",
            help="Against --baseline, the robust accuracy of a class (*: of every one) falls by no more: "
            "'*=-0.05@2/255'.",
        ),
    ] = None
    allow: Annotated[
        list[str] | None,
        Word(
            metavar="FLAG",
            help="Judge in spite of a flag: absent_classes, labels_shifted, labels_permuted, at_chance, all_zero or "
            "bounded_logits. May be given several times.",
        ),
    ] = None

    def over(self, policy: Policy | Mapping[str, Any] | Path | None, eps: float | None = None) -> Policy:
        """The policy with these rules over its own; ``eps`` is for rules on robust accuracy that name none."""
        if isinstance(policy, Policy):
            said = [
                field.name for field in fields(self) if field.name != "allow" and getattr(self, field.name) is not None
            ]
            if said:
                raise OptionError(f"{said[0]} is said beside a Policy, which is complete. Give its tables instead.")
            return policy.allowing(self.allow or ())
        if policy is not None and not isinstance(policy, Mapping | Path):
            raise OptionError(
                f"the policy is {type(policy).__name__}. Give a policy.toml or its tables; labels are said by name."
            )
        table = read_policy(policy) if isinstance(policy, Path) else dict(policy or {})
        numbers = [field.name for field in fields(self) if float in kinds_of(field.type)]
        plain = {name: value for name in (*numbers, "robust_accuracy") if (value := getattr(self, name)) is not None}
        extend_policy(table, "rules", plain | _pairs(self.rule, "--rule"))
        extend_policy(table, "class", _pairs(self.class_, "--class"))
        extend_policy(table, "class_accuracy", _pairs(self.class_accuracy, "--class-accuracy"))
        extend_policy(table, "class_robust_accuracy", _pairs(self.class_robust_accuracy, "--class-robust-accuracy"))
        extend_policy(table, "change", _pairs(self.change, "--change"))
        parts = {"class": self.class_change, "class_robust_accuracy": self.class_robust_change}
        for name, entries in parts.items():
            if entries:
                changes = dict(table.get("change", {}))
                option = "--class-change" if name == "class" else "--class-robust-change"
                extend_policy(changes, name, _pairs(entries, option))
                table["change"] = changes
        allow_also(table, self.allow or [])
        with naming(policy) if isinstance(policy, Path) else nullcontext():
            return Policy.of(table, eps=eps)


def _pairs(entries: Sequence[str] | Mapping[str, Any] | None, option: str) -> dict[str, Any]:
    """``NAME=NUMBER`` texts, or a mapping, by name; a number with a size of attack, ``0.3@2/255``, stays a text."""
    if isinstance(entries, Mapping):
        return dict(entries)
    found = {}
    for text in entries or []:
        name, _, number = text.rpartition("=")
        try:
            found[name] = number if "@" in number else float(number)
        except ValueError:
            name = ""
        if not name:
            raise OptionError(f"{option} {text!r} is not a name and a number. Write {option} NAME=0.1.")
    return found


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
    with naming("baseline"):
        refuse_void(mistakes_of(baseline, options), policy.allow)


def compare_with(baseline: ModelAudit, model: ModelAudit, policy: Policy, levels: Mapping[Kind, float]) -> Comparison:
    """The unpaired comparison, at the level of the baseline: that of the new audit is spent already.

    Changes of robust accuracy are counted anew, at what the intervals of the baseline leave of the level for changes
    where rules are about both.
    """
    about_changes = [rule for rule in policy.rules if rule.kind is Kind.CHANGE]
    sizes = list(dict.fromkeys(rule.eps for rule in about_changes if rule.eps is not None))
    taken = baseline.interval.delta if any(rule.eps is None for rule in about_changes) else 0.0
    left = levels[Kind.CHANGE] - taken
    if not sizes:
        return compare_audit_scores(baseline, model).model_copy(update={"delta": taken})
    if left < LEAST_LEFT:
        raise OptionError(
            f"rules on changes have {levels[Kind.CHANGE]:g} of --delta here, and the intervals of the baseline take "
            f"{taken:g} of it for those of scores, which leaves none for robust accuracy. Raise --delta, or audit the "
            f"baseline with --delta {levels[Kind.CHANGE] / 2:g}."
        )
    changes = [unpaired_robust_change(baseline, model, eps, delta=left / len(sizes)) for eps in sizes]
    known = tuple(change for change in changes if change is not None)
    return compare_audit_scores(baseline, model).model_copy(update={"delta": taken + left, "robustness": known})


def is_audit(path: Any) -> bool:
    """Whether a path is that of an audit, which samples are not kept in."""
    return isinstance(path, Path) and path.suffix.lower() == ".json"
