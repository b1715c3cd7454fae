"""A policy: rules as data. Each has a number of the audit it is about, a threshold, and a share of the error level."""

import difflib
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from gfscore import views
from gfscore.bounds import check_level
from gfscore.errors import OptionError, first_few
from gfscore.judge.soundness import ALLOWABLE
from gfscore.metrics import ModelMetric, Unit, all_metrics
from gfscore.metrics.metric_table import PLACEHOLDERS
from gfscore.results import Interval, Verdict

EVERY = "*"  # in the place of a class: each of them


class Kind(StrEnum):
    """What rules share intervals, and so a level."""

    PROFILE = "profile"  # class scores and all that follows from them: the intervals of the audit
    ACCURACY = "accuracy"  # of the model and of classes
    REFUTED = "refuted"  # the share of claimed radii that were refuted
    CHANGE = "change"  # against a baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a rule can be about."""

    title: str
    kind: Kind = Kind.PROFILE
    high_is_good: bool = True
    is_share: bool = False
    of_classes: bool = False  # it speaks of every class, not of all samples
    broken_by_any: bool = False  # one class more can only make it worse
    unit: Unit = Unit.SHARE
    row: ModelMetric | None = None  # of the table of metrics, where it is about one


def rule_subjects() -> dict[str, Subject]:
    """What a rule on a whole model can be about, by its name in a policy: every metric there is, and two shares."""
    metrics = {
        key: Subject(
            title=row.title,
            high_is_good=row.higher_is_better,
            is_share=row.is_share,
            of_classes=row.of_every_class,
            broken_by_any=row.worsened_by_any,
            unit=row.unit,
            row=row,
        )
        for key, row in all_metrics().items()
    }
    return metrics | WHOLE_RULES


