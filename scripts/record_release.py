"""Keep what this version writes, and what is public in it, as test data for all that come: ``tests/golden/released``.

Part of a release, once its version is set (``docs/releasing.md``). The files are small: eight digits a class. Too few
to show a repair, which is of made-up logits instead, where one class is said too seldom.
"""

import json
import os
import shutil
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from gfscore import __version__
from gfscore.cli.main import run
from public_interface import public_interface

RELEASED = Path(__file__).parents[1] / "tests" / "golden" / "released"
RUN = "--data zoo:digits --n-per-class 8 --store store"
COMMANDS = {  # what is kept, and what writes it
    "logits.safetensors": f"logits --model zoo:trades {RUN} -o logits.safetensors",
    "older.safetensors": f"logits --model zoo:standard {RUN} -o older.safetensors",
    "audit.json": f"audit --model zoo:trades --model zoo:awp {RUN} --calibrate classes --out .",
    "gate.json": "gate logits.safetensors --wcr 0.1 --rdi 1.1 --baseline older.safetensors --out gate",
    "comparison.json": "compare older.safetensors logits.safetensors --json",
    "calibration.json": "calibrate logits.safetensors older.safetensors --objective classes --json",
    "leaderboard.json": "leaderboard audit.json --json",
    "repair.json": "repair uneven.npz --json",
}
ELSEWHERE = {"gate.json": "gate/gate.json"}


def record(folder: Path) -> None:
    """Write everything into a folder that is not there yet."""
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        _save_uneven(Path("uneven.npz"))
        for name, command in COMMANDS.items():
            _run(name, command.split())
            shutil.copy(ELSEWHERE.get(name, name), folder / name)
    (folder / "public.json").write_text(json.dumps(public_interface(), indent=1) + "\n", encoding="utf-8")


def _save_uneven(path: Path) -> None:
    """Logits of three classes, the last of which are a constant too small."""
    labels = np.arange(3000) % 3
    logits = np.random.default_rng(0).normal(size=(3000, 3)) + 3 * np.eye(3)[labels] - [0, 0, 2.5]
    np.savez(path, logits=logits, labels=labels)


def _run(name: str, words: list[str]) -> None:
    """Run a command; what it prints is the file where it is asked for JSON."""
    prints = words[-1] == "--json"
    with Path(name if prints else os.devnull).open("w", encoding="utf-8") as out, redirect_stdout(out):
        code = run(words)
    if code not in (0, 1, 3):  # verdicts are results
        raise SystemExit(f"gfscore {' '.join(words)}: exit code {code}")


if __name__ == "__main__":
    record(RELEASED / __version__)
    print(f"kept: {RELEASED / __version__}")
