"""A number per sample: how far the classifier is from changing its mind about it."""

from gfscore.score_titles import ScoreTitle
from gfscore.scores.first_order import FirstOrder
from gfscore.scores.great import SCORE_MAX, great_scores
from gfscore.scores.local import Activation, LocalScores
from gfscore.scores.score_table import check_score, compute_scores, register_score, scores_of_samples

__all__ = [
    "SCORE_MAX",
    "Activation",
    "FirstOrder",
    "LocalScores",
    "ScoreTitle",
    "check_score",
    "compute_scores",
    "great_scores",
    "register_score",
    "scores_of_samples",
]
