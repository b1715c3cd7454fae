"""Every fault that the tests inject, as data: ``python tests/faults/catalogue.py`` prints how many of each kind.

``ci`` are those that run in CI; the others only in ``make test-long``. Shares say where in a run a fault strikes.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest


@dataclass(frozen=True)
class Case:
    """One fault in one run."""

    kind: str  # the row of the table in docs/faults.md
    job: str
    action: str = ""
    share: float = 0.0  # where it strikes: of all points, of the time, or of the bytes of a file
    more: dict[str, Any] = field(default_factory=dict)
    ci: bool = False

    @property
    def name(self) -> str:
        words = (self.job, self.action, f"{self.share:.3f}" if self.share else "", *map(str, self.more.values()))
        return "-".join(word.replace(" ", "_") for word in words if word)


def spread(kind: str, job: str, actions: str | tuple[str, ...], n: int, *, ci: int = 0, **more: Any) -> Iterator[Case]:
    """The actions in turn, at n shares from the beginning to the end of a run, ``ci`` of them in CI."""
    actions = (actions,) if isinstance(actions, str) else actions
    in_ci = {round((index + 0.5) * n / ci - 0.5) for index in range(ci)}
    for index in range(n):
        yield Case(kind, job, actions[index % len(actions)], (index + 0.5) / n, more, ci=index in in_ci)


SIGNALLED = ("kill", "terminate", "interrupt")
CASES: tuple[Case, ...] = (
    *spread("killed at a point", "audit", "kill", 34, ci=3),
    *spread("killed at a point", "radii", "kill", 14),
    *spread("killed at a point", "votes", "kill", 10),
    *spread("killed at a point", "logits", "kill", 10),
    *spread("killed at a point", "gate", "kill", 9, ci=1),
    *spread("killed at a point", "stream", "kill", 12, ci=1),
    *spread("killed at a point", "sums", "kill", 8, ci=1),
    *spread("killed at a moment", "audit", "kill", 16, ci=1),
    *spread("killed at a moment", "gate", "kill", 6),
    *spread("killed at a moment", "stream", "kill", 6),
    *spread("ended by SIGTERM", "audit", "terminate", 6, ci=1),
    *spread("Ctrl-C at a point", "audit", "interrupt", 16, ci=1),
    *spread("Ctrl-C at a point", "radii", "interrupt", 8),
    *spread("Ctrl-C at a point", "gate", "interrupt", 6),
    *spread("Ctrl-C at a point", "stream", "interrupt", 8, ci=1),
    *spread("Ctrl-C at a point", "sums", "interrupt", 6),
    *spread("Ctrl-C at a moment", "audit", "interrupt", 12, ci=1),
    *spread("Ctrl-C at a moment", "stream", "interrupt", 8),
    *spread("no room at a point", "audit", ("full disk", "quota"), 14, ci=1),
    *spread("no room at a point", "radii", "full disk", 6),
    *spread("no room at a point", "gate", "full disk", 6),
    *spread("no room at a point", "stream", "full disk", 6),
    *spread("a disk that fails at a point", "audit", "failing disk", 8, ci=1),
    *spread("small disk", "audit", "", 10, ci=2),
    *spread("small disk", "radii", "", 4),
    *spread("small disk", "gate", "", 4),
    *spread("small disk", "report", "", 4),
    *spread("small disk", "stream", "", 4),
    *spread("changed byte in a shard", "audit", "", 12, ci=1),
    *spread("changed byte in a finished file", "audit", "", 20, ci=2),
    *spread("changed byte in a finished file", "votes", "", 6),
    *spread("changed byte in an entry's description", "audit", "", 6),
    *spread("changed byte in a log of scores", "gate", "", 8, ci=1),
    *spread("changed byte in the sum of a stream", "stream", "", 8, ci=1),
    *spread("a model that fails on a batch", "audit", "raises", 4, ci=1),
    *spread("a model that fails on a batch", "audit", ("not a number", "infinite", "fewer classes"), 6, ci=1),
    *spread("a model that fails on a batch", "radii", "raises", 3),
    *spread("a model that fails on a batch", "votes", "raises", 2),
    *spread("a model that fails on a batch", "gate", "raises", 2),
    *spread("a model that fails on a batch", "stream", "raises", 2),
    *spread("a batch that does not fit", "audit", "does not fit", 4, ci=1, room=5),
    *spread("a batch that does not fit", "radii", "does not fit", 3, room=5),
    *spread("a batch that does not fit", "audit", "does not fit", 3, room=2, from_then_on=True),
    *spread("an image that does not fit", "audit", "does not fit", 2, room=0, from_then_on=True),
    *spread("two runs on one entry", "audit", "", 3, ci=1),
    *spread("two runs on one entry", "gate", "", 2),
    *spread("two runs on one store", "audit", "", 2),
    *spread("the store deleted", "audit", "", 4, ci=1),
    Case("an entry deleted while a run waits for it", "audit", ci=True),
    *(Case("a clock that runs backwards", job, more={"start": at}) for job in ("radii", "gate") for at in (0, 2**33)),
    Case("a clock that runs backwards", "audit", more={"start": 1e9}, ci=True),
    *(Case("permission denied", "audit", what) for what in ("store", "entry", "out", "data", "file")),
    Case("permission denied", "gate", "store", ci=True),
)  # fmt: skip


def cases(kind: str) -> pytest.MarkDecorator:
    """The cases of a kind as parameters of a test."""
    chosen = [
        pytest.param(case, id=case.name, marks=() if case.ci else pytest.mark.long)
        for case in CASES
        if case.kind == kind
    ]
    assert chosen, kind
    return pytest.mark.parametrize("case", chosen)


def table() -> str:
    """How many of each kind there are, as Markdown."""
    in_all, in_ci = Counter(case.kind for case in CASES), Counter(case.kind for case in CASES if case.ci)
    rows = [f"| {kind} | {n} | {in_ci[kind]} |" for kind, n in in_all.items()]
    total = f"| **all** | **{in_all.total()}** | **{in_ci.total()}** |"
    return "\n".join(["| fault | injected | of them in CI |", "|---|---|---|", *rows, total])


if __name__ == "__main__":
    print(table())
