"""Files written whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gfscore.errors import FileError
from gfscore.places.outgoing import send


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` that takes its place when the block ends well, and vanishes when not.

    A reader sees the old file or the new one, never a part of it. A link stays one: its target is replaced. What is
    neither a file nor a folder, such as ``/dev/stdout``, cannot be replaced: it is written to as it is. What is meant
    for an object store (:mod:`gfscore.places.outgoing`) is sent there.
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
        raise FileError(f"cannot be written ({error.strerror}). Choose another place.").found_in(path) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())  # mkstemp made it private; the result need not be
        os.replace(temporary, path)  # noqa: PTH105 (Path.replace reads like str.replace)
        send(path)
    except IsADirectoryError as error:
        raise FileError("is a directory. Name a file in it.").found_in(path) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _umask() -> int:
    """The process's umask; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
