"""A folder that one process at a time works on: locked, swept of what killed runs left, and labelled with what it is.

Entries of the store, scores of adaptive gates and sums of streams are such folders. Each is named by the hash of what
decides its contents, says so in a label for people, and is deleted only once nobody holds it.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, ClassVar, Self

from gfscore.files import held, make_folder, remove_held, sweep, write_text

LOCK = "lock"


class Journal:
    """One such folder; as a context, nobody else works on it."""

    label: ClassVar[str] = "about.json"
    lock: ClassVar[str] = LOCK  # the file that is held
    mode: ClassVar[str] = "r+b"  # in which that file is opened
    files: ClassVar[tuple[str, ...]] = ()  # names, or patterns, of what is written beside it

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self.path = path
        self.about = about  # what the label says

    @contextmanager
    def hold(self, *, or_read: bool = False) -> Iterator[IO[bytes]]:
        """The lock of the folder, which is made where it is missing; a second process waits here.

        The lock ends with the process, however it ends. ``or_read``: a folder that may only be read will do.
        """
        with held(self.path / self.lock, self.mode, lambda: make_folder(self.path), or_read=or_read) as file:
            sweep(self.path, self.label, *self.files)
            if not self.is_labelled():
                write_text(self.path / self.label, json.dumps(self.about, indent=1) + "\n")
            yield file

    def is_labelled(self) -> bool:
        """Whether the folder says what it is."""
        return (self.path / self.label).exists()

    def __enter__(self) -> Self:
        with ExitStack() as until_ready:
            self._begin(until_ready.enter_context(self.hold()))
            self._held = until_ready.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._held:
            self._end()

    def _begin(self, file: IO[bytes]) -> None:
        """Read what earlier runs left; ``file`` is the one that is held."""

    def _end(self) -> None:
        """Write what should be there for later ones."""


def remove_journals(root: Path, folder: str, lock: str = LOCK) -> int:
    """Delete all folders of one kind below a store, each once nobody works on it; says how many there were."""
    found = [path.parent for path in root.glob(f"{folder}/*/{lock}")]
    for path in found:
        remove_held(path, lock)
    return len(found)
