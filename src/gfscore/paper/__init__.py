"""The GF-Score paper: the numbers published with it, and what follows from them."""

from gfscore.paper.claim_table import PaperClaim, Standing
from gfscore.paper.paper_audit import published_audit
from gfscore.paper.printed_tables import Cell, Row, Table, measured_table
from gfscore.paper.published_numbers import DATASETS, Dataset, Origin, Published, leaderboard, origins, published
from gfscore.paper.reproduction import Reproduction, recompute, reproduce

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
