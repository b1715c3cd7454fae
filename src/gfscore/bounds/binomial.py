"""The Clopper-Pearson interval for shares: how often something that happens or does not, happens."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from gfscore.arrays import FloatArray
from gfscore.bounds.parts import check_level
from gfscore.errors import SamplesError


def clopper_pearson(successes: ArrayLike, counts: ArrayLike, delta: float) -> tuple[FloatArray, FloatArray]:
    r"""Lower and upper ends of all K shares at once, ``(K,)`` each, with probability at least 1 - ``delta``.

    .. math:: [B^{-1}(\alpha;\, s,\, n - s + 1),\; B^{-1}(1 - \alpha;\, s + 1,\, n - s)],
              \qquad \alpha = \delta / (2K)

    with :math:`B^{-1}` the quantile function of the Beta distribution, 0 for s = 0 below and 1 for s = n above.
    ``successes`` s and ``counts`` n are ``(K,)`` or numbers. Clopper and Pearson, Biometrika 26 (1934).

    >>> clopper_pearson(0, 100, 0.05)[1].round(4)
    np.float64(0.0362)
    """
    check_level(delta)
    happened, n = np.broadcast_arrays(np.asarray(successes, dtype=np.float64), np.asarray(counts, dtype=np.float64))
    if not ((happened >= 0) & (happened <= n) & (n >= 1)).all():
        raise SamplesError("a share needs at least one sample, and no more successes than samples.")
    alpha = delta / (2 * max(n.size, 1))
    # At the ends the quantile is not defined; any parameter serves where the value is replaced.
    lower = np.where(happened > 0, betaincinv(np.maximum(happened, 1.0), n - happened + 1.0, alpha), 0.0)
    upper = np.where(happened < n, betaincinv(happened + 1.0, np.maximum(n - happened, 1.0), 1.0 - alpha), 1.0)
    return lower[()], upper[()]
