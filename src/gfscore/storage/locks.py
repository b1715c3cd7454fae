"""Locks of whole files, by what the system has: they end with the process, however it ends."""

import errno
import os
import sys
import time
from typing import IO

PLACE = 0x7FFFFFFF  # the byte that Windows locks: far behind any content, as what is locked there cannot be read
PAUSE = 0.2  # seconds between two looks where the system cannot wait by itself
HELD = (errno.EACCES, errno.EDEADLK)  # what Windows says of a byte that somebody has locked


def lock_now(file: IO[bytes]) -> None:
    """Lock an open file for this process; a :class:`BlockingIOError` where another one has it."""
    if sys.platform == "win32":
        _lock_byte(file)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock_in_time(file: IO[bytes]) -> None:
    """Lock an open file, once whoever has it lets it go."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        return
    while True:
        try:
            _lock_byte(file)
        except BlockingIOError:
            time.sleep(PAUSE)
        else:
            return


def _lock_byte(file: IO[bytes]) -> None:
    import msvcrt

    before = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    os.lseek(file.fileno(), PLACE, os.SEEK_SET)
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    except OSError as error:
        if error.errno not in HELD:
            raise
        raise BlockingIOError(errno.EAGAIN, "locked by another process") from error
    finally:
        os.lseek(file.fileno(), before, os.SEEK_SET)
