"""What the tests of faults share: the process that runs commands, and runs that nothing disturbed."""

import time
from dataclasses import dataclass

import pytest
from injected import MADE, POINTS
from jobs import Zygote, pages, prepared, results


@pytest.fixture(scope="session")
def zygote():
    process = Zygote()
    yield process
    process.end()


@pytest.fixture(scope="session")
def small_disks(tmp_path_factory):
    """The same in a mount namespace of its own, where it may mount what it likes."""
    for prefix in (("unshare", "-rm"), ("unshare", "-m")):
        try:
            process = Zygote(prefix)
        except OSError:
            continue
        mounted = process.ask(mount=str(tmp_path_factory.mktemp("disk")), size=4096, again=False) == 0
        if mounted:
            yield process
        process.end()
        if mounted:
            return
    pytest.skip("no small disk here: unshare -rm, or mount in it, is refused")


@dataclass(frozen=True)
class Undisturbed:
    """A run that nothing disturbed."""

    results: dict
    points: dict[tuple[str, ...], int]  # how many there are of these events
    seconds: float
    pages: int  # of memory that its files take on a disk that is memory


@pytest.fixture(scope="session")
def undisturbed(zygote, tmp_path_factory):
    """Of a job; each is run once, and once for each set of points that are counted."""
    known = {}

    def of(job):
        if job not in known:
            folder, points = tmp_path_factory.mktemp(job), {}
            for events in (POINTS, MADE):
                counting = prepared(folder / f"{len(events)}", job)
                zygote.run(job, counting, {"kind": "point", "events": events, "index": None})
                points[events] = int((counting / "points.txt").read_text())
            timed = prepared(folder / "timed", job)
            start = time.perf_counter()
            outcome = zygote.run(job, timed)
            seconds = time.perf_counter() - start
            assert (outcome.code, outcome.stderr) == (0, ""), outcome
            known[job] = Undisturbed(results(timed), points, seconds, pages(timed))
        return known[job]

    return of
