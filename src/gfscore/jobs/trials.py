"""Trials: what a command would ask of a model, done for a few images, to say how long all of it would take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.measures import Run
from gfscore.storage.store import Store

SECONDS = 10.0  # that the trial of one measure may take
ENOUGH, PIECES = 1.0, 4  # seconds, and pieces of the largest size, after which a trial has seen enough
SPREAD = 0.25  # of the time, where a trial saw too few pieces to tell


@dataclass(slots=True)
class Stopwatch:
    """Wall and processor time of what runs inside its blocks, and how much work was done there."""

    seconds: float = 0.0
    cpu: float = 0.0
    work: float = 0.0  # passes, or images: whatever the time is proportional to
    images: int = 0
    correct: int = 0  # of them, where that is known
    standing: int = 0  # of the correct ones, that an attack would leave, by their radii
    likely: int = 0  # of the correct ones, that are likely to fall
    most: float = 0.0  # wall time, if nothing broke
    forward: int = 0  # passes, where nobody knows beforehand how many there are
    backward: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Time what happens inside."""
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - wall
            self.cpu += time.process_time() - cpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What is still to be done, in the unit that time is proportional to, and in passes."""

    work: float
    forward: int
    backward: int = 0
    are: str = "exact"
    most: tuple[int, int] | None = None  # passes and gradients, where they may be more than is estimated


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that would be asked of a model: what a trial does of it, and how much of it there is."""

    what: str
    images: int  # that it is asked of
    rows: IntArray  # of those of which it is not stored
    measure: Callable[[Run, Stopwatch], None]  # on a run of a few rows
    amount: Callable[["Tried"], Amount]
    bytes_written: int
    held: int = 0  # bytes of arrays that the run holds at once
    together: int = 2048  # images of a piece of a trial, at most
    first: int = 1  # images of the first piece: more, where a few say little of what many take
    stored: int | None = None  # images of which it is stored; None: all but ``rows``


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What a trial saw, piece by piece."""

    pieces: tuple[Stopwatch, ...] = field(default_factory=tuple)

    @property
    def images(self) -> int:
        """Of all pieces."""
        return sum(piece.images for piece in self.pieces)

    def per_image(self, name: str) -> float:
        """How much of something there was for each image: ``correct``, ``forward``, ``backward``, ``work`` and such."""
        return float(sum(getattr(piece, name) for piece in self.pieces) / max(self.images, 1))

    def per_correct(self, name: str) -> float:
        """How much of something there was for each image that is classified correctly."""
        correct = sum(piece.correct for piece in self.pieces)
        return float(sum(getattr(piece, name) for piece in self.pieces) / max(correct, 1))

    def seconds(self, work: float) -> tuple[float, float, float, float]:
        """Seconds that so much work would take; by the quickest and the slowest piece; and of all cores together.

        Time is a + b w in the work w of a piece, fitted to the larger pieces; the start a is there once.
        """
        done = [piece for piece in self.pieces if piece.work > 0]
        if not done or work <= 0:
            return 0.0, 0.0, 0.0, 0.0
        largest = max(piece.work for piece in done)
        wall, cpu = (_fitted(done, largest, name) for name in ("seconds", "cpu"))
        found = wall[0] + wall[1] * work
        last = [piece for piece in done if piece.work >= largest / 2]
        rates = [max(piece.seconds - wall[0], 0.0) / piece.work for piece in last]
        low, high = min(rates), max(rates)
        if len(last) < 2:
            low, high = (1 - SPREAD) * wall[1], (1 + SPREAD) * wall[1]
        ends = sorted((wall[0] + low * work, wall[0] + high * work))
        return found, min(ends[0], found), max(ends[1], found), cpu[0] + cpu[1] * work

    def most_seconds(self, work: float) -> float:
        """Seconds that so much work would take at most."""
        done = [piece for piece in self.pieces if piece.work > 0]
        if not done:
            return 0.0
        start, rate = _fitted(done, max(piece.work for piece in done), "most")
        return start + rate * work


def _fitted(done: list[Stopwatch], largest: float, name: str) -> tuple[float, float]:
    """Start and rate of the time of pieces, both at least 0: least squares over those that are not far smaller.

    The start is in every piece, so it is no longer than the quickest one: else a small piece that something held up
    would make large ones look as if they took nothing.
    """
    some = [piece for piece in done if piece.work >= largest / 8] or done
    work: FloatArray = np.array([piece.work for piece in some])
    taken: FloatArray = np.array([getattr(piece, name) for piece in some])
    rate = float(taken.sum() / work.sum())
    if work.max() < 2 * work.min():
        return 0.0, rate
    slope = float(np.polyfit(work, taken, 1)[0])
    start = float(taken.mean() - slope * work.mean())
    if slope <= 0 or start < 0:
        return 0.0, rate
    start = min(start, *(getattr(piece, name) for piece in done))
    return start, float((taken.mean() - start) / work.mean())


def try_out(run: Run, step: Step, seconds: float | None = None) -> Tried:
    """Do a step for a few random images, then for twice as many, and so on, for at most some seconds.

    Everything is kept in a folder that goes away. A piece is not begun that would take longer than what is left.
    """
    if len(step.rows) == 0:
        return Tried()
    seconds = SECONDS if seconds is None else seconds
    rng, pieces = np.random.default_rng(0), list[Stopwatch]()
    most, enough = min(step.together, len(step.rows)), 0
    size = min(step.first, most)
    with TemporaryDirectory(prefix="gfscore-trial-") as folder:
        warm = run.on_rows(_some(rng, run, step.rows, 1), Store(Path(folder) / "warm"))
        step.measure(warm, Stopwatch())  # imports, and what a model does once
        begun = time.perf_counter()
        while enough < PIECES:
            rows = _some(rng, run, step.rows, size)
            before, watch = time.perf_counter(), Stopwatch(images=len(rows))
            step.measure(run.on_rows(rows, Store(Path(folder) / str(len(pieces)))), watch)
            pieces.append(watch)
            now = time.perf_counter()
            enough += size == most and now - begun > ENOUGH
            larger = min(2 * size, most)
            if now - begun + (now - before) * larger / size > seconds:
                break
            size = larger
    return Tried(pieces=tuple(pieces))


def _some(rng: np.random.Generator, run: Run, rows: IntArray, size: int) -> IntArray:
    """Random rows, ascending; of data that are drawn in order, neighbours."""
    if run.data.seed is not None:
        first = int(rng.integers(0, len(rows) - size + 1))
        return rows[first : first + size]
    return np.sort(rng.choice(rows, size, replace=False))
