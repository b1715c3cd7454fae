"""Files written whole or not at all, files held by one process, and files as they were before they were opened."""

import errno
import hashlib
import logging
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gfscore.errors import FileError, MissingFileError, RunError
from gfscore.storage.addresses import redact
from gfscore.storage.locks import lock_in_time, lock_now
from gfscore.storage.object_stores import send

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # no room left: of the disk, of the quota, of the largest file
READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)  # by its permissions, or as it was mounted
NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)  # of disks that cannot be waited for
LOOKS, PAUSE = 20, 0.05  # at a lock before we say that we wait, and seconds between them

logger = logging.getLogger("gfscore")  # warnings reach standard error wherever nobody has set up logging


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place when the block ends well, and vanishes when not.

    A reader sees the old file or the new one, never a part of it, also after a power cut: what stands at ``path`` is on
    the disk. A link stays one: its target is replaced. What is
    neither a file nor a folder, such as ``/dev/stdout``, cannot be replaced: it is written to as it is. What is meant
    for an object store (:func:`gfscore.storage.to_write`) is sent there.
    """
    if path.exists() and not (path.is_file() or path.is_dir()):
        yield path
        return
    path = path.resolve()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    except (FileExistsError, NotADirectoryError) as error:
        raise FileError("cannot be written: its folder is a file. Choose another place.").found_in(path) from error
    except OSError as error:
        raise cannot_write(path, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp made it private; the result need not be
        _to_disk(temporary)  # or the name could be there after a crash of the machine, and the bytes not
        os.replace(temporary, path)  # noqa: PTH105 (Path.replace reads like str.replace)
        _to_disk(path.parent)  # which holds the name
        send(path)
    except IsADirectoryError as error:
        raise FileError("is a directory. Name a file in it.").found_in(path) from error
    except OSError as error:
        raise cannot_write(path, error, begun=True) from error
    finally:
        temporary.unlink(missing_ok=True)


def _to_disk(path: Path) -> None:
    """Wait until a file, or the names in a folder, have left the memory of the machine."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders, and writes names by itself
    descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise
    finally:
        os.close(descriptor)


def _umask() -> int:
    """The process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with atomic_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def cannot_write(path: Path, error: OSError, *, begun: bool = False) -> FileError | RunError:
    """Why a file cannot be written, in one line: a wrong place, or a disk that was full or failed once it was begun."""
    told = error.strerror or " ".join(str(error).split()).rstrip(".")
    if begun or error.errno in FULL:
        first = "Make room" if error.errno in FULL else "Mend this"
        return RunError(f"{path}: cannot be written ({told}). {first}, and run it again: what was finished is kept.")
    return FileError(f"cannot be written ({told}). Choose another place.").found_in(path)


def sweep(folder: Path, *names: str) -> None:
    """Remove what processes left beside these files when they were killed while they wrote; only for who holds them."""
    remove_where_allowed(path for name in names for path in folder.glob(f".{name}.*"))


def remove_where_allowed(paths: Iterable[Path]) -> None:
    """Remove files that nobody needs; in a folder, or on a disk, that may only be read they stay."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            if error.errno not in READ_ONLY:
                raise


def remove_held(path: Path, lock: str) -> None:
    """Delete a folder once nobody holds the file in it that is its lock."""
    with hold_file(path / lock, or_read=True):
        try:
            shutil.rmtree(path)
        except OSError as error:
            raise FileError(f"cannot be deleted ({error.strerror}). Check its permissions.").found_in(path) from error


def hold_file(path: Path, mode: str = "r+b", *, or_read: bool = False, wait: bool = True) -> IO[bytes]:
    """A file opened for this process alone, made with its folder where it is not: others wait, and soon say so.

    The lock ends with the process. A file that was deleted while we waited for it is made again. One that may only be
    read is held for that, where ``or_read`` says that it will do. Without ``wait`` one that others hold is a
    :class:`BlockingIOError`.
    """
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot_write(path.parent, error) from error
        only_read = or_read and path.exists() and not os.access(path, os.W_OK)
        try:
            file = open(path, "rb" if only_read else mode, buffering=0, opener=_open_or_make)  # noqa: SIM115
        except FileNotFoundError:
            continue  # the folder was deleted since it was made
        except OSError as error:
            raise cannot_write(path, error) from error
        _lock(file, path, wait=wait)
        if _stands_at(file, path):
            return file
        file.close()  # what we hold is no lock of what stands there now


def _open_or_make(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CREAT, 0o666)


def _lock(file: IO[bytes], path: Path, *, wait: bool) -> None:
    try:
        for _ in range(LOOKS):
            try:
                lock_now(file)
                return
            except BlockingIOError:
                if not wait:
                    raise
                time.sleep(PAUSE)
        logger.warning("gfscore: waiting for another run that works on the same, in %s", path.parent)
        lock_in_time(file)
    except BlockingIOError:
        file.close()
        raise
    except OSError as error:  # as on shared disks without a lock service
        file.close()
        told = f"cannot be locked ({error.strerror}), so two runs could mix. Choose a --store on another disk."
        raise FileError(told).found_in(path) from error


def _stands_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def refuse_unreadable(path: Path) -> None:
    """The plain reasons why a path cannot be a data file."""
    if not is_text(str(path)):
        raise FileError("has a name that is no UTF-8 text, so no result could name it. Rename it.")
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise MissingFileError("does not exist. Check the path.") from None
    except OSError as error:
        raise FileError(f"cannot be read ({error.strerror}). Check its permissions.") from error
    if stat.S_ISDIR(found.st_mode):
        raise FileError("is a directory. Name a file.")
    if not os.access(path, os.R_OK):
        raise FileError("cannot be read (Permission denied). Check its permissions.")
    if not stat.S_ISREG(found.st_mode):
        raise FileError("is a pipe or a device, which can be read once, if it ends. Save what comes from it as a file.")
    if found.st_size == 0:
        raise FileError("is empty (0 bytes). Write it again.")


def is_text(name: str) -> bool:
    r"""Whether a name of a file can be written down: Linux takes any bytes, and what is no UTF-8 cannot be.

    >>> is_text("café"), is_text(b"caf\xe9".decode(errors="surrogateescape"))
    (True, False)
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def sha256(path: Path) -> str:
    """Hash of a file's contents."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Watched:
    """Some files in the state they are in now. Made before they are opened, it tells what was read from what is there.

    A change shows in the inode, the size or the time of a file; one that is written in place, to the same size and
    within a tick of the clock, does not.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        self.states = {path: _state(path) for path in paths}

    def changed_file(self) -> Path | None:
        """A file that is not as it was."""
        return next((path for path, state in self.states.items() if _state(path) != state), None)

    def hashes(self) -> dict[Path, str]:
        """The hash of each file, which is that of whatever was read from it since; refused where one has changed."""
        refuse_changed(self)
        found = {path: sha256(path) for path in self.states}
        refuse_changed(self)
        return found


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:  # who opens it will say why
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns


def changed_file(part: object) -> Path | None:
    """A file behind a model or data that is not as it was when they were opened; what has no files never changes."""
    ask = getattr(part, "changed_file", None)
    return None if ask is None else ask()


def refuse_changed(*parts: object) -> None:
    """Stop before something is kept, or told, under the hash of files that are no longer what was read."""
    for path in filter(None, map(changed_file, parts)):
        raise RunError(
            f"{redact(path)} changed while it was read. Run it again, once nobody writes to it: it begins anew."
        )
