"""One attempt at one file, watched: an error that is none of ours, too long, or too much memory is a finding."""

import signal
import tempfile
import tracemalloc
import warnings
from pathlib import Path

from readers import Reader

from gfscore.errors import GFScoreError

SECONDS = 10
BYTES = 300_000_000  # of memory that a file of a few kilobytes may make a reader take


class TooLongError(Exception):
    """A reader that did not come back."""


class TooMuchMemoryError(Exception):
    """A reader that took more than such a file is worth."""


def attempt(reader: Reader, content: bytes) -> str:
    """Read the file; returns what the reader says, or "" when it takes it. Whatever it should not do is raised."""

    def stop(*_args: object) -> None:
        raise TooLongError(f"{SECONDS} s")

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about damaged files
        path = Path(folder) / reader.name
        reader.beside(Path(folder))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        earlier = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        tracemalloc.start()
        try:
            reader.read(path)
            return ""
        except GFScoreError as error:
            message = str(error)
            assert "\n" not in message, "a message is one line"
            return message
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, earlier)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            if peak > BYTES:
                raise TooMuchMemoryError(f"{peak / 1e6:.0f} MB for a file of {len(content) / 1e6:.3f} MB")
