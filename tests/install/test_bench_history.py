"""Benchmarks over time: what is read, what counts as worse, and the page."""

import doctest
import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))
import history  # noqa: E402

PAGE = "## One\n\n| ratio |  |\n| --- | --: |\n| scoring / reading | {} |\n| a loop / scoring | {} (≥ 5 asked: met) |\n"


def test_the_ratios_of_the_page_that_is_kept_are_found():
    found = history.ratios((BENCHMARKS / "results.md").read_text(encoding="utf-8"))
    assert len(found) >= 8
    assert len([name for name in found if "loop / search" in name]) == 3, "of the head of a column"
    assert all(value > 0 for value in found.values())


def test_examples_in_the_script_are_right():
    done = doctest.testmod(history)
    assert (done.failed, done.attempted > 4) == (0, True)


@pytest.mark.parametrize(("scoring", "loop", "code"), [(1.19, 8.1, 0), (1.21, 10, 1), (1.0, 7.9, 1), (0.5, 20, 0)])
def test_a_fifth_worse_fails_in_either_direction(tmp_path, capsys, scoring, loop, code):
    written = tmp_path / "results.md"
    for night, (first, second) in enumerate([(1.0, 10), (1.0, 10), (9.0, 1)]):  # one odd night is not the median
        written.write_text(PAGE.format(first, second), encoding="utf-8")
        history.main(tmp_path / "nights", written, f"2026-01-0{night + 1}")
    written.write_text(PAGE.format(scoring, loop), encoding="utf-8")
    assert history.main(tmp_path / "nights", written, "2026-01-04") == code
    assert len(list((tmp_path / "nights").glob("*.json"))) == 4
    assert json.loads((tmp_path / "nights/2026-01-04.json").read_text())["One: a loop / scoring"] == loop


def test_the_page_draws_every_night(tmp_path):
    drawn = history.page({"2026-01-01": {"a: x / y": 1.0}, "2026-01-02": {"a: x / y": 2.0, "b: <z> / y": 1.0}})
    assert "<z>" not in drawn
    points = drawn.partition("points='")[2].partition("'")[0].split()
    assert points == ["10.0,50.0", "590.0,10.0"]


def test_a_single_night_and_a_night_that_failed_are_seen():
    one = history.page({"2026-01-01": {"a: x / y": 1.0}})
    assert one.count("<circle") == 1
    assert "stroke-dasharray" not in one, "nothing to be held against"
    assert "firebrick" not in one
    two = history.page({"2026-01-01": {"a: x / y": 1.0}, "2026-01-02": {"a: x / y": 0.79}})
    assert two.count("firebrick") == 1
    assert two.count("stroke-dasharray") == 1


def test_what_is_measured_no_longer_is_said(tmp_path, capsys):
    written = tmp_path / "results.md"
    written.write_text(PAGE.format(1, 10), encoding="utf-8")
    history.main(tmp_path / "nights", written, "2026-01-01")
    written.write_text("## One\n\n| ratio |  |\n| --- | --: |\n| scoring / reading | 1 |\n", encoding="utf-8")
    capsys.readouterr()
    assert history.main(tmp_path / "nights", written, "2026-01-02") == 0
    assert "One: a loop / scoring: no longer measured" in capsys.readouterr().out


def test_nights_are_taken_from_the_last_run_that_kept_some():
    """Not from the last run: one that failed before it kept anything would end the history."""

    def artefact(run, night, *, expired=False, branch="main"):
        ran = {"id": run, "head_branch": branch}
        return {"created_at": f"2026-01-{night:02}T03:00:00Z", "expired": expired, "workflow_run": ran}

    listed = [artefact(5, 5, expired=True), artefact(4, 4, branch="try"), artefact(2, 2), artefact(3, 3)]
    assert history.kept_by(listed, "main") == 3
    assert history.kept_by([], "main") is None


def test_a_page_without_ratios_is_told(tmp_path, capsys):
    (tmp_path / "results.md").write_text("nothing")
    assert history.main(tmp_path / "nights", tmp_path / "results.md", "2026-01-01") == 2
    assert "holds no ratio" in capsys.readouterr().out
