"""The process that talks to Ray: reads on standard input what is to be computed, writes what was, as it comes.

It is a process of its own because Ray ends the one it runs in when its cluster is lost, and prints where it likes. The
process that started it survives that, and keeps its locks and files. This one ends when its standard input does, so
that it never outlives the other.

In: one line of JSON (:class:`Order`); then, as both ways, lines of JSON, each followed by as many bytes as its ``size``
says: ``job`` with what it is, ``task`` with a job, rows and a payload, and in the end ``end``. Out: ``task`` with what
came of it, ``workers`` with how many there are and how many nodes were lost, and in the end ``ended``: ``done``,
``unusable`` or ``failed``.
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
from contextlib import suppress
from pathlib import Path
from typing import Any

from gfscore.engines.messages import Sender, read_message
from gfscore.engines.ray_crew import AUTO, LOCAL, LOOK, Crew, Inbox, Nodes, Order
from gfscore.errors import GFScoreError, OptionError, first_line, require

OBJECT_STORE = 1 << 29  # bytes of a cluster of our own: shards on their way, no more
KNOCK = 10.0  # seconds in which a cluster must answer
LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": no node but this one, on any system; that is all it means


def main() -> None:
    """Do what standard input asks for, and say how it ended."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what Ray prints must not stand among the shards
    order = Order(**json.loads(sys.stdin.buffer.readline()))
    inbox = Inbox()
    threading.Thread(target=_listen, args=(inbox, order.folder), daemon=True).start()
    sender = Sender(out)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's own deprecations
            ray = _connected(order)
            nodes = Nodes(ray, order)
            nodes.look()
            if nodes.room == 0:
                raise OptionError(nodes.too_small)
            threading.Thread(target=_watch, args=(nodes, sender), daemon=True).start()
            Crew(ray, order, nodes, sender).serve(inbox)
            sender.send({"ended": "done"})
            ray.shutdown()
    except GFScoreError as error:
        sender.end("unusable", str(error))
    except Exception as error:  # Ray's errors have no common base
        sender.end("failed", f"{type(error).__name__}: {first_line(error)}")


def _connected(order: Order) -> Any:
    host, _, port = order.address.rpartition(":")
    if order.address not in (LOCAL, AUTO) and not (host and port.isdecimal()):
        raise OptionError(f"{order.address!r} is no address of a Ray cluster. Give --address auto, or HOST:PORT.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # nothing is reported to anybody
    if order.address == LOCAL:  # before Ray is imported: a cluster of our own listens to this machine only, and to us
        os.environ |= {LOOPBACK_ONLY: "0", "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    ray = require("ray", extra="ray", purpose="--engine ray")
    common = {"logging_level": logging.ERROR, "log_to_driver": False}
    if order.address == LOCAL:
        os.environ.pop("RAY_ADDRESS", None)
        os.environ |= {"RAY_worker_niceness": "0"}  # as a local run: Ray lets everything else on a machine go first
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


def _watch(nodes: Nodes, sender: Sender) -> None:
    """Look at the nodes, and end this process when none is left: Ray would wait for one for ever."""
    while True:
        time.sleep(LOOK)
        try:
            nodes.look()
        except Exception as error:  # the node that knows all others is gone
            sender.end("failed", f"{type(error).__name__}: {first_line(error)}")
        if nodes.room == 0:
            sender.end("unusable", nodes.too_small)


def _listen(inbox: Inbox, folder: str) -> None:
    """Take in messages until there are no more."""
    while (message := read_message(sys.stdin.buffer)) is not None:
        inbox.put(message)
        if "end" in message[0]:
            sys.stdin.buffer.read()  # until the other process has seen the end, or is gone
            return
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
