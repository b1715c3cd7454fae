"""Forward passes on a Ray cluster: the shards of all models in one pool of workers, into the same store as a local run.

This process plans, holds the locks and writes every shard; workers compute, and know nothing of the store.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from gfscore.engines.homes import Home, Plan, Progress, RowsHome, Stored, SumHome, rows_home, sum_home
from gfscore.engines.loading import Loader, Loading, pairs
from gfscore.engines.ray_driver import LOCAL, Order
from gfscore.engines.workers import Job, Work
from gfscore.errors import InvalidInputError, ModelError, RunError, naming, require
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Logits, Run, Sums
from gfscore.storage.store import Store
from gfscore.summaries import Look, Summary

DRIVER = "gfscore.engines.ray_driver"
RESUMES = "What was computed is kept: run it again, and it goes on from there."
FRUITLESS = 3  # losses in succession between which nothing was computed
PATIENCE = 20  # seconds that the process that talks to Ray has for its end
SHORT = 40  # characters of a folder below which the names of Ray's sockets fit into their 107

Bars = Callable[[str], Progress]  # a progress bar for a name
Looks = Callable[[str], Look]  # what looks at the sum of a name
Whole = TypeVar("Whole")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where the workers are, and what each of them may use."""

    address: str = LOCAL  # "local" (a cluster of its own on this machine), "auto", or host:port
    workers: int | None = None  # as many as find room, by default
    gpus_per_actor: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A shard that a worker computed."""

    job: int
    shard: int
    content: bytes
    halved: int = 0  # batches that did not fit into its memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Task:
    """A plan, and what workers are told of it."""

    plan: Plan
    job: Job


def logits_on_ray(
    models: Sequence[str], data: Sequence[str], how: Loading, store: Store, cluster: Cluster, bars: Bars
) -> Iterator[tuple[Run, Stored]]:
    """Logits of every model on every data set, in this order, each as soon as it is finished.

    What :func:`~gfscore.engines.local.measured` does, and in the same entries of the store.
    """

    def home(plan: Plan) -> AbstractContextManager[RowsHome]:
        return rows_home(plan, store, bars(plan.name))

    loader = Loader(how, store, data=len(data), several=len(data) > 1)
    yield from _on_ray(loader, pairs(models, data), Logits(), home, cluster)


def summaries_on_ray(
    models: Sequence[str],
    data: Sequence[str],
    how: Loading,
    store: Store,
    cluster: Cluster,
    bars: Bars,
    sums: Sums,
    looks: Looks = lambda _name: lambda _so_far: None,
) -> Iterator[tuple[Run, Summary]]:
    """Summaries of the scores of every model on every data set: workers send sums, and no logits.

    What :func:`~gfscore.engines.local.summed` does, and in the same places of the store.
    """

    def home(plan: Plan) -> AbstractContextManager[SumHome]:
        return sum_home(plan, store, bars(plan.name), looks(plan.name))

    loader = Loader(how, store, data=len(data), several=len(data) > 1)
    yield from _on_ray(loader, pairs(models, data), sums, home, cluster)


def _on_ray(
    loader: Loader,
    specs: Sequence[tuple[str, str]],
    measure: Logits | Sums,
    home: Callable[[Plan], AbstractContextManager[Home[Any, Whole]]],
    cluster: Cluster,
) -> Iterator[tuple[Run, Whole]]:
    """Each run with what the shards of a measure make, as soon as none of them is missing."""
    tasks = [_task(loader.open(*pair), *pair, measure, cluster) for pair in specs]
    with _opened(tasks, home) as homes:
        for (model_spec, data_spec), filled in zip(
            specs, _filled(tasks, homes, loader.how, cluster, measure), strict=True
        ):
            yield loader.open(model_spec, data_spec), filled.whole()


def _task(run: Run, model_spec: str, data_spec: str, measure: Logits | Sums, cluster: Cluster) -> _Task:
    if run.model.fingerprint is None:
        with naming(run.name):
            raise ModelError("has no fingerprint, so a worker cannot tell whether it has the same. Run it locally.")
    there = replace(run, gpu=cluster.gpus_per_actor > 0)
    plan, probe = Plan.of(there, measure), there.check().probe
    return _Task(plan=plan, job=Job(model=model_spec, data=data_spec, recipe=plan.recipe, probe=to_bytes(probe).hex()))


@contextmanager
def _opened(
    tasks: Sequence[_Task], home: Callable[[Plan], AbstractContextManager[Home[Any, Whole]]]
) -> Iterator[list[Home[Any, Whole]]]:
    """The home of each task, locked by this process.

    Locks are taken in the order of the keys, so that two runs never wait for each other; and two names of one thing
    share a home.
    """
    with ExitStack() as locks:
        by_key = {task.plan.recipe.key: task.plan for task in tasks}
        homes = {key: locks.enter_context(home(by_key[key])) for key in sorted(by_key)}
        yield [homes[task.plan.recipe.key] for task in tasks]


def _filled(
    tasks: Sequence[_Task],
    homes: Sequence[Home[Any, Whole]],
    how: Loading,
    cluster: Cluster,
    measure: Logits | Sums,
) -> Iterator[Home[Any, Whole]]:
    """Each home in turn, once nothing is missing from it; meanwhile shards of all of them are computed."""
    jobs = {home: task.job for home, task in zip(homes, tasks, strict=True)}
    each = list(jobs)
    work = Work(
        jobs=tuple(jobs.values()),
        how=replace(how, threads=how.threads or 1, gpu=cluster.gpus_per_actor > 0),
        sums=measure if isinstance(measure, Sums) else None,
        folder=str(Path.cwd()),
        run=uuid.uuid4().hex,
    )
    with closing(_answers(each, work, cluster)) as answers:
        for home in homes:
            while home.missing:
                answer = next(answers)
                each[answer.job].take(answer.shard, measure.from_bytes(answer.content), halved=answer.halved)
            yield home
        for _ in answers:  # there is none: until Ray has ended well
            pass


def _answers(homes: Sequence[Home[Any, Any]], work: Work, cluster: Cluster) -> Generator[Answer, None, None]:
    """Everything that is missing. When nodes are lost, what is still missing is asked of those that are left."""
    first, fruitless = True, 0
    while missing := [(number, shard) for number, home in enumerate(homes) for shard in sorted(home.missing)]:
        order = Order(
            address=cluster.address,
            workers=cluster.workers,
            threads=work.how.threads or 1,  # and so many CPUs
            gpus_per_actor=cluster.gpus_per_actor,
            work=work.to_plain(),
            shards=missing,
        )
        yield from _round(order, first=first)
        first = False
        fruitless = fruitless + 1 if sum(len(home.missing) for home in homes) == len(missing) else 0
        if fruitless == FRUITLESS:
            raise RunError(f"the nodes of the Ray cluster are lost faster than they compute. {RESUMES}")


def _round(order: Order, *, first: bool) -> Iterator[Answer]:
    """What one process that talks to Ray brings home, until all is done or a node was lost."""
    require("ray", extra="ray", purpose="--engine ray")
    with _driver(order) as (out, log):
        while (message := _message(out)) is not None:
            said, content = message
            match said.pop("ended", None), said:
                case "done" | "shrunk", _:
                    return
                case "unusable", _ if first:
                    raise InvalidInputError(said["why"])
                case "unusable", _:  # it was usable before
                    raise RunError(f"the Ray cluster was lost ({said['why'].rstrip('.')}). {RESUMES}")
                case "failed", _:
                    raise RunError(f"Ray failed ({said['why']}). {RESUMES}")
                case _, {"error": str(error), "unusable": bool(unusable)} if error:
                    raise InvalidInputError(error) if unusable else RunError(error)
            yield Answer(job=said["job"], shard=said["shard"], content=content, halved=said["halved"])
        lines = log.read_text(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
    raise RunError(f"Ray ended before the run did ({last}). {RESUMES}")


def _message(out: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """The head of the next message and what follows it; None after the last, whole or not: one may be cut off."""
    line = out.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        head = json.loads(line)
        size = head.pop("size")
    except (ValueError, AttributeError, KeyError):  # no JSON, or not of ours: the process is beyond help
        return None
    content = out.read(size)
    return (head, content) if len(content) == size else None


@contextmanager
def _driver(order: Order) -> Iterator[tuple[IO[bytes], Path]]:
    """The process that talks to Ray: what it sends, and what it and Ray complain about. It ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="gfs-", dir=_short_folder()))
    log = folder / "log"
    try:
        with (
            log.open("wb") as complaints,
            subprocess.Popen(  # noqa: S603 (this Python, and a module of ours)
                [sys.executable, "-P", "-m", DRIVER],  # -P: a file ray.py in this folder is not Ray
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("GFSCORE_DEBUG") else complaints,
                start_new_session=True,  # Ctrl-C is for this process, which then ends that one and all it has started
            ) as process,
        ):
            to, back = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            try:
                to.write(json.dumps(asdict(replace(order, folder=str(folder)))).encode() + b"\n")
                to.flush()
                yield back, log
                with suppress(subprocess.TimeoutExpired):
                    process.wait(PATIENCE)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str | None:
    """The usual folder for temporary files, unless the name of a socket in it would be too long."""
    return None if len(tempfile.gettempdir()) < SHORT else "/tmp"  # noqa: S108 (mkdtemp makes one that is ours alone)
