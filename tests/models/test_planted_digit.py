"""A digit with few training images is raised by methods that weigh classes, as the table of the docs has it."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in ("onnx", "onnx2torch", "torch")), reason="needs gfscore[repair]"
    ),
]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """The table's functions, images of the first seed, and the network that was trained on them."""
    import training_table

    folder = tmp_path_factory.mktemp("planted")
    files = training_table.draw_digits(folder, 0)
    return training_table, folder, files, str(training_table.plant(folder, files, 0))


@pytest.mark.parametrize("method", ["faal", "coda", "wat", "frl"])
def test_the_planted_digit_rises_beyond_its_interval(planted, method):
    table, folder, files, model = planted
    found = table.repaired(model, files, method, 0, table.DIGITS, store=folder / "store")
    before, after, lowest, _ = table.row_of(found, str(table.PLANTED), 0.0)["weak"]
    assert after > before
    assert lowest > 0  # the interval of its change holds together with those of all other digits
    assert found.gained, found.reason


def test_plain_training_of_the_same_budget_does_not_show_it(planted):
    table, folder, files, model = planted
    found = table.repaired(model, files, "at", 0, table.DIGITS, store=folder / "store")
    weighed = table.repaired(model, files, "faal", 0, table.DIGITS, store=folder / "store")
    digit = str(table.PLANTED)
    assert table.row_of(weighed, digit, 0.0)["weak"][1] > table.row_of(found, digit, 0.0)["weak"][1] + 0.1
