"""A policy: rules as data. Each has a number of the audit it is about, a threshold, and a share of the error level."""

import difflib
import math
import reprlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from gfscore import views
from gfscore.bounds import check_level
from gfscore.errors import OptionError, first_few
from gfscore.metrics import PLACEHOLDERS, ModelMetric, Scale, Unit, all_metrics
from gfscore.results import VOIDING, Interval, Verdict
from gfscore.words import read_size

EVERY = "*"  # in the place of a class: each of them
SCORE = "score"  # what the score is called in a rule, until it is known which one is judged
ABSENT = "absent_classes"
ALLOWABLE = (ABSENT, *VOIDING)
ROUNDING = 1e-9  # of the length of a scale, for thresholds that were computed


class Kind(StrEnum):
    """What rules share intervals, and so a level."""

    PROFILE = "profile"  # class scores and all that follows from them: the intervals of the audit
    ACCURACY = "accuracy"  # of the model and of classes
    ROBUST = "robust_accuracy"  # of the model and of classes, at an eps
    REFUTED = "refuted"  # the share of claimed radii that were refuted
    CHANGE = "change"  # against a baseline


def _row(key: str, title: str, unit: Unit = Unit.SHARE, *, higher_is_better: bool = True) -> ModelMetric:
    """A row as metrics have, for a number that does not come from class scores."""
    return ModelMetric(
        key=key,
        title=title,
        value=lambda _: None,
        note="",
        unit=unit,
        higher_is_better=higher_is_better,
        of_every_class=False,
    )


WHOLE_RULES = {
    "accuracy": _row("accuracy", "accuracy"),
    "robust_accuracy": _row("robust_accuracy", "robust accuracy"),
    "refuted": _row("refuted", "refuted share", higher_is_better=False),
}
CLASS_RULES = {
    "class": _row("class", "score of", Unit.SCORE),
    "class_accuracy": _row("class_accuracy", "accuracy of"),
    "class_robust_accuracy": _row("class_robust_accuracy", "robust accuracy of"),
}
ROBUST_RULES = ("robust_accuracy", "class_robust_accuracy")
KINDS = {
    "accuracy": Kind.ACCURACY,
    "class_accuracy": Kind.ACCURACY,
    "refuted": Kind.REFUTED,
    **dict.fromkeys(ROBUST_RULES, Kind.ROBUST),
}  # others: profile
CHANGE_TABLES = ("class", "class_robust_accuracy")
TABLES, ALLOW = ("rules", *CLASS_RULES, "change"), "allow"


