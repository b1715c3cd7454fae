"""The map in the docs is the house as it is, and the house keeps its own rules."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gfscore"
PAGE = ROOT / "docs" / "architecture.md"
MOST_LINES, MOST_IN_A_FUNCTION = 320, 60

sys.path.insert(0, str(ROOT / "scripts"))
import write_map  # noqa: E402


def modules():
    return sorted(SOURCE.rglob("*.py"))


def functions(path):
    """Every function with the lines of its body; its parameters, which a job has many of, do not count."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            yield node.name, node.end_lineno - node.body[0].lineno + 1


def test_the_map_is_complete_and_as_the_code_has_it():
    page = PAGE.read_text(encoding="utf-8")
    assert write_map.with_map(page) == page, "run python scripts/write_map.py --write"
    there = {path.stem if path.parent == SOURCE else path.relative_to(SOURCE).parts[0] for path in modules()}
    assert set(write_map.rooms()) == there - {"__init__", "__main__", "__about__"}


def test_every_file_that_a_walk_names_is_there():
    walks = PAGE.read_text(encoding="utf-8").split("## Three walks")[1]
    named = re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", walks)
    assert len(named) > 25
    assert [name for name in named if not (SOURCE / name).exists()] == []


@pytest.mark.parametrize("path", modules(), ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_modules_and_functions_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    assert [(name, lines) for name, lines in functions(path) if lines > MOST_IN_A_FUNCTION] == []


def test_no_two_modules_share_a_name():
    names = Counter(path.stem for path in modules() if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []
