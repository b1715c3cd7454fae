"""The intervals under one roof: which one, at which level."""

from enum import StrEnum

from gfscore.arrays import FloatArray
from gfscore.bounds.bernstein import bernstein_lower
from gfscore.bounds.betting import betting_lower
from gfscore.bounds.blocks import blocks_lower
from gfscore.bounds.hoeffding import hoeffding_lower
from gfscore.bounds.kl import kl_lower
from gfscore.bounds.mixture import mixture_lower
from gfscore.bounds.parts import PartScores
from gfscore.bounds.table import ScoreTable
from gfscore.errors import OptionError

WITHOUT_REPLACEMENT = ("betting", "kl", "hoeffding")  # methods that know what a fixed set leaves open


class Method(StrEnum):
    """How the interval of a class mean is found. All hold for any scores in [0, maximum]."""

    BETTING = "betting"  # narrow, whatever the scores; depends on a recorded random order
    KL = "kl"  # narrow near 0 and near the maximum; needs only means and counts
    BERNSTEIN = "bernstein"  # narrow for many samples of little spread; needs means, deviations and counts
    HOEFFDING = "hoeffding"  # the paper's: depends on nothing but counts
    BLOCKS = "blocks"  # betting on blocks that samples were dealt to: for scores that were merged in any order
    MIXTURE = "mixture"  # holds at every moment of a stream, whatever made one look; wider

    @property
    def order_free(self) -> bool:
        """Whether it looks at nothing but how often each score came (blocks: in each block)."""
        return self in (Method.BLOCKS, Method.MIXTURE)

    @property
    def anytime(self) -> bool:
        """Whether it holds when the number of samples was chosen by what they showed."""
        return self is Method.MIXTURE

    @classmethod
    def named(cls, name: str) -> "Method":
        """The method of that name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            raise OptionError(f"no interval is called {name!r}. Choose one of {', '.join(cls)}.") from None


def lower_bounds(scores: PartScores | ScoreTable, alpha: float, method: Method) -> FloatArray:
    """Lower bound of each part's mean, ``(K,)`` in [0, 1]; each one fails with probability at most ``alpha``."""
    sizes = scores.sizes if isinstance(scores, PartScores) else None
    if sizes is not None and method not in WITHOUT_REPLACEMENT:
        raise OptionError(f"the {method} interval is for draws from a distribution. Use betting for a fixed set.")
    match method:
        case Method.BETTING:
            if isinstance(scores, ScoreTable):
                raise OptionError("betting needs the scores in an order, which counts do not have. Use blocks.")
            return betting_lower(scores, alpha)
        case Method.KL:
            return kl_lower(scores.means, scores.counts, alpha, sizes=sizes)
        case Method.HOEFFDING:
            return hoeffding_lower(scores.means, scores.counts, alpha, sizes=sizes)
        case Method.BERNSTEIN:
            return bernstein_lower(scores.means, scores.variances, scores.counts, alpha)
        case Method.BLOCKS | Method.MIXTURE:
            table = scores if isinstance(scores, ScoreTable) else ScoreTable.of_parts(scores)
            return blocks_lower(table, alpha) if method is Method.BLOCKS else mixture_lower(table, alpha)
