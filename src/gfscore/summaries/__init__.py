"""What a piece of the data adds to an audit: small, exact, and merged in any order."""

from gfscore.summaries.summary import ScoreKind, Summary
from gfscore.summaries.tally import Look, Tally, merged

__all__ = ["Look", "ScoreKind", "Summary", "Tally", "merged"]
