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

from gfscore.engines.homes import Answer, Home, StoreHome, SumHome
from gfscore.engines.loading import Loaded, Loader, Loading, pairs
from gfscore.engines.local import Progress, about_run, check_run, recipe_for
from gfscore.engines.ray_driver import LOCAL, Order
from gfscore.engines.summarising import Score, Summed
from gfscore.engines.workers import Job, Work
from gfscore.errors import InvalidInputError, ModelError, RunError, naming
from gfscore.extras import require
from gfscore.inputs.probes import to_bytes
from gfscore.inputs.protocols import Dataset
from gfscore.inputs.store import Store
from gfscore.inputs.sum_log import SumLog
from gfscore.summaries import Look

DRIVER = "gfscore.engines.ray_driver"
RESUMES = "What was computed is kept: run it again, and it goes on from there."
FRUITLESS = 3  # losses in succession between which nothing was computed
PATIENCE = 20  # seconds that the process that talks to Ray has for its end
SHORT = 40  # characters of a folder below which the names of Ray's sockets fit into their 107

Bars = Callable[[str], Progress]  # a progress bar for a name
Looks = Callable[[str], Look]  # what looks at the sum of a name
H = TypeVar("H", bound=Home)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where the workers are, and what each of them may use."""

    address: str = LOCAL  # "local" (a cluster of its own on this machine), "auto", or host:port
    workers: int | None = None  # as many as find room, by default
    gpus_per_actor: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Planned:
    """A job, and what this process needs to know of it. Not the model: a leaderboard of them would not fit."""

    name: str
    job: Job
    data: Dataset
    about: dict[str, Any]


def logits_on_ray(
    models: Sequence[str], data: Sequence[str], how: Loading, store: Store, cluster: Cluster, bars: Bars
) -> Iterator[tuple[Loaded, Path]]:
    """Logits of every model on every data set, in this order, each as soon as it is finished.

    What :func:`~gfscore.engines.local.compute_logits` does, and in the same entries of the store.
    """

    def home(plan: _Planned) -> AbstractContextManager[StoreHome]:
        return _store_home(plan, store, bars)

    loader = Loader(how, data=len(data), several=len(data) > 1)
    planned = [_planned(loader.open(*specs), *specs, store, cluster) for specs in pairs(models, data)]
    with _opened(planned, home) as homes:
        for each in _filled(homes, how, cluster):
            yield loader.open(each.job.model, each.job.data), each.finished()


def summaries_on_ray(
    models: Sequence[str],
    data: Sequence[str],
    how: Loading,
    store: Store,
    cluster: Cluster,
    bars: Bars,
    score: Score,
    looks: Looks = lambda _name: lambda _so_far: None,
) -> Iterator[Summed]:
    """Summaries of the scores of every model on every data set: workers send sums, and no logits.

    What :func:`~gfscore.engines.summarising.summarise` does, and in the same places of the store.
    """

    def home(plan: _Planned) -> AbstractContextManager[SumHome]:
        names = plan.data.class_names
        log = SumLog(store.root, plan.job.recipe, asdict(score), looks(plan.name), class_names=names)
        return _sum_home(plan, log, bars)

    loader = Loader(how, data=len(data), several=len(data) > 1)
    planned = [_planned(loader.open(*specs), *specs, store, cluster) for specs in pairs(models, data)]
    with _opened(planned, home) as homes:
        for each in _filled(homes, how, cluster, score):
            loaded = loader.open(each.job.model, each.job.data)
            yield Summed(loaded=loaded, summary=each.log.summary)


def _planned(loaded: Loaded, model_spec: str, data_spec: str, store: Store, cluster: Cluster) -> _Planned:
    model, data = loaded.model, loaded.data
    if model.fingerprint is None:
        with naming(loaded.name):
            raise ModelError("has no fingerprint, so a worker cannot tell whether it has the same. Run it locally.")
    n_classes, probe = check_run(model, data, loaded.preprocessing)
    gpu = cluster.gpus_per_actor > 0
    recipe = recipe_for(model, data, loaded.preprocessing, loaded.batch_size, gpu=gpu)
    recipe = store.probed(recipe, model, probe)
    job = Job(model=model_spec, data=data_spec, n_classes=n_classes, recipe=recipe, probe=to_bytes(probe).hex())
    return _Planned(name=loaded.name, job=job, data=data, about=about_run(model, data, n_classes))


@contextmanager
def _store_home(plan: _Planned, store: Store, bars: Bars) -> Iterator[StoreHome]:
    entry = store.entry(plan.job.recipe, plan.about)
    with entry.locked():
        yield StoreHome(plan.job, bars(plan.name), entry, plan.data)


@contextmanager
def _sum_home(plan: _Planned, log: SumLog, bars: Bars) -> Iterator[SumHome]:
    with log:
        yield SumHome(plan.job, bars(plan.name), log)


@contextmanager
def _opened(planned: Sequence[_Planned], home: Callable[[_Planned], AbstractContextManager[H]]) -> Iterator[list[H]]:
    """The home of each job, locked by this process.

    Locks are taken in the order of the keys, so that two runs never wait for each other; and two names of one thing
    share a home.
    """
    with ExitStack() as locks:
        by_key = {plan.job.recipe.key: plan for plan in planned}
        homes = {key: locks.enter_context(home(by_key[key])) for key in sorted(by_key)}
        yield [homes[plan.job.recipe.key] for plan in planned]


def _filled(homes: Sequence[H], how: Loading, cluster: Cluster, score: Score | None = None) -> Iterator[H]:
    """Each home in turn, once nothing is missing from it; meanwhile shards of all of them are computed."""
    each = list(dict.fromkeys(homes))
    work = Work(
        jobs=tuple(home.job for home in each),
        how=replace(how, threads=how.threads or 1, gpu=cluster.gpus_per_actor > 0),
        score=score,
        folder=str(Path.cwd()),
        run=uuid.uuid4().hex,
    )
    with closing(_answers(each, work, cluster)) as answers:
        for home in homes:
            while home.missing:
                answer = next(answers)
                each[answer.job].take(answer)
            yield home
        for _ in answers:  # there is none: until Ray has ended well
            pass


def _answers(homes: Sequence[Home], work: Work, cluster: Cluster) -> Generator[Answer, None, None]:
    """Everything that is missing. When nodes are lost, what is still missing is asked of those that are left."""
    first, fruitless = True, 0
    while missing := [(number, shard) for number, home in enumerate(homes) for shard in sorted(home.missing)]:
        order = Order(
            address=cluster.address,
            workers=cluster.workers,
            threads=work.how.threads or 1,  # and so many CPUs
            gpus_per_actor=cluster.gpus_per_actor,
            work=work.as_dict(),
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
