"""How long something takes on a machine that others use as well."""

import time
from collections.abc import Callable

TRIES = 8


def quickest(work: Callable[[], object], limit: float) -> float:
    """Seconds of the best of a few runs; one below the limit is the last: load only ever adds."""
    best = float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
        if best < limit:
            break
    return best
