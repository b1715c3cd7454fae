"""The workers that a command has, for all models and measures at once: what is asked for goes first, nobody waits idle.

A process of its own talks to Ray (:mod:`gfscore.engines.ray_driver`). A thread hears what it says and hands out the
next tasks, also while this process computes something itself; what came is taken in by whoever waits for it.
"""

import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import uuid
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

from gfscore.engines.filling import Filling, Shards
from gfscore.engines.loading import Loading
from gfscore.engines.messages import Message, Sender, read_message
from gfscore.engines.ray_crew import LOCAL, Order
from gfscore.engines.workers import Work
from gfscore.errors import GFScoreError, InvalidInputError, ModelError, OptionError, RunError, require

DRIVER = "gfscore.engines.ray_driver"
RESUMES = "What was computed is kept: run it again, and it goes on from there."
PATIENCE = 20  # seconds that the process that talks to Ray has for its end
SHORT = 40  # characters of a folder below which the names of Ray's sockets fit into their 107
FIRST_TASKS = 8  # that are handed out before anybody knows how many workers there are
TASKS_EACH = 3  # that are handed out for each worker: one under way, the next at hand
UNTAKEN = 64  # answers that may wait in memory to be taken in

ERRORS: dict[str, type[GFScoreError]] = {"ModelError": ModelError, "OptionError": OptionError, "RunError": RunError}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where the workers are, and what each of them may use."""

    address: str = LOCAL  # "local" (a cluster of its own on this machine), "auto", or host:port
    workers: int | None = None  # as many as find room, by default
    gpus_per_actor: float = 0.0


class Driver:
    """The process that talks to Ray: what it is sent, what it says, and what it and Ray complain about."""

    def __init__(self, order: Order) -> None:
        require("ray", extra="ray", purpose="--engine ray")
        folder = Path(tempfile.mkdtemp(prefix="gfs-", dir=_short_folder()))
        self.log = folder / "log"
        with self.log.open("wb") as complaints:
            process = subprocess.Popen(  # noqa: S603 (this Python, and a module of ours)
                [sys.executable, "-P", "-m", DRIVER],  # -P: a file ray.py in this folder is not Ray
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("GFSCORE_DEBUG") else complaints,
                start_new_session=True,  # Ctrl-C is for this process, which then ends that one and all it has started
            )
        self._process, self.out = process, cast("IO[bytes]", process.stdout)
        self.kill = weakref.finalize(self, _end, process, folder)  # at the latest when this process ends
        said = json.dumps({**asdict(order), "folder": str(folder)}).encode() + b"\n"
        self._in = cast("IO[bytes]", process.stdin)
        with suppress(BrokenPipeError):  # what it has to say is heard when it is read
            self._in.write(said)
            self._in.flush()
        self._sender = Sender(self._in)

    def send(self, head: dict[str, Any], content: bytes = b"") -> None:
        """Ask for something; nothing happens where the process is gone, which is heard elsewhere."""
        with suppress(BrokenPipeError, ValueError):
            self._sender.send(head, content)

    def wait(self) -> None:
        """Give the process time for its end."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)

    def last_words(self) -> str:
        """The last line that it or Ray complained with."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")


def _end(process: "subprocess.Popen[bytes]", folder: Path) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:  # Windows has no groups of processes; what it has started hears of its end
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):
            cast("IO[bytes]", stream).close()
    shutil.rmtree(folder, ignore_errors=True)


class Pool:
    """One pool of workers, whatever it is asked for."""

    def __init__(self, cluster: Cluster, how: Loading, tell: Callable[[str], None] = lambda _text: None) -> None:
        self.cluster, self.how, self._tell = cluster, how, tell
        self._driver: Driver | None = None
        self._heard = queue.SimpleQueue[Message | None]()
        self._fillings = list[Filling]()  # with parts that nobody was asked for; what is waited for comes first
        self._known = dict[str, Shards[Any, Any]]()
        self._asked = dict[int, tuple[Filling, int]]()  # tasks that workers were asked for, by number
        self._numbers, self._jobs = itertools.count(), itertools.count()
        self._lock = threading.RLock()
        self._most, self._untaken, self._was_usable = FIRST_TASKS, 0, False
        self.workers = 1  # that are known to be there

    def known(self, key: str) -> Shards[Any, Any] | None:
        """What is under way to the home of that name."""
        return self._known.get(key)

    def add(self, filling: Filling) -> None:
        """Begin with something."""
        if isinstance(filling, Shards) and filling.key is not None:
            self._known[filling.key] = filling
        with self._lock:
            self._fillings.append(filling)
        self._hand_out()

    def wait_for(self, filling: Filling, until: Callable[[], bool] = lambda: False) -> None:
        """Take in what comes until nothing is missing from it, or until something; its parts are computed first."""
        with self._lock:
            if filling in self._fillings:
                self._fillings.remove(filling)
                self._fillings.insert(0, filling)
        while not (filling.is_full or until()) and filling.error is None:
            self._hand_out()
            self._take_in()
        self.settle(filling)
        if filling.error is not None:
            raise filling.error

    def settle(self, filling: Filling) -> None:
        """Finish what is full, and say so to who wants to go on from there."""
        if not (filling.is_full or filling.error):
            return
        with self._lock:
            if filling in self._fillings:
                self._fillings.remove(filling)
        if isinstance(filling, Shards):
            self._known.pop(filling.key or "", None)
            if filling.error is None:
                whole, then = filling.whole(), filling.then
                filling.then = None
                if then is not None:
                    then(whole)

    def drop(self, filling: Filling) -> None:
        """Let go of something that nobody needs any more; what workers are at is not taken in."""
        with self._lock:
            filling.close()
        self.settle(filling)

    def finish_all(self) -> None:
        """Compute everything that is under way, so that no lock is held."""
        while self._known:
            filling = next(iter(self._known.values()))
            with suppress(GFScoreError):  # who asks for it will hear of it
                self.wait_for(filling)

    def end(self) -> None:
        """Let Ray end well; what is under way and was not waited for stays where it was."""
        if self._driver is not None:
            self._driver.send({"end": True})
            while (message := self._heard.get()) is not None and "ended" not in message[0]:
                pass
            self._driver.wait()

    def kill(self) -> None:
        """End everything at once."""
        for filling in list(self._known.values()):
            filling.close()
        self._known.clear()
        if self._driver is not None:
            self._driver.kill()

    def _hand_out(self) -> None:
        """Ask workers for as much as keeps them busy."""
        with self._lock:
            while len(self._asked) < self._most and self._untaken < UNTAKEN:
                filling = next((each for each in self._fillings if each.todo), None)
                if filling is None:
                    return
                driver = self._started()
                if filling.number is None:
                    filling.number = next(self._jobs)
                    says, content = filling.job.message()
                    driver.send({"job": filling.number, "says": says}, content)
                part, number = filling.todo[0], next(self._numbers)
                rows, payload = filling.message(part)
                filling.todo.popleft()
                self._asked[number] = (filling, part)
                driver.send({"task": number, "job": filling.number, "rows": rows}, payload)

    def _started(self) -> Driver:
        if self._driver is None:
            self._tell("Ray: starting" if self.cluster.address == LOCAL else f"Ray: looking for {self.cluster.address}")
            work = Work(how=self.how, folder=str(Path.cwd()), run=uuid.uuid4().hex)
            self._driver = Driver(
                Order(
                    address=self.cluster.address,
                    workers=self.cluster.workers,
                    threads=self.how.threads or 1,  # and so many CPUs
                    gpus_per_actor=self.cluster.gpus_per_actor,
                    work=work.to_plain(),
                )
            )
            threading.Thread(
                target=_listen, args=(weakref.ref(self), self._driver.out, self._heard), daemon=True
            ).start()
        return self._driver

    def heard(self, said: dict[str, Any]) -> None:
        """Hand out more, as there is room for it; called by the thread that listens."""
        with self._lock:
            if "task" in said:
                self._untaken += 1
                said["of"] = self._asked.pop(said["task"], None)
            elif "room" in said:
                self._most = max(FIRST_TASKS, TASKS_EACH * said["room"])
            with suppress(Exception):  # whoever waits will try again, and hear of it
                self._hand_out()

    def _take_in(self) -> None:
        """Take in the next thing that the process says."""
        message = self._heard.get()
        if message is None:
            self._heard.put(None)  # for whoever asks again
            raise RunError(f"Ray ended before the run did ({self._started().last_words()}). {RESUMES}")
        said, content = message
        match said.get("ended"), said:
            case "unusable", _ if not self._was_usable:
                raise InvalidInputError(said["why"])
            case "unusable", _:
                raise RunError(f"the Ray cluster was lost ({said['why'].rstrip('.')}). {RESUMES}")
            case "failed", _:
                raise RunError(f"Ray failed ({said['why']}). {RESUMES}")
            case _, {"workers": workers, "lost": lost}:
                self._was_usable, self.workers = True, max(1, workers)
                self._news(workers, lost)
            case _, {"of": (filling, part)}:
                self._back(filling, part, said, content)

    def _back(self, filling: Filling, part: int, said: dict[str, Any], content: bytes) -> None:
        with self._lock:
            self._untaken -= 1
            if said["error"] and filling.error is None:
                filling.fail(ERRORS.get(said["kind"], InvalidInputError)(said["error"]))
        if filling.error is None:
            filling.take(part, content, said["halved"])
        self.settle(filling)

    def _news(self, workers: int, lost: int) -> None:
        gone = f", {lost} node{'s' if lost > 1 else ''} lost" if lost else ""
        there = f"{workers} worker{'' if workers == 1 else 's'}" if workers or lost else "starting workers"
        self._tell(f"Ray: {there}{gone}")


def _listen(pool: "weakref.ref[Pool]", out: IO[bytes], heard: "queue.SimpleQueue[Message | None]") -> None:
    """Hear what the process says, until it says no more."""
    with suppress(ValueError, OSError):  # it was closed, as nobody listens any more
        while (message := read_message(out)) is not None:
            there = pool()
            if there is None:
                return
            there.heard(message[0])
            del there
            heard.put(message)
    heard.put(None)


def _short_folder() -> str | None:
    """The usual folder for temporary files, unless the name of a socket in it would be too long."""
    return None if len(tempfile.gettempdir()) < SHORT else "/tmp"  # noqa: S108 (mkdtemp makes one that is ours alone)
