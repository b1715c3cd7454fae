"""A number per sample: how far the classifier is from changing its mind about it."""

from gfscore.scores.first_order import FirstOrder
from gfscore.scores.great import SCORE_MAX, great_scores
from gfscore.scores.local import Activation, LocalScores

__all__ = ["SCORE_MAX", "Activation", "FirstOrder", "LocalScores", "great_scores"]