def judge_interval(interval: Interval | None, threshold: float) -> Verdict:
    """PASS when the whole interval is at or above the threshold, FAIL when it is wholly below, UNDECIDED otherwise.

    >>> [judge_interval(interval, 0.3).value for interval in ((0.3, 0.5), (0.1, 0.2), (0.2, 0.4), None)]
    ['PASS', 'FAIL', 'UNDECIDED', 'UNDECIDED']
    """
    if interval is not None and interval[0] >= threshold:
        return Verdict.PASS
    if interval is not None and interval[1] < threshold:
        return Verdict.FAIL
    return Verdict.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A threshold for one number: at least so much where more is better, at most so much where less is."""

    metric: str  # a key of the table of metrics, of WHOLE_RULES, or, where there is a part, of CLASS_RULES
    threshold: float
    part: str | None = None  # the class it is about; EVERY for each of them
    change: bool = False  # it is about the change against a baseline
    score: str = SCORE  # title of the local score that is judged
    eps: float | None = None  # the size of attack that a rule on robust accuracy is about
    norm: str = "linf"  # that it is measured in

    @property
    def row(self) -> ModelMetric:
        """What is known of the number: title, unit, and which way is better."""
        return CLASS_RULES[self.metric] if self.part is not None else (all_metrics() | WHOLE_RULES)[self.metric]

    @property
    def kind(self) -> Kind:
        """Whose intervals judge it."""
        return Kind.CHANGE if self.change else KINDS.get(self.metric, Kind.PROFILE)

    @property
    def what(self) -> str:
        """The number, in words."""
        of = "" if self.part is None else " every class" if self.part == EVERY else f" {views.printable(self.part)}"
        title = self.row.title.format_map(dict.fromkeys(PLACEHOLDERS, "") | {"score": self.score})
        at = "" if self.eps is None else f" at {views.eps_text(self.eps, self.norm)}"
        return f"{'change of ' if self.change else ''}{title}{of}{at}"

    @property
    def of_every_class(self) -> bool:
        """Whether it speaks of every class, those without a sample too."""
        return self.part == EVERY or self.row.of_every_class

    @property
    def broken_by_any(self) -> bool:
        """Whether some of the classes are enough to break it, whatever the others are."""
        return self.part == EVERY or (self.row.worsened_by_any and not self.change)

    @property
    def text(self) -> str:
        """The rule as a person would write it."""
        return f"{self.what} {'≥' if self.row.higher_is_better else '≤'} {self.threshold:g}"

    def judge(self, interval: Interval) -> Verdict:
        """What an interval says."""
        if self.row.higher_is_better:
            return judge_interval(interval, self.threshold)
        return judge_interval((-interval[1], -interval[0]), -self.threshold)

    def scale(self, *, maximum: float, weight: float, n_classes: int | None = None) -> Interval:
        r"""The smallest and the largest value that the number can have; arguments as of :func:`check_thresholds`.

        A class score, an average of them, and the difference of two of them lie in [0, S]; FP-GREAT in
        :math:`[-\lambda S, S]`; Theil's index in :math:`[0, \ln K]`; shares in [0, 1]. A change is the difference of
        two.

        >>> Rule(metric="fp_great", threshold=0.0).scale(maximum=2.0, weight=0.5)
        (-1.0, 2.0)
        >>> Rule(metric="wcr", threshold=0.0, change=True).scale(maximum=2.0, weight=0.5)
        (-2.0, 2.0)
        """
        scale = Scale(low=0.0, high=maximum, fairness_weight=weight, n_classes=n_classes)
        low, high = self.row.values(scale)
        return (low - high, high - low) if self.change else (low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules that a model must keep, every one of them."""

    rules: tuple[Rule, ...]
    allow: tuple[str, ...] = ()  # flags that do not keep a verdict from being given

    @classmethod
    def of(cls, table: Mapping[str, Any], *, eps: float | None = None) -> Self:
        """A policy from tables, as they stand in ``policy.toml``; a name that is not known is an error.

        A threshold of robust accuracy says at which size of attack, as in ``0.3@2/255``; without that it is ``eps``.

        >>> policy = Policy.of({"rules": {"wcr": 0.1, "rdi": 0.5}, "class": {"cat": 0.2}, "change": {"wcr": -0.05}})
        >>> [rule.text for rule in policy.rules]
        ['WCR ≥ 0.1', 'RDI ≤ 0.5', 'score of cat ≥ 0.2', 'change of WCR ≥ -0.05']
        """
        _check_names(table, (*TABLES, ALLOW), "table")
        tables = {name: _table(table.get(name, {}), name) for name in TABLES}
        metrics = all_metrics()
        _check_names(tables["rules"], (*metrics, *WHOLE_RULES), "rule")
        changes = dict(tables["change"])
        parts = {name: _table(changes.pop(name, {}), f"change.{name}") for name in CHANGE_TABLES}
        _check_names(changes, (*metrics, "robust_accuracy", *CHANGE_TABLES), "rule on a change")
        rules = [Rule(metric=name, **_limit(name, value, eps)) for name, value in tables["rules"].items()]
        for metric in CLASS_RULES:
            entries = tables[metric].items()
            rules += [Rule(metric=metric, part=part, **_limit(metric, value, eps)) for part, value in entries]
        rules += [Rule(metric=name, change=True, **_limit(name, value, eps)) for name, value in changes.items()]
        for metric, falls in parts.items():
            limits = {part: _limit(metric, value, eps) for part, value in falls.items()}
            rules += [Rule(metric=metric, part=part, change=True, **limit) for part, limit in limits.items()]
        if not rules:
            raise OptionError("the policy has no rule. Give at least one, such as --wcr 0.1.")
        for rule in rules:
            _check_threshold(rule)
        return cls(rules=tuple(rules), allow=_check_codes(table.get(ALLOW, ())))

    def about(self, score: str, norm: str | None = None) -> Self:
        """A policy whose rules name the local score by this title, and sizes of attack in this norm."""
        return replace(self, rules=tuple(replace(rule, score=score, norm=norm or rule.norm) for rule in self.rules))

    @property
    def eps(self) -> tuple[float, ...]:
        """The sizes of attack that its rules are about, each once."""
        return tuple(dict.fromkeys(rule.eps for rule in self.rules if rule.eps is not None))

    def allowing(self, codes: Sequence[str]) -> Self:
        """A policy that allows more flags."""
        return replace(self, allow=(*self.allow, *_check_codes(codes)))

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


