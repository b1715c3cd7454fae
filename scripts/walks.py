"""Print the walk of a command through the package: which files and named functions run, from the arguments to the end.

``python scripts/walks.py`` walks through five usual jobs and prints a table; ``python scripts/walks.py audit x.npz``
walks through one command and lists the files in the order in which they are entered.
"""

import contextlib
import io
import os
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import numpy as np

import gfscore
from gfscore.cli.main import run

PACKAGE = str(Path(gfscore.__file__).parent) + os.sep
NET = ["--model", "zoo:trades", "--data", "zoo:digits"]
WALKS = {
    "a logits file": ["audit", "logits.npz"],
    "first-order radii of a model": ["audit", *NET, "--score", "first-order", "--norm", "linf", "--n-per-class", "5"],
    "an adaptive gate": ["gate", *NET, "--wcr", "0.3", "--adaptive"],
    "two versions compared": ["compare", "logits.npz", "others.npz"],
    "a model's stream": ["audit", *NET, "--stream", "--n-per-class", "5"],
}


class Walk:
    """Files and functions of the package that ran, in the order in which they were entered."""

    def __init__(self) -> None:
        self.functions: dict[tuple[str, str], None] = {}

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and not code.co_name.startswith("<"):
            self.functions.setdefault((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for file, _ in self.functions))

    @property
    def rooms(self) -> set[str]:
        return {file.removesuffix(".py").partition(os.sep)[0] for file in self.files}


def walk(arguments: list[str]) -> Walk:
    """Run a command in silence and see where it went; imports do not count."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run(arguments)  # once before: what is imported late would be counted as a walk through it
        if code not in (0, 1, 3):
            raise SystemExit(f"gfscore {' '.join(arguments)} ended with {code}")
        seen = Walk()
        threading.setprofile(seen)
        sys.setprofile(seen)
        try:
            run([*arguments, "--store", "another"] if "--model" in arguments else arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return seen


def main() -> None:
    """Print the table, or the walk of the command that was given."""
    arguments = sys.argv[1:]
    if arguments:
        seen = walk(arguments)
        print(*seen.files, sep="\n")
        print(f"{len(seen.files)} files, {len(seen.functions)} functions, {len(seen.rooms)} rooms")
        return
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["GFSCORE_STORE"] = "store"
        rng = np.random.default_rng(0)
        labels = np.arange(600) % 3
        for name, gain in (("logits", 2), ("others", 1.5)):
            np.savez(f"{name}.npz", logits=rng.normal(size=(600, 3)) + gain * np.eye(3)[labels], labels=labels)
        print("| walk | files | functions | rooms |\n|---|--:|--:|--:|")
        for title, command in WALKS.items():
            seen = walk(command)
            print(f"| {title} | {len(seen.files)} | {len(seen.functions)} | {len(seen.rooms)} |", flush=True)


if __name__ == "__main__":
    main()
