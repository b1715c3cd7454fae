"""The process that talks to Ray: reads on standard input what is to be computed, writes shards as they come.

It is a process of its own because Ray ends the one it runs in when its cluster is lost, and prints where it likes. The
process that started it survives that, keeps its locks and files, and can start another. This one ends when its standard
input does, so that it never outlives the other.

In: one line of JSON (:class:`Order`). Out: lines of JSON, each followed by as many bytes as its ``size`` says; the last
has ``ended``: ``done``, ``shrunk`` (a node was lost, and with it the place of a worker), ``unusable`` or ``failed``.
"""

import json
import logging
import os
import secrets
import shutil
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from gfscore.engines.workers import ShardWorker
from gfscore.errors import GFScoreError, OptionError, first_line, require

BLOCKS = 4096  # beyond that, a task is several shards one after the other
OBJECT_STORE = 1 << 29  # bytes of a cluster of our own: shards on their way, no more
LOOK = 1.0  # seconds between two looks at the nodes
KNOCK = 10.0  # seconds in which a cluster must answer
ROUNDING = 1e-9  # of a number of workers
LOCAL, AUTO = "local", "auto"
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": no node but this one, on any system; that is all it means


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be computed, and where."""

    address: str
    workers: int | None
    threads: int
    gpus_per_actor: float
    work: Mapping[str, Any]  # as a :class:`~gfscore.engines.workers.Work` gives it
    shards: list[tuple[int, int]]  # job and shard of each
    folder: str = ""  # where a cluster of our own keeps its files


def main() -> None:
    """Do what standard input asks for, and say how it ended."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Ray prints must not stand among the shards
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_parent, args=(order.folder,), daemon=True).start()
    sender = Sender(out)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own deprecations
            ray = _connected(order)
            size = _pool_size(ray, order)
            threading.Thread(target=_watch, args=(ray, order, size, sender), daemon=True).start()
            for answer in _answers(ray, order, size):
                content = answer.pop("content")
                sender.send(answer, content)
            sender.send({"ended": "done"})
            ray.shutdown()
    except GFScoreError as error:
        sender.end("unusable", str(error))
    except Exception as error:  # Ray's errors have no common base
        sender.end("failed", f"{type(error).__name__}: {first_line(error)}")


class Sender:
    """Writes to whoever started this process, one message at a time."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._lock = out, threading.Lock()

    def send(self, head: Mapping[str, Any], content: bytes = b"") -> None:
        """One message."""
        with self._lock:
            self._out.write(json.dumps({**head, "size": len(content)}).encode() + b"\n" + content)
            self._out.flush()

    def end(self, how: str, why: str = "") -> NoReturn:
        """The last message after a failure; Ray, which may be stuck, is not asked to end well."""
        self.send({"ended": how, "why": why})
        os._exit(0)


def _connected(order: Order) -> Any:
    host, _, port = order.address.rpartition(":")
    if order.address not in (LOCAL, AUTO) and not (host and port.isdecimal()):
        raise OptionError(f"{order.address!r} is no address of a Ray cluster. Give --address auto, or HOST:PORT.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is reported to anybody
    if order.address == LOCAL:  # before Ray is imported: a cluster of our own listens to this machine only, and to us
        os.environ |= {LOOPBACK_ONLY: "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    ray = require("ray", extra="ray", purpose="--engine ray")
    require("ray.data", extra="ray", purpose="--engine ray")
    common = {"logging_level": logging.ERROR, "log_to_driver": False}
    if order.address == LOCAL:
        os.environ.pop("RAY_ADDRESS", None)
        ray.init(
            address=LOCAL,
            num_cpus=None if order.workers is None else order.workers * order.threads,
            include_dashboard=False,
            object_store_memory=OBJECT_STORE,
            _temp_dir=order.folder,
            **common,
        )
        return ray
    try:
        if order.address != AUTO:
            _knock(host, int(port))
        ray.init(address=order.address, **common)
    except Exception as error:  # ConnectionError, RuntimeError, ValueError, by what is wrong with it
        raise OptionError(
            f"no Ray cluster answers at {order.address!r} ({first_line(error)}). Start one (ray start --head), or "
            "leave --address out."
        ) from error
    return ray


def _knock(host: str, port: int) -> None:
    """Fail where nobody listens, for which Ray would wait some ten minutes."""
    with socket.create_connection((host, port), timeout=KNOCK):
        pass


def _pool_size(ray: Any, order: Order) -> int:
    """As many workers as are asked for, as there are shards, and as find room."""
    room = _room(ray, order)
    if room == 0:
        need = f"{order.threads} CPUs" + (f" and {order.gpus_per_actor:g} GPUs" if order.gpus_per_actor else "")
        raise OptionError(f"no node of the Ray cluster has {need} for a worker. Ask for less, or add a node.")
    return min(order.workers or room, room, len(order.shards))


def _room(ray: Any, order: Order) -> int:
    """Workers that the nodes that are alive could hold."""
    rooms = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            by_cpu = int(has.get("CPU", 0) // order.threads)
            # not //: 1 // 0.2 is 4, as the double 0.2 is a little more than a fifth
            by_gpu = int(has.get("GPU", 0) / order.gpus_per_actor + ROUNDING) if order.gpus_per_actor else by_cpu
            rooms += min(by_cpu, by_gpu)
    return rooms


def _answers(ray: Any, order: Order, size: int) -> Iterator[dict[str, Any]]:
    """The answers of the workers, in the order in which they are ready.

    Ray Data restarts a worker that died and gives its shard to another, without end; that there is one, a worker that
    kills itself over and over again, is up to :class:`~gfscore.engines.workers.ShardWorker`.
    """
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    shards = ray.data.from_items(
        [{"job": job, "shard": shard} for job, shard in order.shards],
        override_num_blocks=min(len(order.shards), BLOCKS),
    )
    # the folder of a cluster of our own is deleted with it; on other nodes each worker tidies up after itself
    work = {**order.work, "notes": order.folder if order.address == LOCAL else None}
    computed = shards.map_batches(
        ShardWorker,
        fn_constructor_args=(work,),
        batch_size=1,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
        num_cpus=order.threads,
        num_gpus=order.gpus_per_actor or None,
    )
    for batch in computed.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0):  # nothing waits
        columns = [values.tolist() for values in batch.values()]
        yield from (dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True))


def _watch(ray: Any, order: Order, size: int, sender: Sender) -> None:
    """End this process when a node was lost and the workers no longer fit: Ray would wait for it for ever."""
    while True:
        time.sleep(LOOK)
        try:
            room = _room(ray, order)
        except Exception as error:  # the node that knows all others is gone
            sender.end("failed", f"{type(error).__name__}: {first_line(error)}")
        if room < size:
            sender.end("shrunk")


def _end_with_parent(folder: str) -> None:
    sys.stdin.buffer.read()
    # Who started this process was killed. So it is on us to end a cluster of our own, to delete its files, and to go.
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        with suppress(ProcessLookupError):
            if os.getpgid(pid) == os.getpgrp() and pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


if __name__ == "__main__":
    main()
