"""Faults that a process does to itself, at points that the interpreter announces: no code of gfscore knows of them.

The points are audit events (https://docs.python.org/3/library/audit_events.html) on paths below the working folder.
"""

import errno
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

KILL, TERMINATE, INTERRUPT = "kill", "terminate", "interrupt"
SIGNALS = {KILL: signal.SIGKILL, TERMINATE: signal.SIGTERM, INTERRUPT: signal.SIGINT}
ERRORS = {"full disk": errno.ENOSPC, "quota": errno.EDQUOT, "failing disk": errno.EIO}
# What is announced while files are written; the first argument is a path.
POINTS = ("os.mkdir", "tempfile.mkstemp", "open", "os.rename", "os.remove")
MADE = POINTS[1:-1]  # where room is needed; a folder that is there already needs none
DONE = "fault.txt"  # written beside the work once the fault is there: no test passes because nothing happened


def inject(fault: dict[str, Any], folder: Path) -> None:
    """Prepare a fault, for this process and from now on."""
    {"point": _at_point, "model": _in_model, "clock": _clock, "user": _as_nobody}[fault["kind"]](fault, folder)


def note(folder: Path) -> None:
    """Say that the fault has happened; with nothing that is announced, or it would count as another point."""
    os.close(os.open(folder / DONE, os.O_CREAT | os.O_WRONLY))


def _at_point(fault: dict[str, Any], folder: Path) -> None:
    """Fail at the n-th point; with n = None only count them, into ``points.txt``."""
    seen = 0
    own = os.getpid()

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in fault["events"] or os.getpid() != own or not _below(arguments[0], folder):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        seen += 1
        if fault["index"] is None:
            (folder.parent / "points.txt").write_text(str(seen))
        elif seen == fault["index"] + 1:
            note(folder.parent)
            _act(fault["action"])

    sys.addaudithook(hook)


def _below(path: object, folder: Path) -> bool:
    return isinstance(path, str | os.PathLike) and (Path.cwd() / path).is_relative_to(folder)


def _act(action: str) -> None:
    if action in SIGNALS:
        os.kill(os.getpid(), SIGNALS[action])
    else:
        raise OSError(ERRORS[action], os.strerror(ERRORS[action]))


def _in_model(fault: dict[str, Any], folder: Path) -> None:
    """Let one call of the network end otherwise, or every call from then on."""
    from gfscore.inputs.models.onnx_model import OnnxModel

    sound, calls = OnnxModel.__call__, 0

    def odd(self: OnnxModel, inputs: Any) -> Any:
        nonlocal calls
        calls += 1
        logits = sound(self, inputs)
        if calls != fault["call"] and not (fault.get("from_then_on") and calls > fault["call"]):
            return logits
        note(folder.parent)
        match fault["action"]:
            case "raises":
                raise RuntimeError("out of luck\non two lines")
            case "slow":
                time.sleep(fault["seconds"])
            case "does not fit" if len(inputs) > fault.get("room", 0):
                raise MemoryError
            case "not a number" | "infinite":
                wrong = np.nan if fault["action"] == "not a number" else np.inf
                return np.where(np.arange(logits.shape[1]) == 3, wrong, logits)
            case "fewer classes":
                return logits[:, 1:]
        return logits

    OnnxModel.__call__ = odd  # type: ignore[method-assign]


def _clock(fault: dict[str, Any], folder: Path) -> None:
    """Let the time of day run backwards, from another century; every file made is from there, too."""
    moment = [float(fault["start"])]

    def backwards() -> float:
        moment[0] -= 3600.0
        return moment[0]

    time.time = backwards
    replace = os.replace

    def replaced(source: Any, target: Any) -> None:
        os.utime(source, (backwards(), backwards()))
        replace(source, target)

    os.replace = replaced  # type: ignore[assignment]
    note(folder.parent)


def _as_nobody(_fault: dict[str, Any], folder: Path) -> None:
    """Give up the rights of an administrator, for whom no file is unreadable."""
    note(folder.parent)
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
