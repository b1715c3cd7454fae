"""The workers of a Ray cluster: how many there is room for, what each of them does, and what happens when one dies."""

import queue
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from gfscore.engines.messages import Message, Sender
from gfscore.engines.workers import ShardWorker
from gfscore.errors import first_line

LOOK = 1.0  # seconds between two looks at the nodes
GLANCE = 0.01  # seconds after which new tasks are looked for while a worker has nothing to do
FRUITLESS = 5  # workers in succession that died before they did anything
ROUNDING = 1e-9  # of a number of workers
LOCAL, AUTO = "local", "auto"

Inbox = queue.SimpleQueue[Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Where to compute, and what is the same for all that is computed."""

    address: str
    workers: int | None
    threads: int
    gpus_per_actor: float
    work: Mapping[str, Any]  # as a :class:`~gfscore.engines.workers.Work` gives it
    folder: str = ""  # where a cluster of our own keeps its files


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Some rows of a job."""

    number: int
    job: int
    rows: tuple[int, int] | list[int]
    payload: bytes


class Nodes:
    """How many workers the nodes that are alive could hold, and how many nodes were lost."""

    def __init__(self, ray: Any, order: Order) -> None:
        self._ray, self._order = ray, order
        self._seen = set[str]()
        self.room = self.lost = 0

    def look(self) -> None:
        """See how things are; an error where the node that knows all others is gone."""
        nodes = self._ray.nodes()
        alive = {node["NodeID"]: node["Resources"] for node in nodes if node["Alive"]}
        self._seen |= alive.keys()
        self.lost = len(self._seen - alive.keys())
        self.room = sum(self._held(has) for has in alive.values())

    def _held(self, has: Mapping[str, float]) -> int:
        order = self._order
        by_cpu = int(has.get("CPU", 0) // order.threads)
        # not //: 1 // 0.2 is 4, as the double 0.2 is a little more than a fifth
        by_gpu = int(has.get("GPU", 0) / order.gpus_per_actor + ROUNDING) if order.gpus_per_actor else by_cpu
        return min(by_cpu, by_gpu)

    @property
    def size(self) -> int:
        """As many workers as are asked for, and find room."""
        return min(self._order.workers or self.room, self.room)

    @property
    def too_small(self) -> str:
        """What is said where there is no room for any worker."""
        order = self._order
        need = f"{order.threads} CPUs" + (f" and {order.gpus_per_actor:g} GPUs" if order.gpus_per_actor else "")
        return f"no node of the Ray cluster has {need} for a worker. Ask for less, or add a node."


@dataclass(slots=True)
class Crew:
    """The workers, and what each of them does.

    A worker that died is replaced where there is room for another, and its task is given to the next that is free. That
    there is an end, with a task that kills workers over and over again, is up to
    :class:`~gfscore.engines.workers.ShardWorker`.
    """

    ray: Any
    order: Order
    nodes: Nodes
    sender: Sender
    jobs: dict[int, Any] = field(default_factory=dict)  # references to what workers are told of each
    waiting: deque[Task] = field(default_factory=deque)
    idle: list[Any] = field(default_factory=list)
    starting: dict[Any, Any] = field(default_factory=dict)  # by the reference to the answer that is waited for
    busy: dict[Any, tuple[Any, Task]] = field(default_factory=dict)
    said: tuple[int, int, int] | None = None
    fruitless: int = 0

    def serve(self, inbox: Inbox) -> None:
        """Compute what comes in until the end is asked for."""
        while self._take_in(inbox):
            self._hire()
            while self.waiting and self.idle:
                self._give(self.idle.pop(), self.waiting.popleft())
            self._report()
            under_way = [*self.busy, *self.starting]
            if under_way:
                pause = GLANCE if self.idle else LOOK
                ready, _ = self.ray.wait(under_way, num_returns=1, timeout=pause)
                for reference in ready:
                    self._back(reference)

    def _take_in(self, inbox: Inbox) -> bool:
        """Everything that has come; waits for something where nothing else is to be done."""
        nothing = not (self.busy or self.starting or self.waiting)
        while nothing or not inbox.empty():
            try:
                head, payload = inbox.get(timeout=LOOK)
            except queue.Empty:
                self._report()
                continue
            nothing = False
            match head:
                case {"end": _}:
                    return False
                case {"task": number, "job": job, "rows": rows}:
                    self.waiting.append(Task(number=number, job=job, rows=_rows(rows), payload=payload))
                case {"job": number, "says": says}:
                    self.jobs[number] = self.ray.put({**says, "content": payload})
        return True

    def _hire(self) -> None:
        """Start as many workers as there is room and work for; those that find none any more are given up."""
        crew, needed = len(self.idle) + len(self.busy) + len(self.starting), len(self.waiting) + len(self.busy)
        for _ in range(crew, min(self.nodes.size, needed)):
            # the folder of a cluster of our own is deleted with it; on other nodes each worker tidies up after itself
            work = {**self.order.work, "notes": self.order.folder if self.order.address == LOCAL else None}
            hired = self.ray.remote(
                num_cpus=self.order.threads, num_gpus=self.order.gpus_per_actor or None, max_restarts=0
            )(ShardWorker).remote(work)
            self.starting[hired.ready.remote()] = hired
        for reference in list(self.starting)[: max(0, crew - max(1, self.nodes.size))]:
            self._dismiss(self.starting.pop(reference))

    def _give(self, worker: Any, task: Task) -> None:
        reference = worker.answer.remote(self.jobs[task.job], task.number, task.rows, task.payload)
        self.busy[reference] = (worker, task)

    def _back(self, reference: Any) -> None:
        """Take what a worker has to say, or note that it died."""
        errors = self.ray.exceptions
        worker, task = self.busy.pop(reference) if reference in self.busy else (self.starting.pop(reference), None)
        try:
            answer = self.ray.get(reference)
        except errors.RayTaskError:  # of our own code: nobody else would fare better
            raise
        except errors.RayError as error:
            self._dismiss(worker)
            if task is not None:
                self.waiting.appendleft(task)
                return
            self.fruitless += 1
            if self.fruitless >= FRUITLESS + self.nodes.lost:
                self.sender.end("failed", f"workers do not start: {type(error).__name__}: {first_line(error)}")
            return
        self.fruitless = 0
        self.idle.append(worker)
        if task is not None:
            said = asdict(answer)
            content = said.pop("content")
            self.sender.send({"task": task.number, **said}, content)

    def _dismiss(self, worker: Any) -> None:
        with suppress(Exception):  # it is gone already
            self.ray.kill(worker)

    def _report(self) -> None:
        """Say how many workers there are and could be, and how many nodes were lost, when that has changed."""
        now = (len(self.idle) + len(self.busy), self.nodes.size, self.nodes.lost)
        if now != self.said:
            self.said = now
            self.sender.send(dict(zip(("workers", "room", "lost"), now, strict=True)))


def _rows(rows: Mapping[str, Any]) -> tuple[int, int] | list[int]:
    return list(rows["list"]) if "list" in rows else (rows["start"], rows["stop"])
