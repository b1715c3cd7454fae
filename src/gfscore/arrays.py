"""Arrays: their types, rows in chunks on all cores, memory that is used again, and arrays nobody may change."""

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
_Array = TypeVar("_Array", bound=NDArray[Any])
_Result = TypeVar("_Result")

CHUNK_VALUES = 1 << 18  # values looked at together: 2 MB in float64, which stays in a core's cache
_limit: list[int | None] = [None]  # threads that this process may use at most


def row_chunks(n_rows: int, n_columns: int, *, values: int = CHUNK_VALUES, shared: bool = False) -> Iterator[slice]:
    """Slices that cover the rows, as equal as can be, each of about ``values`` numbers.

    Chunks that cores share are a multiple of four, if more than one, so that no core is left waiting; not of the cores
    there are, since sums over chunks are to be the same on every machine.

    >>> list(row_chunks(7, 10, values=30))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    >>> len(list(row_chunks(7, 10, values=30, shared=True)))
    4
    """
    chunks = math.ceil(n_rows * n_columns / values)
    if shared and chunks > 1:
        chunks = math.ceil(chunks / 4) * 4
    chunks = min(n_rows, chunks)
    return (slice(n_rows * chunk // chunks, n_rows * (chunk + 1) // chunks) for chunk in range(chunks))


def limit_threads(threads: int | None) -> None:
    """Let :func:`map_chunks` use so many threads at most in this process; None: one a core."""
    _limit[0] = threads


def map_chunks(
    function: Callable[[slice], _Result], chunks: Sequence[slice], threads: int | None = None
) -> Iterator[_Result]:
    """What ``function`` gives for each chunk, in their order, computed on all cores (or ``threads`` of them).

    Threads suffice, since NumPy releases the interpreter's lock. This one works as well: to start another costs as much
    as scoring thousands of samples.
    """
    threads = min(threads or _limit[0] or os.cpu_count() or 1, len(chunks))
    if threads == 1:
        yield from map(function, chunks)
        return
    pending, done = deque(enumerate(chunks)), dict[int, _Result]()

    def step() -> bool:
        try:
            number, chunk = pending.popleft()
        except IndexError:
            return False
        done[number] = function(chunk)
        return True

    def work() -> None:
        while step():
            pass

    with ThreadPoolExecutor(threads - 1) as pool:
        try:
            helpers = [pool.submit(work) for _ in range(threads - 1)]
            shown = 0
            while step():
                while shown in done:
                    yield done.pop(shown)
                    shown += 1
            for helper in helpers:
                helper.result()
            yield from (done.pop(number) for number in range(shown, len(chunks)))
        finally:
            pending.clear()  # after an error, or when nobody wants the rest


class Scratch(threading.local):
    """Arrays that a thread fills again and again, by name: every fresh one would cost a page fault each 4 KB.

    >>> scratch = Scratch()
    >>> scratch.array("sums", (2, 3)).shape, scratch.array("sums", (1, 2)).base is scratch.array("sums", (2, 3)).base
    ((2, 3), True)
    """

    def __init__(self) -> None:
        self._kept: dict[str, NDArray[Any]] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """An array whose values are whatever was there before."""
        size, kept = math.prod(shape), self._kept.get(name)
        if kept is None or kept.size < size or kept.dtype != dtype:
            kept = self._kept[name] = np.empty(size, dtype)
        return kept[:size].reshape(shape)

    def rows(self, name: str, values: NDArray[Any], chosen: NDArray[np.bool_]) -> NDArray[Any]:
        """The chosen rows of a matrix."""
        places = np.flatnonzero(chosen)
        into = self.array(name, (len(places), values.shape[1]), values.dtype)
        return np.take(values, places, axis=0, out=into, mode="clip")  # clip: nothing is outside, nothing is buffered


def frozen(array: _Array) -> _Array:
    """A read-only view: the caller's own array stays writable."""
    view = array.view()
    view.setflags(write=False)
    return view
