"""Whether a printed number is the value that was computed: rounded once, or twice."""

from decimal import ROUND_HALF_UP, Decimal

TWICE = Decimal("0.55")  # rounding to one digit more first moves a number by at most 0.05 + 0.5 of its last unit


def rounds_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` correctly rounded to as many decimals as it shows.

    >>> rounds_to(0.104478, "0.104"), rounds_to(0.104478, "0.105")
    (True, False)
    """
    return _rounded(Decimal(value), _unit(printed)) == Decimal(printed)


def rounds_twice_to(value: float, printed: str) -> bool:
    """Whether ``printed`` is ``value`` rounded to one decimal more, and that rounded again.

    >>> rounds_twice_to(0.104478, "0.105")
    True
    """
    unit = _unit(printed)
    return _rounded(_rounded(Decimal(value), unit / 10), unit) == Decimal(printed)


def within_rounding(value: float, printed: str) -> bool:
    """Whether rounding, once or twice, explains the difference: it is at most 0.55 of the last printed unit.

    >>> within_rounding(0.104478, "0.105"), within_rounding(0.1044, "0.105")
    (True, False)
    """
    return abs(Decimal(value) - Decimal(printed)) <= TWICE * _unit(printed)


def _unit(printed: str) -> Decimal:
    return Decimal(1).scaleb(int(Decimal(printed).as_tuple().exponent))


def _rounded(value: Decimal, unit: Decimal) -> Decimal:
    return value.quantize(unit, rounding=ROUND_HALF_UP)
