"""Repair without training: what constants on the logits do to every class, and which do it best."""

from gfscore.repairing.best_bias import Choice, Point, bounds_of, choose_bias, find_bias, find_frontier, point_at
from gfscore.repairing.contests import Contest, attacked_contest, biased_radii
from gfscore.repairing.line_search import Bounds, Line, look_along

__all__ = [
    "Bounds",
    "Choice",
    "Contest",
    "Line",
    "Point",
    "attacked_contest",
    "biased_radii",
    "bounds_of",
    "choose_bias",
    "find_bias",
    "find_frontier",
    "look_along",
    "point_at",
]
