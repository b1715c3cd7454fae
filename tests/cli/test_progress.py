"""Bars: one a model, with what is measured, how fast, and how long it still takes; nothing cut, nothing in pipes."""

import io
import re
import sys

import pytest

from gfscore.cli.binding import Terminal
from gfscore.cli.screens import progress_bar

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
LONG = "a_rather_long_name_of_a_network_that_somebody_trained_last_year_with_many_words_v2"


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    for variable in ("CI", "GITHUB_ACTIONS", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def drawn(columns, moves):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "stderr", Screen())
        with progress_bar(quiet=False) as bar:
            moves(Terminal(bar, quiet=False), bar)
            bar.refresh()
            tasks = [(task.description, task.fields["what"], task.completed, task.total) for task in bar.tasks]
        return re.split(r"\r?\n|\r", ESCAPES.sub("", sys.stderr.getvalue())), tasks

    return drawn


def moves(terminal, bar):
    for name in ("trades", LONG):
        for what in ("logits", "radii"):
            moved = terminal.bar(name, what)
            for done in range(0, 50_001, 10_000):
                moved(done, 50_000)
                bar.refresh()


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_no_bar_is_wider_than_the_terminal_and_nothing_is_cut(screen, columns):
    lines, tasks = screen(columns, moves)
    assert max(map(len, lines)) <= columns
    assert not [line for line in lines if "…" in line]
    assert [task[:2] for task in tasks] == [
        ("trades", "radii"),
        (LONG, "radii"),
    ]  # one a model, of what is measured now


def test_a_bar_says_what_is_measured_and_how_fast(screen):
    lines, _ = screen(80, moves)
    assert any(re.search(r"^trades +logits +[━╸╺]+ +10000/50000 ", line) for line in lines)
    assert any(re.search(r"^trades +radii +━+ +50000/50000 +[\d,]+ images/s 0:00:00", line) for line in lines)
    narrow, _ = screen(60, moves)
    assert any(re.search(r"[\d,]+/s 0:00:00", line) for line in narrow)
    narrower, _ = screen(40, moves)
    assert any(re.search(r"50000/50000 0:00:00", line) for line in narrower)


def test_what_an_earlier_run_left_does_not_count_for_the_rate(screen):
    def resumed(terminal, bar):
        moved = terminal.bar("net", "votes")
        moved(900_000, 1_000_000)  # in no time at all: these were stored
        bar.refresh()

    lines, tasks = screen(80, resumed)
    assert tasks == [("net", "votes", 900_000, 1_000_000)]
    assert not [line for line in lines if "images/s" in line]
