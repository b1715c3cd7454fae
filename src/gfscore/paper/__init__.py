"""The GF-Score paper: the numbers published with it, and what follows from them."""

from gfscore.paper.claims_on_classes import Standing
from gfscore.paper.published_numbers import DATASETS, Dataset, Origin, Published, leaderboard, origins, published
from gfscore.paper.recomputed import Cell, Row, Table, measured_table
from gfscore.paper.reproduction import PaperClaim, Reproduction, published_audit, recompute, reproduce

__all__ = [
    "DATASETS",
    "Cell",
    "Dataset",
    "Origin",
    "PaperClaim",
    "Published",
    "Reproduction",
    "Row",
    "Standing",
    "Table",
    "leaderboard",
    "measured_table",
    "origins",
    "published",
    "published_audit",
    "recompute",
    "reproduce",
]
