"""Several models one after the other, here or on a cluster, which begins with the next ones meanwhile."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gfscore.engines.handed import Handed
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import begin, measured
from gfscore.engines.pool import Cluster
from gfscore.engines.ray import AHEAD, OnRay, pool_of
from gfscore.errors import GFScoreError, OptionError
from gfscore.measures import Run
from gfscore.storage.store import Store

Asked = Callable[[Run], tuple[Any, ...]]  # what is asked of a run: the measure, its progress, and a look at its sum


def loader_of(
    models: Sequence[Any], data: Sequence[Any], how: Loading, store: Store, cluster: Cluster | None
) -> Loader:
    """What opens models and data, for this process or a cluster, whose workers cannot open what is in memory here."""
    about: dict[str, Any] = {"data": len(data), "several": len(data) > 1}
    if cluster is None:
        return Loader(how, store, **about)
    if any(isinstance(each, Handed) for each in (*models, *data)):
        raise OptionError(
            "a model or data in memory cannot be opened by the workers of a cluster. Give a file or spec, or leave "
            "--engine out."
        )
    return Loader(how, store, models=AHEAD + 1, engine=partial(OnRay, pool_of(cluster, how)), **about)


class InTurn:
    """What is asked of each of several runs, in their order; nothing is begun ahead where this process computes.

    ``then`` is called with each run and its file as soon as that is finished, also of those that are ahead, so that
    what follows from it can be begun. What cannot be begun is heard of when it is asked for.
    """

    def __init__(
        self,
        asked: Asked,
        measure: Callable[..., Any] = measured,
        then: Callable[[Run, Any], None] = lambda _run, _whole: None,
    ) -> None:
        self._asked, self._measure, self._then = asked, measure, then
        self._begun = deque[tuple[Run, tuple[Any, ...]]]()

    def add(self, run: Run) -> Iterator[tuple[Run, Any]]:
        """The next run; gives those that are finished and whose turn it is."""
        asked = self._asked(run)
        self._begun.append((run, asked))
        begin(run, partial(self._follow, run), *asked)
        if len(self._begun) > (0 if run.engine is None else run.engine.ahead):
            yield self._finish()

    def rest(self) -> Iterator[tuple[Run, Any]]:
        """Those that were added, and not given yet."""
        while self._begun:
            yield self._finish()

    def _follow(self, run: Run, whole: Any) -> None:
        with suppress(GFScoreError):
            self._then(run, whole)

    def _finish(self) -> tuple[Run, Any]:
        run, asked = self._begun.popleft()
        return run, self._measure(run, *asked)
