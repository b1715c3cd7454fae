"""The faults are as many, and of the kinds, that the documentation says."""

import ast
from collections import Counter
from pathlib import Path

from catalogue import CASES, table

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs" / "faults.md"
PROMISED = ("killed at a point", "small disk", "changed byte in a finished file", "a model that fails on a batch")


def test_there_are_as_many_as_promised():
    in_ci = [case for case in CASES if case.ci]
    assert len(CASES) >= 100
    assert len(in_ci) >= 10
    assert set(PROMISED) <= {case.kind for case in in_ci}


def test_each_fault_is_another():
    names = Counter((case.kind, case.name) for case in CASES)
    assert names.most_common(1)[0][1] == 1


def test_each_kind_is_injected_by_one_test():
    """No kind is only counted."""
    calls = [
        node
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cases"
    ]
    assert Counter(call.args[0].value for call in calls) == Counter({case.kind for case in CASES})


def test_the_documentation_has_these_numbers():
    assert table() in DOCS.read_text()
