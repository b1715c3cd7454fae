"""How what is asked of a model reaches a worker: as plain values, with bytes for some rows where they need more."""

import json
import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import fields
from importlib import import_module
from typing import Any, Generic, Protocol, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from safetensors.numpy import load, save

Part = TypeVar("Part")  # what is computed for some rows
Progress = Callable[[int, int], None]  # how much is done, and of how much
TEXTS = "texts"  # beside arrays
ROOM = "gfscore."  # what a worker makes comes from here


class Sendable(ABC, Generic[Part]):
    """A dataclass that a worker can make again, and whose results can come back.

    Fields that are numbers, texts, dataclasses of these, or arrays of integers are sent as they are. What has others
    says itself what is sent, and what rows need beside it.
    """

    def sent(self) -> dict[str, Any]:
        """Plain values, for JSON, from which :meth:`received` makes what computes alike."""
        return {each.name: _plain(getattr(self, each.name)) for each in fields(self) if each.init}  # type: ignore[arg-type]

    def payload(self, rows: Any) -> bytes:
        """What a worker must know of some rows beside the run and :meth:`sent`."""
        del rows
        return b""

    @classmethod
    def received(cls, said: Mapping[str, Any], run: Any, rows: Any, payload: bytes) -> Self:
        """On a worker: what computes for these rows of the run what the sender would have computed."""
        del run, rows, payload
        hints = get_type_hints(cls)
        return cls(**{name: _made(hints[name], value) for name, value in said.items()})

    @abstractmethod
    def to_bytes(self, part: Part) -> bytes:
        """What was computed, for the way from a worker."""

    @abstractmethod
    def from_bytes(self, content: bytes) -> Part:
        """What :meth:`to_bytes` gave."""


class Engine(Protocol):
    """What computes measures of a run elsewhere than in this process; :mod:`gfscore.engines.local` asks it."""

    @property
    def ahead(self) -> int:
        """Runs that should be begun before the one that is waited for is done."""

    def measured(self, run: Any, measure: Any, progress: Progress) -> Any:
        """The finished file of a measure that keeps rows."""

    def summed(self, run: Any, measure: Any, progress: Progress, look: Any) -> Any:
        """The sum of a measure that adds up."""

    def gathered(self, run: Any, measure: Any, rows: Any, progress: Progress) -> Any:
        """What is found in each piece of a list of rows."""

    def shard_by_shard(self, run: Any, measure: Any, sure: Sequence[int]) -> AbstractContextManager[Any]:
        """What gives one shard of a measure after the other."""

    def begin(self, run: Any, measure: Any, progress: Progress, look: Any, then: Callable[[Any], None] | None) -> None:
        """Begin with a measure that will be asked for, and call ``then`` once what it makes is there."""


def to_plain(measure: Sendable[Any]) -> dict[str, Any]:
    """A measure as plain values: where its class is, and what it says of itself."""
    kind = type(measure)
    return {"kind": f"{kind.__module__}:{kind.__qualname__}", "said": measure.sent()}


def from_plain(plain: Mapping[str, Any], run: Any, rows: Any, payload: bytes) -> Any:
    """What computes some rows of a run as the measure does that :func:`to_plain` was given."""
    module, _, name = plain["kind"].partition(":")
    if not module.startswith(ROOM):
        raise TypeError(f"{plain['kind']} is no measure of gfscore")
    kind = getattr(import_module(module), name)
    if not issubclass(kind, Sendable):
        raise TypeError(f"{plain['kind']} is no measure")
    return kind.received(plain["said"], run, rows, payload)


def pack(arrays: Mapping[str, NDArray[Any]], texts: Sequence[str] = ()) -> bytes:
    """Arrays by name, and texts, as one safetensors file."""
    written = np.frombuffer(json.dumps(list(texts)).encode(), dtype=np.uint8)
    return bytes(save({**{name: np.ascontiguousarray(each) for name, each in arrays.items()}, TEXTS: written}))


def unpack(content: bytes) -> tuple[dict[str, NDArray[Any]], list[str]]:
    """What :func:`pack` was given."""
    arrays = load(content)
    return arrays, json.loads(arrays.pop(TEXTS).tobytes())


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return TypeAdapter(type(value)).dump_python(value, mode="json")


def _made(annotation: Any, value: Any) -> Any:
    """A value of a field again; arrays are of integers."""
    choices = get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    if any(get_origin(each) is np.ndarray for each in choices):
        return None if value is None else np.asarray(value, dtype=np.int64)
    return TypeAdapter(annotation).validate_python(value)
