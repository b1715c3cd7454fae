"""Ctrl-C while Python loads the command: one sentence and 130, whichever import it falls into; nothing is begun."""

import os
import random
import signal
import subprocess
import sys

import pytest

# As site customisation, so that it is there before the package: Ctrl-C at the n-th import since the command listens;
# without one, how many there were.
AT_AN_IMPORT = """
import os, signal, sys, atexit
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell would ignore it
seen, wanted = [], int(os.environ["STRIKE_AT"])
def watch(event, arguments):
    if event == "import" and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        seen.append(arguments[0])
        if len(seen) == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.addaudithook(watch)
atexit.register(lambda: wanted or sys.stdout.write(str(len(seen))))
"""
COMMAND = "import sys; sys.argv = ['gfscore', 'audit', 'm.npz', '--quiet']; from gfscore.__main__ import main; main()"


@pytest.fixture
def struck(tmp_path):
    """The command with Ctrl-C at its n-th import; 0: never."""
    (tmp_path / "sitecustomize.py").write_text(AT_AN_IMPORT)
    import numpy as np

    np.savez(tmp_path / "m.npz", logits=[[3.0, 1.0], [0.0, 1.0]] * 9, labels=[0, 1] * 9)

    def run(number):
        paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "STRIKE_AT": str(number), "PYTHONPATH": os.pathsep.join(paths)}
        words = [sys.executable, "-c", COMMAND]
        return subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return run


def moments(whole, tries):
    """Some of all imports: the first ones, where the command has nothing of its own yet, and any."""
    return [1, 2, 3, *random.Random(0).sample(range(4, whole), tries)]


@pytest.mark.parametrize("tries", [9, pytest.param(120, marks=pytest.mark.long)])
def test_ctrl_c_in_an_import_is_a_sentence(struck, tries):
    undisturbed = struck(0)
    assert undisturbed.returncode == 0, undisturbed.stderr
    whole = int(undisturbed.stdout)
    assert whole > 200
    for number in moments(whole, tries):
        done = struck(number)
        assert (number, done.returncode, done.stderr) == (number, 130, "gfscore: interrupted.\n")


def test_the_package_loads_nothing_before_the_command_listens():
    code = "import sys; before = set(sys.modules); import gfscore.__main__; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.split()) < 20
    assert {name for name in done.stdout.split() if name.startswith("gfscore")} == {
        "gfscore", "gfscore.__about__", "gfscore.__main__"
    }  # fmt: skip


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of Unix")
def test_behind_nohup_ctrl_c_stays_ignored(struck, tmp_path):
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + COMMAND.replace("; main()", "")
    shown = "\nimport gfscore.cli\ngfscore.cli.main = lambda: print(signal.getsignal(signal.SIGINT))\nmain()"
    done = subprocess.run([sys.executable, "-c", code + shown], capture_output=True, text=True, check=True)
    assert "SIG_IGN" in done.stdout or done.stdout.strip() == "1"
