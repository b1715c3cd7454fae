"""What a report says of itself: title, author, subject, date and notes of whoever hands it on."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gfscore.errors import OptionError
from gfscore.results import Audit

NOTE_LIMIT = 20_000  # characters of all notes
LINE_LIMIT = 300  # characters of a title and the like


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportHead:
    """Words of the author of a report; all of them are shown as text. What is empty is left out."""

    title: str = ""
    author: str = ""
    subject: str = ""
    date: str = ""
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("title", "author", "subject", "date"):
            if len(getattr(self, name)) > LINE_LIMIT:
                raise OptionError(f"the {name} of a report has at most {LINE_LIMIT} characters. Shorten it.")
        if sum(map(len, self.notes)) > NOTE_LIMIT:
            raise OptionError(f"notes of a report have at most {NOTE_LIMIT:,} characters. Shorten them.")

    def titled(self, audit: Audit) -> "ReportHead":
        """The same with a title: the one given, or what the audit is of."""
        models, part = audit.models, audit.models[0].partition
        about = f"Robustness of {len(models):,} models by {part}"
        return replace(
            self, title=self.title or (about if len(models) > 1 else f"{models[0].name}: robustness by {part}")
        )

    def facts(self) -> Iterator[tuple[str, str]]:
        """Subject, author and date, each with what it is."""
        for name in ("subject", "author", "date"):
            if getattr(self, name):
                yield name.capitalize(), getattr(self, name)

    def paragraphs(self) -> list[str]:
        """The notes, cut at empty lines; within a paragraph lines are joined."""
        parts = [part for note in self.notes for part in note.replace("\r\n", "\n").split("\n\n")]
        return [" ".join(part.split()) for part in parts if part.strip()]
