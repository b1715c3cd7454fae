"""What a worker of a cluster does: opens models and data by their specs, and computes shards of them."""

import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from gfscore.__about__ import __version__
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import compute_shard
from gfscore.errors import GFScoreError, ModelError, OptionError, RunError
from gfscore.inputs.probes import GPU_TOLERANCE, TOLERANCE, distance, from_bytes
from gfscore.measures import Logits, Measure, Run, Sums
from gfscore.storage.store import Recipe

KEPT = 4  # models and data sets that a worker holds at once
TRIES = 3  # of a shard on one node, each of which ended with the death of the worker

Column = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A model on a data set, by their specs, and the recipe that says whether a worker has the same ones."""

    model: str
    data: str
    recipe: Recipe
    probe: str  # what the model makes of a few images where the run was started, in hexadecimal digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Everything that a worker must know."""

    jobs: tuple[Job, ...]
    how: Loading
    sums: Sums | None = None  # then shards are summarised, and their logits not sent
    folder: str  # in which relative paths and the user's modules are found
    run: str  # tells this run from all others
    notes: str | None = None  # a folder for the tries of shards, of this run alone; None: among the temporary files
    version: str = __version__

    def to_plain(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dict(TypeAdapter(Work).dump_python(self, mode="json"))

    @classmethod
    def from_plain(cls, said: Mapping[str, Any]) -> "Work":
        """What :meth:`to_plain` gave, if it was that of this version: others may say other things."""
        if said["version"] != __version__:
            raise OptionError(
                f"this is gfscore {__version__}, and the run was started with {said['version']}. Install the same "
                "version everywhere."
            )
        return TypeAdapter(cls).validate_python(said)


class ShardWorker:
    """Computes shards, a row of a Ray Data batch each: which job, which shard of it."""

    def __init__(self, work: Mapping[str, Any]) -> None:
        self._refused: GFScoreError | None = None
        try:
            self.work = Work.from_plain(work)
        except GFScoreError as error:  # to be told as an answer: Ray would start a worker that fails here for ever
            self._refused = error
            return
        if Path(self.work.folder).is_dir():
            os.chdir(self.work.folder)
        self._loader = Loader(self.work.how, models=KEPT, data=KEPT)
        self._measure: Measure[Any] = self.work.sums or Logits()
        self._rows = [job.recipe.shards() for job in self.work.jobs]

    def __call__(self, batch: dict[str, Column]) -> dict[str, Column]:
        """The shards that are asked for: their bytes, or in ``error`` why there are none."""
        asked = list(zip(batch["job"].tolist(), batch["shard"].tolist(), strict=True))
        answers = [self._answer(job, shard) for job, shard in asked]
        columns = zip(*answers, strict=True)
        names = ("content", "halved", "error", "unusable")
        made = {name: np.array(values, dtype=object) for name, values in zip(names, columns, strict=True)}
        return {"job": batch["job"], "shard": batch["shard"], **made}

    def _answer(self, number: int, shard: int) -> tuple[bytes, int, str, bool]:
        """Content, halved batches, error, and whether the error is about the input."""
        try:
            if self._refused is not None:
                raise self._refused
            with self._counted(number, shard):
                content, halved = self._shard(number, shard)
        except GFScoreError as error:  # in a line, and not as Ray would say it
            return b"", 0, f"on worker {socket.gethostname()}: {error}", not isinstance(error, RunError)
        return content, halved, "", False

    def _shard(self, number: int, shard: int) -> tuple[bytes, int]:
        job = self.work.jobs[number]
        run = self._loader.open(job.model, job.data)
        self._check(job, run)
        part, halved = compute_shard(run, self._measure, self._rows[number][shard])
        return self._measure.to_bytes(part), halved

    @contextmanager
    def _counted(self, number: int, shard: int) -> Iterator[None]:
        """Refuse a shard over which workers on this node have died again and again: Ray would try it for ever.

        A try is an empty folder that stays when the process is killed: making one follows no link and overwrites
        nothing, whatever others have put into a folder that is shared.
        """
        place = Path(self.work.notes or tempfile.gettempdir())
        tries = [place / f"gfscore-{self.work.run}-{number}-{shard}-{n}" for n in range(TRIES)]
        try:
            if not any(map(_made, tries)):
                job, rows = self.work.jobs[number], self._rows[number][shard]
                raise RunError(
                    f"{job.model}: {TRIES} processes died over rows {rows.start} to {rows.stop - 1} of {job.data}. "
                    "Look for a lack of memory there; what was finished before is kept."
                )
            yield
        finally:
            for folder in tries:
                with suppress(OSError):  # it was not made, or is not ours
                    folder.rmdir()

    def _check(self, job: Job, run: Run) -> None:
        """Refuse to compute anything else than what was planned."""
        found = run.parts()
        parts = {"model": f"model {job.model}", "data": f"data {job.data}", "preprocessing": "preprocessing"}
        others = [what for part, what in parts.items() if found[part] != getattr(job.recipe, part)]
        if not others:  # a fingerprint does not see everything
            planned = from_bytes(bytes.fromhex(job.probe))
            off = distance(planned, run.check().probe)
            others = [parts["model"]] if off > (GPU_TOLERANCE if run.gpu else TOLERANCE) else []
        if others:
            raise ModelError(
                f"{others[0]} is not the same here as where the run was started. Give every node the same files, and "
                "the same versions of what runs them."
            )


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True
