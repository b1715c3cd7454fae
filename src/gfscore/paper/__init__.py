"""The GF-Score paper: the numbers published with it, and what follows from them."""

from gfscore.paper.published_numbers import DATASETS, leaderboard, origins, published

__all__ = ["DATASETS", "leaderboard", "origins", "published"]
