"""A cluster for the tests of the Ray engine, without a way to the outside."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from gfscore.arrays import limit_threads

LAB = Path(__file__).with_name("lab.py")
INSIDE = ["unshare", "--map-root-user", "--net", "bash", "-c", 'ip link set lo up && exec "$0" "$@"']


@dataclass(frozen=True)
class Lab:
    """Two simulated nodes, a worker each, in a network namespace that has no way out."""

    process: subprocess.Popen[str]
    address: str

    @classmethod
    def start(cls, folder: Path) -> "Lab":
        for attempt in range(3):  # on a busy machine Ray may give up on a node of its own while it starts
            place = folder / str(attempt)
            place.mkdir()
            environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_TMPDIR": str(place)}
            process = subprocess.Popen(
                [*INSIDE, sys.executable, str(LAB)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment,
            )
            address = next((line.split()[1] for line in process.stdout if line.startswith("ready ")), None)
            if address is not None:
                return cls(process, address)
            process.communicate()
        raise AssertionError("the cluster did not start")

    def loses(self, what: str) -> None:
        """Break something, or add a node."""
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert next(line for line in self.process.stdout if line == "done\n")

    def run(self, *arguments: object, cwd: Path) -> subprocess.Popen[str]:
        """The command line, started in the namespace."""
        enter = ["nsenter", "-t", str(self.process.pid), "-U", "-n", "--preserve-credentials"]
        command = [sys.executable, "-m", "gfscore", *map(str, arguments), "--engine", "ray", "--address", self.address]
        return subprocess.Popen([*enter, *command], cwd=cwd, text=True, stdout=-1, stderr=-1)

    def end(self) -> None:
        """All processes of the namespace are gone after this; the test fails if the cluster left any behind."""
        namespace = Path(f"/proc/{self.process.pid}/ns/net").readlink()
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()
        deadline = time.monotonic() + 20
        while (left := _in(namespace)) and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert not left, f"{len(left)} processes were left behind"


def _in(namespace: Path) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (path / "ns/net").readlink() == namespace:
                found.append(int(path.name))
        except OSError:  # it has ended, or is not ours
            continue
    return found


@pytest.fixture(autouse=True)
def _all_cores_again():
    """A worker in this process has limited its threads."""
    yield
    limit_threads(None)


@pytest.fixture(scope="session")
def new_lab():
    """Starts clusters; they end with the session at the latest."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    if shutil.which("unshare") is None or subprocess.run([*INSIDE, "true"], capture_output=True).returncode != 0:
        pytest.skip("no network namespace can be made here (unshare --map-root-user --net)")
    started, folders = [], []

    def start() -> Lab:
        folders.append(Path(tempfile.mkdtemp(prefix="g", dir="/tmp")))  # short: names of sockets have 107 characters
        started.append(Lab.start(folders[-1]))
        return started[-1]

    yield start
    try:
        for lab in started:
            if lab.process.returncode is None:
                lab.end()
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def lab(new_lab) -> Lab:
    """The cluster that most tests share."""
    return new_lab()
