"""Is a number at least a threshold? What its interval allows to say."""

from gfscore.results import Interval, Verdict


def judge_interval(interval: Interval | None, threshold: float) -> Verdict:
    """PASS when the whole interval is at or above the threshold, FAIL when it is wholly below, UNDECIDED otherwise.

    >>> [judge_interval(interval, 0.3).value for interval in ((0.3, 0.5), (0.1, 0.2), (0.2, 0.4), None)]
    ['PASS', 'FAIL', 'UNDECIDED', 'UNDECIDED']
    """
    if interval is not None and interval[0] >= threshold:
        return Verdict.PASS
    if interval is not None and interval[1] < threshold:
        return Verdict.FAIL
    return Verdict.UNDECIDED
