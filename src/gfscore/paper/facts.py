"""What follows from the published numbers of one experiment, computed once; and how claims compare and word it."""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.bounds import hoeffding_radius, rdi_radius
from gfscore.metrics import formulas
from gfscore.paper.published_numbers import Dataset, PrintedRow, Published
from gfscore.ranking import ranks, spearman

TITLES: dict[Dataset, str] = {"cifar10": "CIFAR-10", "imagenet": "ImageNet"}
DELTA = 0.05  # the paper's bounds hold with probability 95 %
ROUNDED_TWICE = Decimal("0.55")  # of the last digit: what rounding to one digit more first can add up to, 0.05 + 0.5


class ModelMetrics:
    """Metrics of M models at one temperature, ``(M,)`` each, and the worst and the best class of each.

    They follow from the class scores ``(M, K)`` and the sample counts ``(M, K)``.
    """

    def __init__(self, scores: FloatArray, counts: IntArray, class_names: tuple[str, ...]) -> None:
        self.great = (counts * scores).sum(axis=1) / counts.sum(axis=1)
        self.rdi = np.array([formulas.rdi(row) for row in scores])
        self.nrgc = np.array([formulas.nrgc(row) for row in scores], dtype=np.float64)
        self.wcr = np.array([formulas.wcr(row) for row in scores])
        self.fp_great = np.array([formulas.fp_great(row) for row in scores])
        self.worst = tuple(class_names[k] for k in scores.argmin(axis=1))
        self.best = tuple(class_names[k] for k in scores.argmax(axis=1))


class PaperFacts:
    """What follows from the published numbers of M models over K classes; the models are in the order of the files."""

    def __init__(self, published: Published) -> None:
        models = published.models
        clean = {entry.model: entry.clean_accuracy for entry in published.leaderboard}
        self.published = published
        self.dataset = published.dataset
        self.temperature = models[0].temperature  # the calibrated one, the same for all models
        self.names = tuple(model.short_name for model in models)
        self.scores = np.array([model.scores for model in models])  # (M, K) at T = 1
        self.calibrated_scores = np.array([model.calibrated_scores for model in models])  # (M, K)
        self.counts = np.array([model.counts for model in models])  # (M, K)
        self.accuracies = np.array([model.accuracies for model in models])  # (M, K), shares of 1
        self.robust = np.array([model.robustbench_accuracy for model in models])  # (M,), RobustBench, in percent
        self.clean = np.array([clean[model.name] for model in models], dtype=np.float64)  # (M,), too, without attack
        self.own_clean = np.array([100 * model.accuracy for model in models])  # (M,), of the published run, in percent
        self.plain = ModelMetrics(self.scores, self.counts, published.class_names)  # at T = 1
        self.calibrated = ModelMetrics(self.calibrated_scores, self.counts, published.class_names)
        self.n_models, self.n_classes = self.scores.shape
        self.n_min = int(self.counts.min())  # samples of the class that has the fewest
        # How far off all class scores of a model, or its RDI, are at most with probability 95 %: Propositions 1 and 2.
        self.class_radius = float(hoeffding_radius(self.n_min, DELTA, n_classes=self.n_classes))
        self.rdi_radius = rdi_radius(self.n_min, DELTA, n_classes=self.n_classes)

    def readable(self, name: str) -> str:
        """The class in words where only its WordNet id was published."""
        return self.published.readable_names.get(name, name)

    def model_of(self, row: PrintedRow) -> int:
        """Index of the model that a printed row is about."""
        return next(i for i, model in enumerate(self.published.models) if model.name == row.model)


def rho(first: FloatArray, second: FloatArray) -> float:
    """Spearman's correlation, NaN where it does not exist, so that no comparison with it holds."""
    value = spearman(first, second)
    return float("nan") if value is None else value


def places(values: FloatArray) -> IntArray:
    """Place of each model, 1 for the highest value.

    >>> places(np.array([0.2, 0.5, 0.4]))
    array([3, 1, 2])
    """
    return (len(values) + 1 - ranks(values)).astype(np.int64)


def with_sign(value: float) -> str:
    """A correlation for readers, with its sign.

    >>> with_sign(-0.5)
    '−0.500'
    """
    return f"{value:+.3f}".replace("-", "−")


def rounds_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` correctly rounded to as many decimals as it shows.

    >>> rounds_to(0.104478, "0.104"), rounds_to(0.104478, "0.105")
    (True, False)
    """
    return _round(Decimal(value), _unit(printed)) == Decimal(printed)


def rounds_twice_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` rounded to one decimal more, and that rounded again.

    >>> rounds_twice_to(0.104478, "0.105")
    True
    """
    unit = _unit(printed)
    return _round(_round(Decimal(value), unit / 10), unit) == Decimal(printed)


def within_rounding(value: float, printed: str) -> bool:
    """Whether rounding, once or twice, explains the difference: at most 0.55 of the last printed unit.

    >>> within_rounding(0.104478, "0.105"), within_rounding(0.1044, "0.105")
    (True, False)
    """
    return abs(Decimal(value) - Decimal(printed)) <= ROUNDED_TWICE * _unit(printed)


def _unit(printed: str) -> Decimal:
    return Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))


def _round(value: Decimal, unit: Decimal) -> Decimal:
    return value.quantize(unit, rounding=ROUND_HALF_UP)
