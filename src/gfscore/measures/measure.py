"""What a measure must say: what it computes for a piece of the data, what identifies it, and how it travels."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from safetensors.numpy import load, save

from gfscore.arrays import FloatArray
from gfscore.measures.run import Run

Part = TypeVar("Part")  # what is computed for one shard
RowsDone = Callable[[int], None]  # called with the rows of a shard that are done


class Measure(ABC, Generic[Part]):
    """Something that is asked of a model on data, shard by shard."""

    name: ClassVar[str]  # of what is stored

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any] | None:
        """What decides its values beside the run, for JSON; None for the logits, which the run alone decides."""

    @abstractmethod
    def rows_per_shard(self, run: Run) -> int:
        """Rows after which something is kept."""

    @abstractmethod
    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> Part:
        """Its values for some rows; what went on meanwhile is in the notes of the run."""

    @abstractmethod
    def to_bytes(self, part: Part) -> bytes:
        """What was computed, for the way from a worker."""

    @abstractmethod
    def from_bytes(self, content: bytes) -> Part:
        """What :meth:`to_bytes` gave."""


class RowMeasure(Measure[FloatArray]):
    """A measure with a row of float32 numbers for each sample."""

    @abstractmethod
    def columns(self, run: Run) -> int:
        """Numbers in a row."""

    def about(self, run: Run) -> dict[str, Any]:
        """What its entry in the store says to people."""
        return {"model": run.model.name, "data": run.data.source, "n": run.n_samples}

    def to_bytes(self, part: FloatArray) -> bytes:
        """The rows as a safetensors file."""
        return bytes(save({self.name: np.ascontiguousarray(part)}))

    def from_bytes(self, content: bytes) -> FloatArray:
        """What :meth:`to_bytes` gave."""
        return np.asarray(load(content)[self.name])
