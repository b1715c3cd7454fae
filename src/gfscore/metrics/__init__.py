"""A number per model: the table of metrics, which everybody who shows, judges or compares reads, and their formulas.

Add one from anywhere::

    from gfscore.metrics import ModelMetric, Unit, register

    register(
        ModelMetric(
            key="median",
            title="Median",
            note="half of the {parts} score more",
            value=lambda classes: float(np.median(classes.scores)),
            monotone=True,  # no class that rises lowers it: so its interval follows from those of the classes
        )
    )

Every audit made afterwards has it, with its interval, in ``model.metrics["median"]``, in every table, report and
picture, and as a rule of a gate: ``gfscore gate logits.npz --rule median=0.3``.
"""

from gfscore.metrics.metric_table import (
    BUILT_IN,
    METRICS,
    PLACEHOLDERS,
    ClassScores,
    ModelMetric,
    Scale,
    Unit,
    all_metrics,
    find_metric,
    register,
)

__all__ = [
    "BUILT_IN",
    "METRICS",
    "PLACEHOLDERS",
    "ClassScores",
    "ModelMetric",
    "Scale",
    "Unit",
    "all_metrics",
    "find_metric",
    "register",
]
