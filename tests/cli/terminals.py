"""Commands run in pseudo-terminals: what a person sees, whom pipes do not show.

:class:`Terminals` starts this file as a process that has loaded gfscore once and forks for every command. It reads a
JSON object a line ({"arguments", "folder", "columns", "environment", "press_when"}), runs the command in a terminal of
its own, and answers with its exit code and everything that it wrote.
"""

import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path

LIMIT = 180.0  # seconds that one command may take
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
PROMPT = "$ gfscore"  # above everything, where nothing may draw
SHOW_CURSOR, HIDE_CURSOR, CTRL_C = "\x1b[?25h", "\x1b[?25l", "\x03"


@dataclass(frozen=True)
class Seen:
    """What came of a command in a terminal."""

    code: int
    raw: str  # with all escape sequences

    @property
    def lines(self) -> list[str]:
        """Every line as it was written; one that was drawn over counts, too."""
        return re.split(r"\r?\n|\r", ESCAPES.sub("", self.raw))

    @property
    def text(self) -> str:
        """All of it, with single spaces."""
        return " ".join(" ".join(self.lines).split())

    @property
    def left(self) -> list[str]:
        """The lines that are on the screen in the end: what was drawn over or taken off is not."""
        lines, row, column = [""], 0, 0
        for piece in re.findall(r"\x1b\[1A|\x1b\[2K|[\r\n]|[^\r\n\x1b]+|\x1b\[[0-9;?]*[A-Za-z]", self.raw):
            if piece == "\r":
                column = 0
            elif piece == "\n":
                row += 1
                lines += [""] * (row == len(lines))
            elif piece == "\x1b[1A":
                row -= 1
            elif piece == "\x1b[2K":
                lines[row] = ""
            elif not piece.startswith("\x1b"):
                lines[row] = lines[row][:column].ljust(column) + piece + lines[row][column + len(piece) :]
                column += len(piece)
        return lines


class Terminals:
    """Runs commands in terminals of any width."""

    def __init__(self) -> None:
        command = [sys.executable, __file__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, arguments, folder, columns=80, press_when=None, **environment) -> Seen:
        """Run a command; Ctrl-C is pressed as soon as ``press_when`` is on the screen."""
        order = {
            "arguments": list(map(str, arguments)),
            "folder": str(folder),
            "columns": columns,
            "environment": environment,
            "press_when": press_when,
        }
        self.process.stdin.write(f"{json.dumps(order)}\n")
        self.process.stdin.flush()
        return Seen(**json.loads(self.process.stdout.readline()))

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def executed(arguments, folder, columns, **environment) -> Seen:
    """The same for any program, started as a shell starts it."""
    screen, inside = pty.openpty()
    _set_size(screen, columns)
    os.write(inside, f"{PROMPT}\n".encode())
    program = subprocess.Popen(
        arguments,
        cwd=folder,
        env={**_environment(), **environment},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    written = _watched(screen, program.pid)
    return Seen(program.wait(), written)


def _forked(order) -> Seen:
    """Run a command in a child of this process, with a terminal around it."""
    child, screen = pty.fork()
    if child == 0:
        _run_command(order)
    _set_size(screen, order["columns"])
    written = _watched(screen, child, order["press_when"])
    return Seen(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), written)


def _set_size(screen: int, columns: int) -> None:
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))


def _watched(screen: int, child: int, press_when: str | None = None) -> str:
    """Everything that a process writes to its terminal; one that takes too long is ended."""
    written, deadline = b"", time.monotonic() + LIMIT
    while True:
        ready, _, _ = select.select([screen], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        try:
            piece = os.read(screen, 1 << 16)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        written += piece
        if press_when is not None and press_when.encode() in written:
            os.write(screen, CTRL_C.encode())
            press_when = None
    os.close(screen)
    return written.decode(errors="backslashreplace")


def _environment() -> dict[str, str]:
    """Of a usual terminal: what a CI system sets for pipes would hide what is looked for."""
    unset = ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "CI", "GITHUB_ACTIONS")
    return {**{name: value for name, value in os.environ.items() if name not in unset}, "TERM": "xterm-256color"}


def _run_command(order) -> None:
    """What the child does; it ends here."""
    from gfscore.cli.main import main

    code = 98
    try:
        os.environ.clear()
        os.environ.update({**_environment(), **order["environment"]})
        os.chdir(order["folder"])
        _wait_for_size(order["columns"])
        os.write(1, f"{PROMPT}\n".encode())
        for name, descriptor in (("stdout", 1), ("stderr", 2)):
            raw = io.FileIO(descriptor, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", line_buffering=True))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["gfscore", *order["arguments"]]
        main()
    except SystemExit as end:
        code = int(end.code or 0)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _wait_for_size(columns: int) -> None:
    while os.get_terminal_size(1).columns != columns:
        time.sleep(0.001)


def serve() -> None:
    import scipy.stats  # noqa: F401 (loaded here, so that no run has to)

    import gfscore.inputs.models.onnx_model
    import gfscore.outputs.figures  # noqa: F401
    from gfscore.cli.main import application

    application()
    for line in sys.stdin:
        seen = _forked(json.loads(line))
        sys.stdout.write(f"{json.dumps({'code': seen.code, 'raw': seen.raw})}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.path.remove(str(Path(__file__).parent))
    serve()
