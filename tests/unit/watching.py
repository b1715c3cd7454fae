"""A meter of memory: for code that runs in a process of its own, where nothing that was freed before is used again."""

import re
import threading
from pathlib import Path


def anonymous():
    """MB of memory that is the process's own; pages of mapped files are the system's to take back."""
    return int(re.search(r"RssAnon:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1024


def peak(function):
    """MB that a call took at most beyond what was there before it."""
    before, seen, done = anonymous(), [0.0], threading.Event()

    def watch():
        while not done.wait(0.002):
            seen.append(anonymous())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return max(seen) - before