def check_thresholds(policy: Policy, *, maximum: float, weight: float, n_classes: int | None = None) -> None:
    """Refuse thresholds off the scale, slips of the pen: scores lie in [0, ``maximum``].

    FP-GREAT has the fairness ``weight``; ``n_classes`` bounds Theil's index, None where it is not yet known.
    """
    for rule in policy.rules:
        low, high = rule.scale(maximum=maximum, weight=weight, n_classes=n_classes)
        slack = ROUNDING * (high - low) if math.isfinite(high - low) else 0.0
        if not low - slack <= rule.threshold <= high + slack:
            raise OptionError(
                f"the threshold of {rule.what} is {rule.threshold:g}, off its scale, which goes from {low:.4g} to "
                f"{high:.4g}. Give a number on it."
            )


def _limit(metric: str, value: Any, eps: float | None) -> dict[str, Any]:
    """The threshold of a rule, and where it has one its size of attack."""
    if metric not in ROBUST_RULES:
        return {"threshold": value}
    share, at, size = value.partition("@") if isinstance(value, str) else (value, "", "")
    try:
        threshold = float(share)
    except (TypeError, ValueError):
        raise OptionError(f"the threshold of {metric} is {reprlib.repr(value)}. Write 0.3@2/255.") from None
    found = read_size(size) if at else eps
    if found is None or not found > 0:
        raise OptionError(f"{metric} is at a size of attack, and {value!r} names none. Write {threshold:g}@2/255.")
    return {"threshold": threshold, "eps": found}


def _check_threshold(rule: Rule) -> None:
    value = rule.threshold
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise OptionError(f"the threshold of {rule.what} is {reprlib.repr(value)}. Give a number.")
    if rule.row.is_share and not rule.change and not 0 <= value <= 1:
        raise OptionError(f"the threshold of {rule.what} is {value:g}, which is no share. Write 0.6 for 60 %.")


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise OptionError(f"{name} is {value!r} in the policy, not a table. Write [{name}] and a rule a line below.")
    return value


def _check_codes(codes: Any) -> tuple[str, ...]:
    if isinstance(codes, str) or not isinstance(codes, Sequence) or not all(isinstance(code, str) for code in codes):
        raise OptionError(f'allow is {reprlib.repr(codes)}, not a list of flags. Write allow = ["{ALLOWABLE[0]}"].')
    _check_names(codes, ALLOWABLE, "flag to allow")
    return tuple(codes)


def _check_names(names: Iterable[str], known: Sequence[str], what: str) -> None:
    for name in names:
        if name not in known:
            if (name, what) == (ALLOW, "rule"):
                raise OptionError("allow stands under [rules] in the policy, where it is no rule. Move it to the top.")
            raise OptionError(no_such(name, known, what))


def no_such(name: str, known: Sequence[str], what: str) -> str:
    """The message about a name that is not known: the nearest one, or those there are."""
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}?" if near else f"There are {first_few(known, 12)}."
    return f"the policy names a {what} {name!r} that there is not. {hint}"
