"""Files as they were before they were opened: their hashes, and whether anybody has changed them since."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from gfscore.errors import RunError
from gfscore.places.addresses import shown


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


def changed_file(part: object) -> Path | None:
    """A file behind a model or data that is not as it was when they were opened; what has no files never changes."""
    ask = getattr(part, "changed_file", None)
    return None if ask is None else ask()


def refuse_changed(*parts: object) -> None:
    """Stop before something is kept, or told, under the hash of files that are no longer what was read."""
    for path in filter(None, map(changed_file, parts)):
        raise RunError(
            f"{shown(path)} changed while it was read. Run it again, once nobody writes to it: it begins anew."
        )


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:  # who opens it will say why
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
