"""``--help``: what it shows of every command, and what options were called before."""

import re
import warnings

import pytest
import typer

from gfscore import plan
from gfscore.cli import help_screen
from gfscore.cli.binding import RENAMED
from gfscore.cli.help_screen import EXAMPLES
from gfscore.cli.main import COMMANDS, application, run
from gfscore.jobs.options import RADIUS_DEFAULTS
from gfscore.words import Panel

WITH_OPTIONS = [name for name in COMMANDS if name != "store"]
HELP_ALL = re.compile(r"^  (?:-\w, )?(--[a-z0-9-]+)", re.MULTILINE)


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    token = help_screen.everything.set(False)
    yield
    help_screen.everything.reset(token)


def shown(capsys, *arguments):
    assert run([*arguments]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_every_command_has_panels_examples_and_defaults(name, capsys):
    text = shown(capsys, name, "--help")
    assert [line for line in text.splitlines() if len(line) > 80 and not line.startswith("  gfscore ")] == []
    assert "range>" not in text
    assert "\nExamples\n  gfscore " in text
    titles = [line for line in text.splitlines() if line in list(Panel)]
    assert titles == [panel for panel in Panel if panel in titles]  # in their order
    assert "Usage: gfscore" in text
    everything = shown(capsys, name, "--help-all")
    assert set(HELP_ALL.findall(text)) <= set(HELP_ALL.findall(everything))


def test_experts_see_more(capsys):
    few, all_of_them = (set(HELP_ALL.findall(shown(capsys, "gate", flag))) for flag in ("--help", "--help-all"))
    assert {"--workers", "--permutations", "--round", "--interpolation"} <= all_of_them - few


def test_defaults_are_shown(capsys):
    text = " ".join(shown(capsys, "audit", "--help-all").split())
    for option, default in {
        "--activation": "softmax",
        "--temperature": "1",
        "--seed": "0",
        "--delta": "0.05",
        "--rivals": f"{RADIUS_DEFAULTS.rivals}",
        "--threads": "all cores",
        "--layout": "told by their shape",
        "--range": "0,1",
        "--out": "gfscore-audit",
        "--split": "test",
    }.items():
        assert re.search(rf"{option} [^\[]*(?:\[(?!default)[^\[]*)*\[default: {re.escape(default)}", text), option


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_examples_name_options_that_there_are(name, capsys):
    known = set(HELP_ALL.findall(shown(capsys, name, "--help-all")))
    used = set(re.findall(r"(?<= )--[a-z-]+", EXAMPLES[name]))
    assert used <= known


def test_the_page_of_all_commands_is_complete():
    command = typer.main.get_command(application())
    page = help_screen.page(command, typer.Context(command))
    for name in WITH_OPTIONS:
        assert f"## `gfscore {name}`" in page
    assert "## `gfscore store list`" in page
    assert "Judge models by a policy: exit code 0 for PASS, 1 for FAIL, 3 for UNDECIDED.\n" in page  # nothing is cut
    assert "`--workers N`: Ray workers that run models side by side. [default: as many as find room]" in page


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (["plan", "--classes", "10", "--radius", "0.1"], "--radius is now called --half-width"),
        (["plan", "--classes", "10", "--radius=0.1"], "--radius is now called --half-width"),
    ],
)
def test_old_names_are_understood_with_a_note(arguments, note, capsys):
    assert run(arguments) == 0
    printed = capsys.readouterr()
    assert printed.err == f"gfscore: {note}; the old name will go away.\n"
    assert run([argument.replace("--radius", "--half-width") for argument in arguments]) == 0
    assert capsys.readouterr() == (printed.out, "")


def test_each_name_has_one_meaning():
    application()
    assert RENAMED["table"] == {"--layout": "--rows"}
    assert RENAMED["calibrate"] == {"--format": "--model-format"}  # --range is that of pixels, as everywhere
    assert RENAMED["audit"] == {"--format": "--model-format"}


def test_old_names_in_python():
    with pytest.warns(DeprecationWarning, match="radius is now called half_width"):
        old = plan(radius=0.1, classes=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plan(half_width=0.1, classes=10) == old
