"""What is asked of a model, and of what: a run (a model on data), and the measures that a run can be asked for."""

from gfscore.measures.attacks import Assault, Attacks
from gfscore.measures.logits import Logits
from gfscore.measures.radii import RadiusSums
from gfscore.measures.run import Measure, RowMeasure, Run
from gfscore.measures.slopes import Slopes
from gfscore.measures.sums import Sums
from gfscore.measures.votes import Votes

__all__ = [
    "Assault",
    "Attacks",
    "Logits",
    "Measure",
    "RadiusSums",
    "RowMeasure",
    "Run",
    "Slopes",
    "Sums",
    "Votes",
]
