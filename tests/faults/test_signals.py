"""Runs that are ended from outside, at named points and at random moments: the next run goes on where they were."""

from catalogue import cases
from injected import POINTS
from jobs import check_nothing_half_written, check_the_same_in_the_end, happened, prepared

EXITS = {"kill": -9, "terminate": -15, "interrupt": 130}


def disturb(zygote, folder, case, expected):
    """Let the fault strike; a moment that came too late is tried again, earlier."""
    if not case.kind.endswith("moment"):
        index = int(case.share * expected.points[POINTS])
        fault = {"kind": "point", "events": POINTS, "index": index, "action": case.action}
        return prepared(folder / "once", case.job), zygote.run(case.job, folder / "once", fault)
    seconds = case.share * expected.seconds
    for attempt in range(20):
        fault = {"kind": "moment", "seconds": seconds * 0.8**attempt, "action": case.action}
        again = prepared(folder / str(attempt), case.job)
        outcome = zygote.run(case.job, again, fault)
        if happened(again) and outcome.code != 0:  # 0: the signal came while it was leaving
            return again, outcome
    raise AssertionError("the run always ended before the signal")


def check(zygote, undisturbed, tmp_path, case):
    expected = undisturbed(case.job)
    folder, outcome = disturb(zygote, tmp_path, case, expected)
    assert happened(folder)
    assert outcome.code == EXITS[case.action]
    assert outcome.stdout == ""
    assert outcome.stderr == ("gfscore: interrupted.\n" if case.action == "interrupt" else "")
    check_nothing_half_written(folder, case.job, expected.results)
    check_the_same_in_the_end(zygote, folder, case.job, expected.results)
    left = list((folder / "work").rglob(".*"))
    assert not [path for path in left if "store" in path.parts]  # what a killed writer left is swept
    assert not (left and case.action == "interrupt")


@cases("killed at a point")
def test_killed_at_a_point(zygote, undisturbed, tmp_path, case):
    check(zygote, undisturbed, tmp_path, case)


@cases("killed at a moment")
def test_killed_at_a_moment(zygote, undisturbed, tmp_path, case):
    check(zygote, undisturbed, tmp_path, case)


@cases("ended by SIGTERM")
def test_terminated(zygote, undisturbed, tmp_path, case):
    check(zygote, undisturbed, tmp_path, case)


@cases("Ctrl-C at a point")
def test_interrupted_at_a_point(zygote, undisturbed, tmp_path, case):
    check(zygote, undisturbed, tmp_path, case)


@cases("Ctrl-C at a moment")
def test_interrupted_at_a_moment(zygote, undisturbed, tmp_path, case):
    check(zygote, undisturbed, tmp_path, case)
