"""Models that fail on the way: the rows are named, what was finished is kept; what only lacks memory goes on."""

import json

import numpy as np
from catalogue import cases
from jobs import check_nothing_half_written, check_the_same_in_the_end, happened, prepared, results

CALLS = {
    "audit": (7, 60),
    "stream": (7, 60),
    "radii": (6, 60),
    "votes": (12, 60),
    "gate": (6, 9),
}  # forward passes: after the guards


def disturbed(zygote, folder, case):
    first, last = CALLS[case.job]
    call = int(first + case.share * (last - first))
    fault = {"kind": "model", "call": call, "action": case.action, **case.more}
    outcome = zygote.run(case.job, prepared(folder, case.job), fault)
    assert happened(folder)
    return outcome


def check_failed(zygote, undisturbed, folder, case, told):
    outcome, expected = disturbed(zygote, folder, case), undisturbed(case.job).results
    assert outcome.code == 4
    assert outcome.line.startswith("gfscore: standard failed on ")
    assert told in outcome.line
    assert outcome.line.endswith("What was finished before is kept: mend this, and run it again.")
    check_nothing_half_written(folder, case.job, expected)
    check_the_same_in_the_end(zygote, folder, case.job, expected)
    return outcome


@cases("a model that fails on a batch")
def test_a_model_that_fails_on_a_batch(zygote, undisturbed, tmp_path, case):
    told = {
        "raises": "(RuntimeError: out of luck)",
        "not a number": "(gives logits that are not finite; look for an overflow in it)",
        "infinite": "(gives logits that are not finite; look for an overflow in it)",
        "fewer classes": "(gives 9 logits per image here and 10 elsewhere)",
    }[case.action]
    outcome = check_failed(zygote, undisturbed, tmp_path, case, told)
    assert outcome.line.startswith(("gfscore: standard failed on rows ", "gfscore: standard failed on a batch of "))
    assert "on rows" in outcome.line or case.job not in ("audit", "gate")


@cases("an image that does not fit")
def test_an_image_that_does_not_fit(zygote, undisturbed, tmp_path, case):
    outcome = check_failed(zygote, undisturbed, tmp_path, case, "(MemoryError: MemoryError)")
    assert "standard failed on row " in outcome.line


@cases("a batch that does not fit")
def test_a_batch_that_does_not_fit(zygote, undisturbed, tmp_path, case):
    outcome, expected = disturbed(zygote, tmp_path, case), undisturbed(case.job).results
    assert (outcome.code, outcome.stderr) == (0, "")
    found = results(tmp_path)
    assert found.keys() == expected.keys()
    (model,), (before,) = (entry["out/audit.json"]["models"] for entry in (found, expected))
    flags = {flag["code"]: flag["message"] for flag in model["flags"]}
    assert flags.pop("halved_batches").startswith("1 batches did not fit" if "from_then_on" not in case.more else "")
    assert flags == {flag["code"]: flag["message"] for flag in before["flags"]}
    assert [entry["n"] for entry in model["classes"]] == [entry["n"] for entry in before["classes"]]
    for one, other in zip(model["classes"], before["classes"], strict=True):
        assert one["accuracy"] == other["accuracy"]
        np.testing.assert_allclose(one["score"], other["score"], rtol=0, atol=1e-5)
    again = zygote.run(case.job, tmp_path)  # from the store: the flag stays with the numbers
    assert (again.code, again.stderr) == (0, "")
    assert json.dumps(results(tmp_path)["out/audit.json"]) == json.dumps(found["out/audit.json"])
