"""Several runs on one store, and stores that vanish: computed once, the same numbers for all, nobody stuck."""

import shutil
import time

from catalogue import cases
from jobs import JOBS, check_nothing_half_written, check_the_same_in_the_end, prepared, results

SLOW = {"kind": "model", "call": 6, "action": "slow", "from_then_on": True}  # after the guards


def named(job, out):
    """The same job with results in another folder."""
    return [out + argument[3:] if argument.startswith("out") else argument for argument in JOBS[job]]


def twice(expected):
    """What that writes."""
    return {name.replace("out/", "two/"): content for name, content in expected.items() if name.startswith("out/")}


@cases("two runs on one entry")
def test_two_runs_on_one_entry(zygote, undisturbed, tmp_path, case):
    """The second waits, says so, and computes nothing."""
    prepared(tmp_path, case.job)
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "work").symlink_to(tmp_path / "work")
    first = zygote.start(case.job, tmp_path, {**SLOW, "seconds": {"audit": 0.05, "gate": 1.0}[case.job]})
    while not [*tmp_path.glob("work/store/*/*/lock"), *tmp_path.glob("work/store/gate/*/scores.bin")]:
        time.sleep(0.01)
    time.sleep(case.share / 5)
    second = zygote.wait(zygote.start(named(case.job, "two"), tmp_path / "second"))
    first = zygote.wait(first)
    assert (first.code, first.stderr) == (0, "")
    assert second.code == 0
    assert second.stderr.startswith("gfscore: waiting for another run that works on the same, in ")
    found, expected = results(tmp_path), undisturbed(case.job).results
    assert found == expected | twice(expected)


@cases("two runs on one store")
def test_two_runs_on_one_store(zygote, undisturbed, tmp_path, case):
    """Of other entries: neither waits."""
    prepared(tmp_path, "audit")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "work").symlink_to(tmp_path / "work")
    processes = [
        zygote.start("audit", tmp_path, {**SLOW, "seconds": 0.02}),
        zygote.start(named("radii", "two"), tmp_path / "second", {**SLOW, "seconds": 0.01 * case.share}),
    ]
    for process in processes:
        outcome = zygote.wait(process)
        assert (outcome.code, outcome.stderr) == (0, "")
    both = undisturbed("radii").results | undisturbed("audit").results
    both["two/audit.json"] = undisturbed("radii").results["out/audit.json"]
    assert results(tmp_path) == both


@cases("the store deleted")
def test_the_store_deleted_while_it_is_written(zygote, undisturbed, tmp_path, case):
    """One line, or none where nothing was lost by it; the next run begins anew."""
    process = zygote.start(case.job, prepared(tmp_path, case.job), {**SLOW, "seconds": 0.01})
    while not list((tmp_path / "work").glob(f"store/??/*/shard-00000{int(8 * case.share)}*")):
        time.sleep(0.002)
    shutil.rmtree(tmp_path / "work" / "store", ignore_errors=True)
    outcome = zygote.wait(process)
    assert outcome.code == 4
    assert "Run it again" in outcome.line or "run it again" in outcome.line
    check_the_same_in_the_end(zygote, tmp_path, case.job, undisturbed(case.job).results)


@cases("an entry deleted while a run waits for it")
def test_an_entry_deleted_while_a_run_waits_for_it(zygote, undisturbed, tmp_path, case):
    """Who waited makes it anew, under a lock that others can see."""
    prepared(tmp_path, case.job)
    for name in ("second", "third"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "work").symlink_to(tmp_path / "work")
    first = zygote.start(case.job, tmp_path, {**SLOW, "seconds": 0.02})
    time.sleep(0.2)
    second = zygote.start(named(case.job, "two"), tmp_path / "second")
    clear = zygote.start(["store", "clear", "--all", "--store", "store"], tmp_path / "third")
    for process in (first, second):
        outcome = zygote.wait(process)
        # its logits may be deleted after they were finished and before they were read
        assert outcome.code == 0 or "logits.safetensors: " in outcome.stderr.splitlines()[-1]
    assert zygote.wait(clear).code == 0
    expected = undisturbed(case.job).results
    check_nothing_half_written(tmp_path, case.job, expected)
    assert zygote.run(named(case.job, "two"), tmp_path).code == 0
    check_the_same_in_the_end(zygote, tmp_path, case.job, expected | twice(expected))
