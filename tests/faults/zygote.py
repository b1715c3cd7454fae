"""A process that has loaded gfscore once and forks for every command: a hundred runs take a minute, not ten.

Reads a JSON object a line: {"arguments", "folder", "fault"}. A fault of kind "moment" is a signal that is sent from
outside after some seconds, wherever the process is then; the others are in ``injected``. Answers with the id of the
process, and with its exit code (negative: the signal that ended it) when asked by {"wait": id}.
"""

import encodings.cp437  # noqa: F401 (of zip archives; a run without rights may not be able to load it)
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import scipy.interpolate
import scipy.stats  # noqa: F401 (loaded here, so that no run has to)
from injected import SIGNALS, inject, note

from gfscore.cli.main import application, run
from gfscore.measures import logits, slopes, summary_files, votes

SHARD_ROWS = 64
application()  # loads every command, for runs that may not be able to
TIMERS: dict[int, threading.Timer] = {}


def start(arguments: list[str], folder: str, fault: dict[str, Any] | None) -> int:
    """Fork, and run a command in its folder; what it prints goes to files beside that."""
    process = os.fork()
    if process:
        if fault and fault["kind"] == "moment":
            send = (process, fault["action"], Path(folder).parent)
            TIMERS[process] = threading.Timer(fault["seconds"], _signal, send)
            TIMERS[process].start()
        return process
    code = 99
    try:
        os.chdir(folder)
        beside = Path(folder).parent
        for descriptor, name in ((1, "stdout.txt"), (2, "stderr.txt")):
            os.dup2(os.open(beside / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        logits.SHARD_ROWS = slopes.SHARD_ROWS = SHARD_ROWS
        votes.SHARD_PASSES = 2000
        summary_files.SAVED_EVERY = 0.0  # seconds: the sum of a stream is kept after each shard
        sys.argv = ["gfscore", *arguments]
        if fault and fault["kind"] != "moment":
            inject(fault, Path(folder))
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def wait(process: int) -> int:
    """The exit code of a process; its id is free for others only once no signal is on its way to it."""
    os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)
    if process in TIMERS:
        timer = TIMERS.pop(process)
        timer.cancel()
        timer.join()
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def _signal(process: int, action: str, folder: Path) -> None:
    os.kill(process, SIGNALS[action])
    note(folder)


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        if "mount" in order:  # in a mount namespace of its own: a small disk
            options = f"{'remount,' if order['again'] else ''}size={order['size']}"
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", order["mount"]]
            answer: Any = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode
        elif "wait" in order:
            answer = wait(order["wait"])
        else:
            answer = start(order["arguments"], order["folder"], order["fault"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
