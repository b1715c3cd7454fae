"""What several test files share."""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# Reproducible: the same examples on every machine, and no deadline on a busy one.
settings.register_profile("gfscore", derandomize=True, deadline=None)
settings.load_profile("gfscore")

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # of tests that load onnxruntime themselves

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))


@pytest.fixture(autouse=True)
def _no_width_of_this_terminal(monkeypatch):
    """What is printed into a pipe has no width, whatever terminal the tests are run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def realdata() -> Path:
    """Networks, logits and test sets trained and made by others."""
    if not REALDATA.is_dir():
        pytest.skip("no real data here: set GFSCORE_REALDATA to its folder")
    return REALDATA


@dataclass(frozen=True)
class Demo:
    """A run of the demo."""

    folder: Path  # that it wrote
    code: int
    screen: str  # what it wrote to a terminal of 80 columns, escape sequences included
    seconds: float  # of processor time


@pytest.fixture(scope="session")
def demo(tmp_path_factory) -> Demo:
    """The demo as a newcomer starts it; it runs once, and all workers look at that run."""
    import fcntl  # here and below: tests that need no demo run where there are no terminals, too

    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # of all workers
    place = shared / "demo"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "seen.json").exists():
            (place / "seen.json").write_text(json.dumps(_run_demo(place)))
    return Demo(place / "gfscore-demo", **json.loads((place / "seen.json").read_text()))


def _run_demo(place: Path) -> dict[str, object]:
    from terminals import executed

    before = _processor_time_of_children()
    seen = executed([sys.executable, "-m", "gfscore", "demo", "--store", "store"], place, 80)
    return {"code": seen.code, "screen": seen.raw, "seconds": _processor_time_of_children() - before}


def _processor_time_of_children() -> float:
    import resource

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
