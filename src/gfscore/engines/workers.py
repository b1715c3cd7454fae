"""What a worker of a cluster does: opens models and data by their specs, and computes measures of some rows."""

import hashlib
import os
import socket
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from gfscore.__about__ import __version__
from gfscore.arrays import IntArray, limit_threads
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import compute_shard
from gfscore.errors import GFScoreError, ModelError, OptionError, RunError
from gfscore.inputs.probes import GPU_TOLERANCE, TOLERANCE, distance, from_bytes
from gfscore.measures import Run
from gfscore.measures.changed_runs import make_changes
from gfscore.measures.sending import from_plain

KEPT = 4  # models and data sets that a worker holds at once
TRIES = 3  # of some rows on one node, each of which ended with the death of the worker


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A measure of a model on a data set, and what says whether a worker has the same model and data."""

    model: str
    data: str
    parts: Mapping[str, Any]  # as :meth:`Run.parts` gives them where the run was started
    probe: str  # what the model makes of a few images there, in hexadecimal digits
    measure: Mapping[str, Any]  # as :func:`~gfscore.measures.sending.to_plain` gives it
    changes: list[Any] = field(default_factory=list)  # made to the run, as pack_changes gives them
    content: bytes = b""  # of these

    def message(self) -> tuple[dict[str, Any], bytes]:
        """Plain values, for JSON, and what goes beside them."""
        said = asdict(self)
        content: bytes = said.pop("content")
        return said, content


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is the same for all jobs."""

    how: Loading
    folder: str  # in which relative paths and the user's modules are found
    run: str  # tells this command from all others
    notes: str | None = None  # a folder for the tries, of this command alone; None: among the temporary files
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a worker computed, or why it did not."""

    content: bytes = b""
    halved: int = 0  # batches that did not fit into its memory
    error: str = ""
    kind: str = ""  # of the error: the name of its class


class ShardWorker:
    """Computes measures of some rows."""

    def __init__(self, work: Mapping[str, Any]) -> None:
        self._refused: GFScoreError | None = None
        try:
            self.work = Work.from_plain(work)
        except GFScoreError as error:  # to be told as an answer: a worker that fails here would be started for ever
            self._refused = error
            return
        if Path(self.work.folder).is_dir():
            os.chdir(self.work.folder)
        limit_threads(self.work.how.threads)
        self._loader = Loader(self.work.how, models=KEPT, data=KEPT)
        self._changed = OrderedDict[Any, Run]()  # runs with changes, the last few

    def ready(self) -> bool:
        """Whether it is there: yes."""
        return True

    def answer(self, job: Mapping[str, Any], task: int, rows: list[int] | tuple[int, int], payload: bytes) -> Answer:
        """The measure of some rows, ``(start, stop)`` or a list of them; ``task`` is their number."""
        try:
            if self._refused is not None:
                raise self._refused
            asked = slice(*rows) if isinstance(rows, tuple) else np.array(rows, dtype=np.int64)
            with self._counted(Job(**job), task, asked):
                content, halved = self._compute(Job(**job), asked, payload)
        except GFScoreError as error:  # in a line, and not as Ray would say it
            return Answer(error=f"on worker {socket.gethostname()}: {error}", kind=_kind(error))
        return Answer(content=content, halved=halved)

    def _compute(self, job: Job, rows: slice | IntArray, payload: bytes) -> tuple[bytes, int]:
        run = self._open(job)
        self._check(job, run)
        measure = from_plain(job.measure, run, rows, payload)
        if isinstance(rows, slice):
            part, halved = compute_shard(run, measure, rows)
            return measure.to_bytes(part), halved
        part = measure.compute(run, rows)
        run.refuse_changed()
        return measure.to_bytes(part), 0  # nobody stores it

    def _open(self, job: Job) -> Run:
        """The run of a job, with its changes, of which the last few are kept: a network with other weights is large."""
        run = self._loader.open(job.model, job.data)
        if not job.changes:
            return run
        key = (job.model, job.data, repr(job.changes), hashlib.sha256(job.content).digest())
        if key not in self._changed:
            self._changed[key] = make_changes(run, job.changes, job.content)
            if len(self._changed) > KEPT:
                self._changed.popitem(last=False)
        return self._changed[key]

    @contextmanager
    def _counted(self, job: Job, task: int, rows: slice | IntArray) -> Iterator[None]:
        """Refuse rows over which workers on this node have died again and again: they would be tried for ever.

        A try is an empty folder that stays when the process is killed: making one follows no link and overwrites
        nothing, whatever others have put into a folder that is shared.
        """
        place = Path(self.work.notes or tempfile.gettempdir())
        tries = [place / f"gfscore-{self.work.run}-{task}-{n}" for n in range(TRIES)]
        try:
            if not any(map(_made, tries)):
                first, last = (rows.start, rows.stop - 1) if isinstance(rows, slice) else (rows[0], rows[-1])
                raise RunError(
                    f"{job.model}: {TRIES} processes died over rows {first} to {last} of {job.data}. "
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
        others = [what for part, what in parts.items() if found[part] != job.parts[part]]
        if not others:  # a fingerprint does not see everything
            planned = from_bytes(bytes.fromhex(job.probe))
            off = distance(planned, run.check().probe)
            others = [parts["model"]] if off > (GPU_TOLERANCE if run.gpu else TOLERANCE) else []
        if others:
            raise ModelError(
                f"{others[0]} is not the same here as where the run was started. Give every node the same files, and "
                "the same versions of what runs them."
            )


def _kind(error: GFScoreError) -> str:
    return next(kind.__name__ for kind in (ModelError, OptionError, RunError, GFScoreError) if isinstance(error, kind))


def _made(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True