SCORE = "score"  # what the score is called in a rule, until it is known which one is judged
WHOLE_RULES = {
    "accuracy": Subject(title="accuracy", kind=Kind.ACCURACY, is_share=True),
    "refuted": Subject(title="refuted share", kind=Kind.REFUTED, high_is_good=False, is_share=True),
}
CLASS_RULES = {
    "class": Subject(title="score of", unit=Unit.SCORE),
    "class_accuracy": Subject(title="accuracy of", kind=Kind.ACCURACY, is_share=True),
}
TABLES, ALLOW = ("rules", *CLASS_RULES, "change"), "allow"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A threshold for one number: at least so much where more is better, at most so much where less is."""

    metric: str  # a key of rule_subjects or CLASS_RULES
    threshold: float
    part: str | None = None  # the class it is about; EVERY for each of them
    change: bool = False  # it is about the change against a baseline
    score: str = SCORE  # title of the local score that is judged

    @property
    def subject(self) -> Subject:
        """What it is about."""
        return rule_subjects()[self.metric] if self.part is None else CLASS_RULES[self.metric]

    @property
    def kind(self) -> Kind:
        """Whose intervals judge it."""
        return Kind.CHANGE if self.change else self.subject.kind

    @property
    def what(self) -> str:
        """The number, in words."""
        of = "" if self.part is None else " every class" if self.part == EVERY else f" {views.printable(self.part)}"
        title = self.subject.title.format_map(dict.fromkeys(PLACEHOLDERS, "") | {"score": self.score})
        return f"{'change of ' if self.change else ''}{title}{of}"

    @property
    def of_every_class(self) -> bool:
        """Whether it speaks of every class, those without a sample too."""
        return self.part == EVERY or (self.part is None and self.subject.of_classes)

    @property
    def broken_by_any(self) -> bool:
        """Whether some of the classes are enough to break it, whatever the others are."""
        return self.part == EVERY or (self.subject.broken_by_any and not self.change)

    @property
    def text(self) -> str:
        """The rule as a person would write it."""
        return f"{self.what} {'≥' if self.subject.high_is_good else '≤'} {self.threshold:g}"

    def judge(self, interval: Interval) -> Verdict:
        """What an interval says."""
        low, high = interval if self.subject.high_is_good else (-interval[1], -interval[0])
        threshold = self.threshold if self.subject.high_is_good else -self.threshold
        if low >= threshold:
            return Verdict.PASS
        return Verdict.FAIL if high < threshold else Verdict.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules that a model must keep, every one of them."""

    rules: tuple[Rule, ...]
    allow: tuple[str, ...] = ()  # flags that do not keep a verdict from being given

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> Self:
        """A policy from tables, as they stand in ``policy.toml``; a name that is not known is an error.

        >>> policy = Policy.of({"rules": {"wcr": 0.1, "rdi": 0.5}, "class": {"cat": 0.2}, "change": {"wcr": -0.05}})
        >>> [rule.text for rule in policy.rules]
        ['WCR ≥ 0.1', 'RDI ≤ 0.5', 'score of cat ≥ 0.2', 'change of WCR ≥ -0.05']
        """
        _known(table, (*TABLES, ALLOW), "table")
        tables = {name: _table(table.get(name, {}), name) for name in TABLES}
        subjects = rule_subjects()
        _known(tables["rules"], subjects, "rule")
        changes = dict(tables["change"])
        parts = _table(changes.pop("class", {}), "change.class")
        profile = [name for name, subject in subjects.items() if subject.kind is Kind.PROFILE]
        _known(changes, (*profile, "class"), "rule on a change")
        rules = [Rule(metric=name, threshold=value) for name, value in tables["rules"].items()]
        for metric in CLASS_RULES:
            rules += [Rule(metric=metric, part=part, threshold=value) for part, value in tables[metric].items()]
        rules += [Rule(metric=name, threshold=value, change=True) for name, value in changes.items()]
        rules += [Rule(metric="class", part=part, threshold=value, change=True) for part, value in parts.items()]
        if not rules:
            raise OptionError("the policy has no rule. Give at least one, such as --wcr 0.1.")
        for rule in rules:
            _check_threshold(rule)
        return cls(rules=tuple(rules), allow=_allowed(table.get(ALLOW, ())))

    def about(self, score: str) -> Self:
        """The same policy for a local score with this title, which its rules then name."""
        return replace(self, rules=tuple(replace(rule, score=score) for rule in self.rules))

    def allowing(self, codes: Sequence[str]) -> Self:
        """The same policy with more flags allowed."""
        return replace(self, allow=(*self.allow, *_allowed(codes)))

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of its rules, each once."""
        return tuple(kind for kind in Kind if any(rule.kind is kind for rule in self.rules))

    def levels(self, delta: float, *, also: tuple[Kind, ...] = ()) -> dict[Kind, float]:
        """The share of ``delta`` that each kind of rule has, and each kind in ``also``: an equal part.

        >>> Policy.of({"rules": {"wcr": 0.1, "rdi": 0.5, "accuracy": 0.6}}).levels(0.05)
        {<Kind.PROFILE: 'profile'>: 0.025, <Kind.ACCURACY: 'accuracy'>: 0.025}
        """
        check_level(delta)
        kinds = [kind for kind in Kind if kind in self.kinds or kind in also]
        return {kind: delta / len(kinds) for kind in kinds}


def _check_threshold(rule: Rule) -> None:
    value = rule.threshold
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise OptionError(f"the threshold of {rule.what} is {reprlib.repr(value)}. Give a number.")
    if rule.subject.is_share and not rule.change and not 0 <= value <= 1:
        raise OptionError(f"the threshold of {rule.what} is {value:g}, which is no share. Write 0.6 for 60 %.")


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(f"{name} is {value!r} in the policy, not a table. Write [{name}] and a rule a line below.")
    return value


def _allowed(codes: Any) -> tuple[str, ...]:
    if isinstance(codes, str) or not isinstance(codes, Sequence) or not all(isinstance(code, str) for code in codes):
        raise OptionError(f'allow is {reprlib.repr(codes)}, not a list of flags. Write allow = ["{ALLOWABLE[0]}"].')
    _known(codes, ALLOWABLE, "flag to allow")
    return tuple(codes)


def _known(names: Iterable[str], known: Iterable[str], what: str) -> None:
    for name in names:
        if name not in known:
            if (name, what) == (ALLOW, "rule"):
                raise OptionError("allow stands under [rules] in the policy, where it is no rule. Move it to the top.")
            raise OptionError(no_such(name, list(known), what))


def no_such(name: str, known: list[str], what: str) -> str:
    """The message about a name that is not known: the nearest one, or those there are."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are {first_few(known, 12)}."
    return f"the policy names a {what} {name!r} that there is not. {hint}"
