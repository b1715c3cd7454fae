"""Results with all that some figure needs; where they lack it, made up from what they hold."""

from gfscore.results import Audit, Calibration, Curves, ModelAudit, Robustness, Rung
from gfscore.temperature.curve import ALL_CLASSES, LOWEST_CLASSES
from many_models import with_attack

TEMPERATURES = [0.1, 0.3, 1.0, 3.0, 10.0]


def with_temperatures(audit: Audit) -> Audit:
    """The audit with its curves and calibration; where it has none, as with published numbers, with made-up ones."""
    models = [model.model_copy(update={"curves": model.curves or made_up_curves(model)}) for model in audit.models]
    calibration = audit.calibration or Calibration(
        objective="classes",
        models=tuple(model.name for model in audit.models),
        temperature=1.0,
        value=0.9,
        intervals=[(0.5, 2.0)],
        temperature_range=(0.1, 10.0),
        baselines={"clean_accuracy": 0.85, "at_one": None},
        curve={"edges": TEMPERATURES, "values": [0.5, 0.8, 0.9, 0.7]},
    )
    if not any(model.robustness for model in models):
        models = [model.model_copy(update={"robustness": made_up_robustness(model)}) for model in models]
    return audit.model_copy(update={"models": tuple(models), "calibration": calibration})


def complete(audit: Audit) -> Audit:
    """The audit with all that some figure needs: temperatures, robust accuracies and an attack at the eps of these."""
    full = with_temperatures(audit)
    return full.model_copy(update={"models": tuple(map(with_attack, full.models))})


def made_up_robustness(model: ModelAudit, *, norm: str = "linf", n: int | None = None) -> Robustness:
    """Shares that fall from the clean accuracy as eps grows, with the last class the worst."""
    sizes = [entry.n if n is None else n for entry in model.classes]

    def rung(eps: float, left: float) -> Rung:
        values = [left * 0.9 * entry.accuracy for entry in model.classes[:-1]] + [0.0]
        shares = [{"value": value, "interval": (value / 2, (1 + value) / 2)} for value in values]
        return Rung(
            eps=eps, value=left * 0.8 * model.accuracy, interval=(0.0, left), classes=shares,
            worst=model.classes[-1].name, worst_set=[model.classes[-1].name],
        )  # fmt: skip

    return Robustness(
        kind="estimated", norm=norm, eps=2 / 255, n=sum(sizes), delta=0.05,
        classes=[
            {"name": entry.name, "n": size, "size": entry.n} for entry, size in zip(model.classes, sizes, strict=True)
        ],
        rungs=[rung(level / 255, 1 - level / 10) for level in (0.5, 2, 8)],
    )  # fmt: skip


def made_up_curves(model: ModelAudit) -> Curves:
    """Curves of the classes that an audit keeps them of."""
    kept = sorted(model.classes, key=lambda entry: entry.score)
    if len(kept) > ALL_CLASSES:
        kept = kept[:LOWEST_CLASSES]
    return Curves(
        temperature=TEMPERATURES,
        aggregate=[model.aggregate / (1 + t) for t in TEMPERATURES],
        scores={entry.name: [entry.score / (1 + t) for t in TEMPERATURES] for entry in kept},
        error=0.0,
    )
