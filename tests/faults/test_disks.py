"""Disks that are full or fail: one line, exit code 4, the old files as they were, and the next run goes on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from catalogue import cases
from injected import MADE
from jobs import PAGE, check_nothing_half_written, check_the_same_in_the_end, happened, pages, prepared

SAID = {"full disk": "No space left on device", "quota": "Disk quota exceeded", "failing disk": "Input/output error"}


def check_at_point(zygote, undisturbed, folder, case):
    expected = undisturbed(case.job)
    index = int(case.share * expected.points[MADE])
    fault = {"kind": "point", "events": MADE, "index": index, "action": case.action}
    outcome = zygote.run(case.job, prepared(folder / "disturbed", case.job), fault)
    folder = folder / "disturbed"
    assert happened(folder)
    check_nothing_half_written(folder, case.job, expected.results)
    assert not list((folder / "work").rglob(".*"))  # no temporary file stays behind
    check_the_same_in_the_end(zygote, folder, case.job, expected.results)
    return outcome


@cases("no room at a point")
def test_no_room_at_a_point(zygote, undisturbed, tmp_path, case):
    outcome = check_at_point(zygote, undisturbed, tmp_path, case)
    assert outcome.code == 4
    assert f"cannot be written ({SAID[case.action]}). Make room, and run it again: what was finished is" in outcome.line


@cases("a disk that fails at a point")
def test_a_disk_that_fails_at_a_point(zygote, undisturbed, tmp_path, case):
    outcome = check_at_point(zygote, undisturbed, tmp_path, case)
    assert outcome.code in (2, 4)  # 2: it failed before anything was begun
    assert SAID[case.action] in outcome.line


@cases("small disk")
def test_a_disk_that_is_too_small(small_disks, undisturbed, tmp_path, case):
    expected = undisturbed(case.job).results
    folder = small_disks.seen(tmp_path)
    (folder / "work").mkdir()
    assert small_disks.ask(mount=str(folder / "work"), size=64 << 20, again=False) == 0
    before = pages(prepared(folder, case.job))
    room = before + int(case.share * (undisturbed(case.job).pages - before))  # too little for what will be there
    assert small_disks.ask(mount=str(folder / "work"), size=max(room, 1) * PAGE, again=True) == 0
    outcome = small_disks.run(case.job, folder)
    assert outcome.code == 4, outcome
    assert "(No space left on device). Make room, and run it again: what was finished is kept." in outcome.line
    check_nothing_half_written(folder, case.job, expected)
    assert not list((folder / "work").rglob(".*"))
    assert small_disks.ask(mount=str(folder / "work"), size=64 << 20, again=True) == 0
    check_the_same_in_the_end(small_disks, folder, case.job, expected)


@pytest.mark.parametrize("job", ["audit", pytest.param("gate", marks=pytest.mark.long)])
def test_a_full_disk_behind_standard_output(tmp_path, job):
    """Nothing is written but what is printed."""
    labels = np.arange(600) % 10
    logits = np.random.default_rng(0).normal(0, 2, (600, 10)) + 4 * np.eye(10)[labels]
    np.savez(tmp_path / "net.npz", logits=logits, labels=labels)
    command = [sys.executable, "-m", "gfscore", *(["audit"] if job == "audit" else ["gate", "--wcr", "0"]), "net.npz"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*command, "--json"], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert done.returncode == 4
    said = "gfscore: the output cannot be written (No space left on device). Make room, and run it again."
    assert done.stderr.splitlines() == [said]
