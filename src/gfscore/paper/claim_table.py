"""What a claim of the paper is, how it can stand, and the table that a topic's claims are written in."""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from gfscore.paper.facts import PaperFacts
from gfscore.paper.published_numbers import Dataset
from gfscore.results import Result


class Standing(StrEnum):
    """How a statement of the paper stands against the numbers published with it."""

    HOLDS = "holds"
    HOLDS_IN_PART = "holds in part"
    SAYS_LITTLE = "holds, says little"
    DEPENDS = "depends on the metric"
    OVERSTATED = "overstated"
    UNCLEAR = "unclear in the paper"
    FAILS = "fails"
    FINDING = "not in the paper"


def grade(full: bool, part: bool = False) -> Standing:
    """Holds when it does in full, holds in part when it does in part, else fails."""
    return Standing.HOLDS if full else Standing.HOLDS_IN_PART if part else Standing.FAILS


class PaperClaim(Result):
    """A statement of the paper, in our words, beside what its published numbers give."""

    id: str
    datasets: tuple[Dataset, ...] = Field(description="the experiments it is about")
    where: str | None = Field(default=None, description="where in the paper; null for a finding about the whole")
    statement: str
    published: str | None = Field(default=None, description="what the paper says; null when it says nothing")
    recomputed: str
    verdict: Standing
    explanation: str


class Judgement(NamedTuple):
    """What the facts say about a claim."""

    recomputed: str
    standing: Standing
    explanation: str


Judge = Callable[[PaperFacts], Judgement]
Wording = str | Mapping[str, str] | None  # for both experiments, or by dataset


def finding(recomputed: str, explanation: str) -> Judgement:
    """The judgement where the paper says nothing."""
    return Judgement(recomputed, Standing.FINDING, explanation)


class ClaimTable:
    """The claims on one topic, in the order in which they are shown.

    Each is written in one place: where the paper says it and what, as data, above the function that judges it by the
    facts; the function's docstring is the statement, in which {T} stands for the calibrated temperature.
    """

    def __init__(self) -> None:
        self._claims: list[Callable[[PaperFacts], PaperClaim | None]] = []

    def claim(
        self, identifier: str, *, published: Wording = None, where: Wording = None, only: Dataset | None = None
    ) -> Callable[[Judge], Judge]:
        """A decorator that enters a claim, about both experiments or about ``only`` one."""

        def enter(judge: Judge) -> Judge:
            def assess(facts: PaperFacts) -> PaperClaim | None:
                if only not in (None, facts.dataset):
                    return None
                found = judge(facts)
                statement = judge.__doc__ or identifier  # Python may be told to drop docstrings (-OO)
                return PaperClaim(
                    id=identifier,
                    datasets=(facts.dataset,),
                    where=where[facts.dataset] if isinstance(where, Mapping) else where,
                    statement=statement.format(T=f"{facts.temperature:.2f}"),
                    published=published[facts.dataset] if isinstance(published, Mapping) else published,
                    recomputed=found.recomputed,
                    verdict=found.standing,
                    explanation=found.explanation,
                )

            self._claims.append(assess)
            return judge

        return enter

    def judge(self, facts: PaperFacts) -> Iterator[PaperClaim]:
        """The claims about an experiment, each judged by its facts."""
        return filter(None, (assess(facts) for assess in self._claims))
