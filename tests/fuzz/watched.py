"""One attempt at one file, watched: an error that is none of ours, too long, or too much memory is a finding."""

import faulthandler
import re
import signal
import tempfile
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

from readers import Reader

from gfscore.errors import GFScoreError

SECONDS = 10  # of processor time: a busy machine is no finding
WAITS = 6  # times as long by the clock, for a reader that waits and computes nothing
BYTES = 300_000_000  # of memory that a file of a few kilobytes may make a reader ask of Python; an array may have 268
IN_ALL = 500_000_000  # that the process may grow by: native code unpacks in pieces, and keeps no second copy
KEPT = "gfscore-fuzz-"  # how the folder begins that is left when the process had to be ended


class TooLongError(Exception):
    """A reader that did not come back."""


class TooMuchMemoryError(Exception):
    """A reader that took more than such a file is worth."""


def attempt(reader: Reader, content: bytes) -> str:
    """Read the file; returns what the reader says, or "" when it takes it. Whatever it should not do is raised.

    Native code that hangs heeds no signal: then the whole process ends after twice the time that waiting may take, and
    leaves the file and a traceback in a folder of the system's temporary one.
    """

    def stop(number: int, _frame: object) -> None:
        raise TooLongError(f"{SECONDS} s of work" if number == signal.SIGPROF else f"{WAITS * SECONDS} s of waiting")

    with tempfile.TemporaryDirectory(prefix=KEPT) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about damaged files
        files = Path(folder) / "files"
        path = files / reader.name
        path.parent.mkdir(parents=True)
        reader.beside(files)
        path.write_bytes(content)
        with (Path(folder) / "traceback").open("w") as traceback:
            earlier = {number: signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGPROF)}
            signal.setitimer(signal.ITIMER_REAL, WAITS * SECONDS)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            before = resident_peak(forget=True)
            tracemalloc.start()  # before there is another thread: one that frees memory in that moment crashes Python
            faulthandler.dump_traceback_later(2 * WAITS * SECONDS, exit=True, file=traceback)
            try:
                reader.read(path)
                return ""
            except GFScoreError as error:
                message = str(error)
                assert "\n" not in message, "a message is one line"
                return message
            finally:
                for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
                    signal.setitimer(timer, 0)
                faulthandler.cancel_dump_traceback_later()
                for number, handler in earlier.items():
                    signal.signal(number, handler)
                asked, grown = tracemalloc.get_traced_memory()[1], resident_peak() - before
                tracemalloc.stop()
                if asked > BYTES or grown > IN_ALL:
                    raise TooMuchMemoryError(
                        f"{asked / 1e6:.0f} MB of Python, {grown / 1e6:.0f} MB in all, for {len(content):,} bytes"
                    )


def resident_peak(*, forget: bool = False) -> int:
    """Most bytes that this process ever had in memory, or, after ``forget``, since then (where Linux allows it)."""
    if forget:
        with suppress(OSError):  # without, only what exceeds an older peak is seen
            Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 0 if found is None else 1024 * int(found[1])
