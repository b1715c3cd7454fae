"""Every bad input: exit code 2, one exact line on standard error, no traceback, nothing half-written."""

import re
import subprocess
import sys

import pytest
from bad_inputs import CASES

from gfscore.cli.main import run


def everything_below(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, tmp_path, monkeypatch, capsys):
    build, message = CASES[name]
    monkeypatch.chdir(tmp_path)
    arguments = build(tmp_path)
    before = everything_below(tmp_path)
    assert run(arguments) == 2
    printed = capsys.readouterr()
    said = printed.err.replace(f"{tmp_path}/", "{folder}/")
    if "{theirs}" in message:
        assert re.fullmatch(re.escape(f"gfscore: {message}\n").replace(re.escape("{theirs}"), ".+"), said), said
    else:
        assert said == f"gfscore: {message}\n"
    assert printed.out == ""
    assert everything_below(tmp_path) == before


def test_the_real_command_says_the_same(tmp_path):
    build, message = CASES["nan"]
    command = [sys.executable, "-m", "gfscore", *build(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"gfscore: {message}\n".replace("{folder}/", f"{tmp_path}/")
    assert done.stdout == ""


def test_one_bad_file_among_good_ones_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    np.savez("good.npz", logits=[[3.0, 1.0], [0.0, 1.0]], labels=[0, 1])
    build, _ = CASES["nan"]
    _, bad = build(tmp_path)
    before = everything_below(tmp_path)
    assert run(["audit", "good.npz", bad, "--per-sample", "rows.csv"]) == 2
    assert everything_below(tmp_path) == before


def test_an_error_inside_is_a_line_and_exit_code_four(monkeypatch, capsys, tmp_path):
    def fail(*_args, **_kwargs):
        raise RuntimeError("boom")

    build, _ = CASES["nan"]
    monkeypatch.setattr("gfscore.jobs.sources.read_samples", fail)
    assert run(build(tmp_path)) == 4
    assert capsys.readouterr().err.startswith("gfscore: failed inside (RuntimeError: boom). Set GFSCORE_DEBUG=1")


def test_an_interrupt_is_exit_code_130(monkeypatch, capsys, tmp_path):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    build, _ = CASES["nan"]
    monkeypatch.setattr("gfscore.jobs.sources.read_samples", interrupt)
    assert run(build(tmp_path)) == 130
    assert capsys.readouterr().err == "gfscore: interrupted.\n"
