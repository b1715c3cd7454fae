"""What was done to a run after it was opened by its specs, so that a worker can do it again: rows taken, weights new.

A change travels as plain values, and as bytes where it is large; with the measure it is a part of what a worker is
asked for. Classes of changes live where they are made: a worker finds them by their names, as it does measures.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from gfscore.measures.sending import ROOM

if TYPE_CHECKING:
    from gfscore.measures.run import Run


class Change(ABC):
    """One thing that was done to a run."""

    @abstractmethod
    def sent(self) -> dict[str, Any]:
        """Plain values, for JSON."""

    def content(self) -> bytes:
        """What is too large for plain values."""
        return b""

    @classmethod
    @abstractmethod
    def received(cls, said: Mapping[str, Any], content: bytes) -> Self:
        """What :meth:`sent` and :meth:`content` were given by."""

    @abstractmethod
    def made(self, run: "Run") -> "Run":
        """The run after it."""


def pack_changes(changes: Sequence[Change]) -> tuple[list[dict[str, Any]], bytes]:
    """Changes as plain values, in their order, and all their bytes."""
    plain, contents = [], []
    for change in changes:
        kind, content = type(change), change.content()
        plain.append({"kind": f"{kind.__module__}:{kind.__qualname__}", "said": change.sent(), "size": len(content)})
        contents.append(content)
    return plain, b"".join(contents)


def make_changes(run: "Run", plain: Sequence[Mapping[str, Any]], content: bytes) -> "Run":
    """A run after the changes that :func:`pack_changes` was given."""
    start = 0
    for each in plain:
        module, _, name = each["kind"].partition(":")
        kind = getattr(import_module(module), name, None) if module.startswith(ROOM) else None
        if not (isinstance(kind, type) and issubclass(kind, Change)):
            raise TypeError(f"{each['kind']} is no change of a run")
        run = kind.received(each["said"], content[start : start + each["size"]]).made(run)
        start += each["size"]
    return run
