"""What recomputing the paper gives: tables, and claims with a verdict each. Frozen, to JSON."""

from enum import StrEnum
from typing import Self

from pydantic import Field

from gfscore.paper.published_numbers import Dataset, Origin
from gfscore.results import Result

SCHEMA = "gfscore.reproduction/1"


class Verdict(StrEnum):
    """How a statement of the paper stands against the numbers published with it."""

    HOLDS = "holds"
    HOLDS_IN_PART = "holds in part"
    SAYS_LITTLE = "holds, says little"
    DEPENDS = "depends on the metric"
    OVERSTATED = "overstated"
    UNCLEAR = "unclear in the paper"
    FAILS = "fails"
    FINDING = "not in the paper"

    @classmethod
    def graded(cls, *, full: bool, part: bool) -> Self:
        """Holds, holds in part, or fails."""
        return cls("holds") if full else cls("holds in part") if part else cls("fails")


class PaperClaim(Result):
    """A statement of the paper, in our words, beside what its published numbers give."""

    id: str
    datasets: tuple[Dataset, ...] = Field(description="the experiments it is about")
    where: str | None = Field(default=None, description="where in the paper; null for a finding about the whole")
    statement: str
    published: str | None = Field(default=None, description="what the paper says; null when it says nothing")
    recomputed: str
    verdict: Verdict
    explanation: str


class Cell(Result):
    """A recomputed value, and what the paper prints in its place."""

    value: float | str
    printed: str | None = Field(default=None, description="null when the paper prints nothing there")
    agrees: bool | None = Field(default=None, description="the print is the value, correctly rounded")


class Row(Result):
    """A row of a table: a model or a class."""

    name: str
    cells: tuple[Cell, ...]


class Table(Result):
    """A recomputed table; ``digits`` has the decimals to show in each column, null for text."""

    title: str
    columns: tuple[str, ...]
    digits: tuple[int | None, ...]
    rows: tuple[Row, ...]
    note: str


class Reproduction(Result):
    """One of the paper's two experiments, recomputed from its published numbers."""

    schema_: str = Field(default=SCHEMA, alias="schema")
    dataset: Dataset
    title: str
    setup: str = Field(description="what was evaluated, in one line")
    tables: tuple[Table, ...]
    claims: tuple[PaperClaim, ...]
    sources: tuple[Origin, ...]

    def to_json(self) -> str:
        """The whole reproduction, numbers in full precision."""
        return self.model_dump_json(indent=1) + "\n"

    def claim(self, identifier: str) -> PaperClaim:
        """The claim with this id."""
        return next(claim for claim in self.claims if claim.id == identifier)
