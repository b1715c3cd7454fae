"""Rows of inputs in memory, in blocks.

Floats that are bytes divided by 255, as torchvision makes them of images, are kept as these bytes; and what would fill
the memory is kept in a temporary file.
"""

import tempfile
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK_BYTES = 1 << 26  # images are put together in blocks of about this size
MOST_BYTES = 1 << 30  # of blocks in memory; the others are in a temporary file
WHITE = 255


@dataclass(kw_only=True, eq=False)
class Pile:
    """Rows of inputs in blocks, all of one shape, with what is known of each."""

    source: str
    blocks: list[NDArray[Any]] = field(default_factory=list)
    labels: NDArray[Any] = field(default_factory=lambda: np.empty(0, np.int64))
    class_names: tuple[str, ...] | None = None
    fitted: bool = False  # whether rows have the shape that was asked for already

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row."""
        return tuple(self.blocks[0].shape[1:])

    @property
    def are_bytes(self) -> bool:
        """Whether all rows are whole numbers from 0 to 255."""
        return all(block.dtype == np.uint8 for block in self.blocks)

    def rows(self, rows: slice) -> NDArray[Any]:
        """Some rows: bytes, or floats where not all are bytes."""
        start, stop, _ = rows.indices(len(self))
        parts, first = [], 0
        for block in self.blocks:
            low, high = max(start - first, 0), min(stop - first, len(block))
            if low < high:
                parts.append(self._unified(block[low:high]))
            first += len(block)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _unified(self, rows: NDArray[Any]) -> NDArray[Any]:
        if rows.dtype != np.uint8 or self.are_bytes:
            return rows
        return rows.astype(np.float32) / np.float32(WHITE)  # bytes among floats were floats

    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value; those of bytes among floats as they were."""
        found = [(float(part.min()), float(part.max())) for part in map(self._unified, self.blocks)]
        return min(low for low, _ in found), max(high for _, high in found)


def compact(images: NDArray[Any], *, share: bool = False) -> NDArray[Any]:
    """Rows in the smallest type that holds them: bytes, also where they are whole numbers or divided by 255.

    An array that is the caller's own may be ``shared``: then floats stay floats.
    """
    if images.dtype == np.uint8:
        return images if share else np.array(images)
    if images.ndim in (3, 4) and images.dtype.kind in "iu" and images.min() >= 0 and images.max() <= WHITE:
        return images.astype(np.uint8)
    if images.dtype.kind != "f":
        return images if share else np.array(images)
    floats = images.astype(np.float32, copy=not share)
    if share or floats.ndim not in (3, 4) or not (floats.min() >= 0 and floats.max() <= 1):
        return floats
    whole = np.rint(floats * np.float32(WHITE))
    same = np.array_equal(whole / np.float32(WHITE), floats)
    return whole.astype(np.uint8) if same else floats


class Shelf:
    """Where batches become blocks: in memory as long as there is room, in a temporary file then."""

    def __init__(self, blocks: list[NDArray[Any]]) -> None:
        self._blocks, self._open, self._kept = blocks, list[NDArray[Any]](), 0

    def add(self, batch: NDArray[Any]) -> None:
        """Put a batch beside the others."""
        rows = compact(batch)
        if self._open and self._open[0].dtype != rows.dtype:
            self.close()
        self._open.append(rows)
        if sum(part.nbytes for part in self._open) >= BLOCK_BYTES:
            self.close()

    def close(self) -> None:
        """Make a block of what is there."""
        if not self._open:
            return
        block = np.concatenate(self._open)
        self._open = []
        self._kept += block.nbytes
        if self._kept > MOST_BYTES:
            with tempfile.TemporaryFile() as file:  # gone with the array that maps it
                mapped = np.memmap(file, dtype=block.dtype, shape=block.shape, mode="w+")
            mapped[:] = block
            block = mapped
        self._blocks.append(block)
