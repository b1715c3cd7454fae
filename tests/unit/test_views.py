"""Numbers as people see them: what is proven is never shown as more than that."""

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gfscore import Options, views
from gfscore.jobs.certify import certify_given
from gfscore.outputs import report, sentences
from gfscore.outputs.tables import Layout, TableFormat, render_table

values, places = st.floats(-2.0, 2.0), st.integers(0, 6)


def exact(value, digits, how):
    """By decimal arithmetic on the shortest decimal that names the float."""
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), rounding=how)


@given(values, places)
def test_ends_are_rounded_outward_and_by_less_than_a_digit(value, digits):
    floor, ceiling = (exact(value, digits, how) for how in (ROUND_FLOOR, ROUND_CEILING))
    if abs(value - round(value, digits)) <= views.SLACK:  # so near that it is that digit
        floor = ceiling = exact(round(value, digits), digits, ROUND_FLOOR)
    assert Decimal(repr(views.floored(value, digits))) == floor
    assert Decimal(repr(views.ceiled(value, digits))) == ceiling


@given(values, values, values, places)
def test_an_interval_as_shown_holds_what_it_held(first, second, third, digits):
    low, value, high = sorted((first, second, third))
    shown = [
        float(text.replace("−", "-")) for text in re.findall(r"[−\d.]+", views.estimate(value, (low, high), digits))
    ]
    assert shown[1] <= low + views.SLACK
    assert shown[2] >= high - views.SLACK
    assert shown[1] <= shown[0] <= shown[2]


@given(st.floats(0, 1), st.floats(0, 1))
def test_shares_are_rounded_outward(first, second):
    low, high = sorted((first, second))
    shown = [Decimal(text) / 100 for text in re.findall(r"[\d.]+", views.between((low, high)))]
    slack = Decimal(repr(views.SLACK))
    assert shown[0] - slack <= Decimal(repr(low)) < shown[0] + Decimal("0.001")
    assert shown[1] - Decimal("0.001") < Decimal(repr(high)) <= shown[1] + slack


def test_numbers_that_fit_stay_as_they_are():
    assert views.estimate(0.3, (0.29, 0.31)) == "0.300 [0.290, 0.310]"
    assert views.estimate(0.0, (0.0, 0.0)) == "0.000 [0.000, 0.000]"
    assert views.ends((-0.00001, 0.00001)) == ("−0.001", "0.001")
    assert views.ends((0.0, 1.000000000001)) == ("0.000", "1.000")  # what rounding alone has added
    assert views.between((0.07, 0.29)) == " [7.0 %, 29.0 %]"
    assert views.estimate(None, None, certified=True) == "–"


@pytest.fixture(scope="module")
def certificate():
    """Mean radii that lie just below a shown digit: 0.0999 of either class, and 0.0999 as a whole."""
    logits, labels = [[3, 0], [0, 3]] * 5, [0, 1] * 5
    return certify_given(logits, labels, [0.0999] * 10, options=Options(permutations=0))


def test_certified_radii_are_never_shown_larger(certificate):
    model = certificate.model
    assert views.score_text(model, model.aggregate) == "0.099"
    assert views.estimate(model.aggregate, None) == "0.100"  # as another score would be shown
    shown = {name: value.split(" ")[0] for name, value, _ in sentences.metric_rows(model)}
    assert {shown[name] for name in ("given score", "mean of the classes", "worst class (WCR)")} == {"0.099"}
    everywhere = [render_table(certificate, layout=layout, form=TableFormat.MARKDOWN) for layout in Layout]
    everywhere += [repr(model), model._repr_html_(), report.markdown(certificate)]
    cells = re.findall(r"<td[^>]*>([^<]*)", report.html(certificate))
    assert any(cell.startswith("0.099") for cell in cells)
    assert not any(cell.startswith("0.100") for cell in cells)
    for text in everywhere:
        assert "0.099" in text
        assert "0.100" not in text
    assert "0.0999" in render_table(certificate, layout=Layout.MODELS, form=TableFormat.CSV)  # for programs: all digits
