"""A robustness gate as a test: ``assert_robust(model, data, wcr=0.1)``, as a fixture or imported from here."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from gfscore.errors import OptionError
from gfscore.inputs.small_files import extend_policy, read_policy
from gfscore.jobs.gate import gate
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.policy_words import Baseline
from gfscore.jobs.sources import source_of
from gfscore.outputs.ci_formats import flag_text, grounds_text
from gfscore.results import GateResult, Verdict
from gfscore.storage import to_read

Undecided = Literal["fail", "skip", "pass"]
TABLES = {"class_": "class", "class_accuracy": "class_accuracy", "change": "change"}  # by argument


def assert_robust(
    model: Any,
    data: Any = None,
    *,
    policy: str | Path | Mapping[str, Any] | None = None,
    undecided: Undecided = "fail",
    baseline: Baseline | None = None,
    options: Options | None = None,
    name: str | None = None,
    allow: Sequence[str] = (),
    **rules: float | Mapping[str, Any],
) -> GateResult:
    """Assert that a model keeps every rule; the message of the failure is why it does not.

    Rules are those of a policy: ``wcr=0.1``, ``rdi=0.5``, ``accuracy=0.9``, ``class_={"cat": 0.2}``,
    ``class_accuracy={"*": 0.6}``, ``change={"wcr": -0.02}`` (with a ``baseline``), or a ``policy``: a file, or its
    tables. Each is judged on the interval of its number. What the data cannot decide fails, unless ``undecided`` says
    otherwise. Where there is nothing to judge, as at the accuracy of guessing, an error says so, unless ``allow`` names
    its flag.

    ``model`` and ``data`` are as in :func:`~gfscore.jobs.sources.samples_of`; where class names,
    probabilities or preprocessing must be told, give what that function returns as the model.

    >>> import numpy as np
    >>> labels = np.arange(400) % 2
    >>> assert_robust(3 * np.eye(2)[labels], labels, wcr=0.5).verdict.value
    'PASS'
    >>> assert_robust([3, 3.1] * np.eye(2)[labels], labels, wcr=1.2)
    Traceback (most recent call last):
    AssertionError: model is not robust enough (FAIL):
      WCR is 1.134 [1.104, 1.144] (0): none of the interval is at least 1.2.
      Accuracy: 100.0 % [99.0 %, 100.0 %]; preprocessing: not known (logits were given).
      ! a rule on the GREAT score is a threshold on confidences, ...
    """
    __tracebackhide__ = True  # the failure is about the model: show the line of the test
    if undecided not in get_args(Undecided):
        raise OptionError(f"undecided is {undecided!r}. Choose 'fail', 'skip' or 'pass'.")
    name = name or (str(model) if isinstance(model, str | Path) else "model")
    source = source_of(model, data, run=RunOptions())
    tables, judged_as = _tables(policy, rules), options or Options()
    result = gate(source, tables, baseline=baseline, name=name, allow=list(allow), options=judged_as)
    verdict = result.models[0]
    flags = [f"! {flag_text(verdict, flag)}" for flag in verdict.flags]
    reasons = "\n".join(f"  {line}" for line in (*verdict.reasons, grounds_text(verdict), *flags))
    if result.verdict is Verdict.UNDECIDED and undecided == "skip":
        pytest.skip(f"{name}: the data cannot decide:\n{reasons}")
    if result.verdict is Verdict.FAIL or (result.verdict is Verdict.UNDECIDED and undecided == "fail"):
        raise AssertionError(f"{name} is not robust enough ({result.verdict.value}):\n{reasons}")
    return result


@pytest.fixture(name="assert_robust", scope="session")
def _assert_robust() -> Callable[..., GateResult]:
    """Assert that a model keeps rules on the robustness of its classes: assert_robust(model, data, wcr=0.1)."""
    return assert_robust


def _tables(policy: str | Path | Mapping[str, Any] | None, rules: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a policy, with the rules of the call over them."""
    table = dict(read_policy(to_read(policy)) if isinstance(policy, str | Path) else policy or {})
    for name, value in rules.items():
        extend_policy(table, TABLES.get(name, "rules"), value if name in TABLES else {name: value})
    return table
