"""Clocks that run backwards: no number and no decision rests on the time of day."""

from catalogue import cases
from jobs import check_the_same_in_the_end, happened, prepared, results


@cases("a clock that runs backwards")
def test_a_clock_that_runs_backwards(zygote, undisturbed, tmp_path, case):
    fault = {"kind": "clock", **case.more}
    outcome = zygote.run(case.job, prepared(tmp_path, case.job), fault)
    assert (outcome.code, outcome.stderr) == (0, "")
    assert happened(tmp_path)
    assert results(tmp_path) == undisturbed(case.job).results
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)
