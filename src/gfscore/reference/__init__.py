"""Published numbers that ship with the package, each with its source."""

from gfscore.reference.loading import DATASETS, SOURCES, clean_accuracies, leaderboard, published, sources
from gfscore.reference.records import (
    Dataset,
    LeaderboardEntry,
    PrintedRow,
    Published,
    PublishedMetrics,
    PublishedModel,
    SearchTrace,
    Source,
)

__all__ = [
    "DATASETS",
    "SOURCES",
    "Dataset",
    "LeaderboardEntry",
    "PrintedRow",
    "Published",
    "PublishedMetrics",
    "PublishedModel",
    "SearchTrace",
    "Source",
    "clean_accuracies",
    "leaderboard",
    "published",
    "sources",
]
