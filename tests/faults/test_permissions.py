"""Folders that must not be written and files that must not be read: one line, and nothing is touched."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from catalogue import cases
from jobs import JOBS, check_nothing_half_written, check_the_same_in_the_end, happened, prepared

import gfscore


@pytest.fixture
def shared():
    """A folder that everybody may enter; pytest's own are for their owner alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    if os.getuid() == 0 and not all(parent.stat().st_mode & 0o001 for parent in Path(gfscore.__file__).parents):
        pytest.skip("run by an administrator, from a folder that nobody else may enter")
    yield folder
    shutil.rmtree(folder)


def open_to_all(folder):
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)


@cases("permission denied")
def test_permission_denied(zygote, undisturbed, shared, case):
    expected = undisturbed(case.job).results
    job = list(JOBS[case.job])
    prepared(shared, case.job)
    work = shared / "work"
    if case.action in ("entry", "file"):
        assert zygote.run(job, shared).code == 0
    (work / "store").mkdir(exist_ok=True)
    np.savez(work / "data.npz", images=np.zeros((20, 8, 8), np.uint8), labels=np.arange(20) % 10)
    open_to_all(shared)
    closed = {
        "store": (work / "store", 0o555),
        "entry": (next((work / "store").glob("??/*"), work), 0o555),
        "out": (work / "out", 0o555),
        "data": (work / "data.npz", 0o000),
        "file": (next((work / "store").glob("??/*/logits.safetensors"), work), 0o000),
    }
    path, mode = closed[case.action]
    if case.action == "data":
        job[job.index("zoo:digits")] = "data.npz"
    path.chmod(mode)
    for kept in path.glob("*") if case.action == "entry" else ():
        kept.chmod(0o444)
    outcome = zygote.run(job, shared, {"kind": "user"})
    assert happened(shared)
    # what is finished is used also where it may only be read; what cannot be read is made again where that may be done
    if case.action in ("entry", "file"):
        assert (outcome.code, outcome.stderr) == (0, "")
    else:
        assert outcome.code == 2
        assert "ermission denied" in outcome.line
        assert str(path.name) in outcome.line
    check_nothing_half_written(shared, case.job, expected)
    open_to_all(shared)
    (work / "data.npz").unlink()
    check_the_same_in_the_end(zygote, shared, case.job, expected)
