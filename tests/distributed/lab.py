"""A Ray cluster of two simulated nodes, to be run in a network namespace of its own; it is told what to break.

Prints the address, then takes a word a line: ``worker`` kills a process that runs a model, ``node`` kills the second
node, ``new-node`` adds one, ``head`` kills all. Everything ends with standard input.
"""

import os
import signal
import sys
import time
import warnings
from pathlib import Path

WORKER = b"ray::ShardWorker"


def processes(title: bytes = b"") -> list[int]:
    """Processes in this network namespace whose title begins so; not this one."""
    here, found = Path("/proc/self/ns/net").readlink(), []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            inside = (path / "ns/net").readlink() == here and int(path.name) != os.getpid()
            if inside and (path / "cmdline").read_bytes().startswith(title):
                found.append(int(path.name))
        except OSError:  # it has ended
            continue
    return found


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    warnings.simplefilter("ignore")
    from ray.cluster_utils import Cluster

    Path(os.environ["RAY_TMPDIR"], "ray").mkdir()  # Ray relies on it
    node = {"num_cpus": 1, "object_store_memory": 1 << 27}
    quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 10}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**node, "include_dashboard": False, "_system_config": quick},
    )
    second = cluster.add_node(**node)
    say(f"ready {cluster.address}")
    for line in sys.stdin:
        match line.strip():
            case "worker":
                while not (workers := processes(WORKER)):
                    time.sleep(0.01)
                os.kill(workers[0], signal.SIGKILL)
            case "node":
                cluster.remove_node(second, allow_graceful=False)
            case "new-node":
                second = cluster.add_node(**node)
            case "head":
                cluster.shutdown()
        say("done")
    cluster.shutdown()


if __name__ == "__main__":
    main()
