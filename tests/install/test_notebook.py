"""The notebook page runs from top to bottom, and shows what its cells show."""

import re

import pytest

import notebooks


@pytest.fixture(scope="module")
def kept():
    return notebooks.read()["cells"]


@pytest.fixture(scope="module")
def ran():
    pytest.importorskip("torch")
    return notebooks.execute(notebooks.read())


def texts_of(cells):
    """What each code cell shows as text, without numbers and bars: training differs a little between machines."""
    shown = []
    for cell in cells:
        if cell["cell_type"] == "code":
            texts = ["".join(each.get("text") or each["data"]["text/plain"]) for each in cell["outputs"]]
            shown.append(words(" ".join(texts)))
    return shown


def words(text):
    """The kinds of words of a text, in any order."""
    return sorted(set(re.findall(r"[A-Za-z_]{3,}", text)) - OF_NUMBERS)


OF_NUMBERS = {"saturated", "UNDECIDED", "FAIL", "PASS"}


def shown_by(cells, ending):
    (cell,) = (each for each in cells if notebooks.source(each).endswith(ending))
    return "".join("".join(each.get("text") or each["data"]["text/plain"]) for each in cell["outputs"])


def test_every_cell_runs_and_leads_with_robust_accuracy(ran):
    audit = shown_by(ran, "\nresult")
    assert audit.index("robust accuracy") < audit.index("GREAT score ", audit.index("\n"))
    assert "no_pixels: the images reach from" in shown_by(ran, 'print(f"{flag.code}: {flag.message}")')
    standard, hardened = re.findall(r"robust accuracy ([\d.]+)%, GREAT score ([\d.]+)", shown_by(ran, '{great}")'))
    assert float(standard[0]) + 3 < float(hardened[0])
    assert float(standard[1]) + 0.1 > float(hardened[1])  # which confidences do not tell


def test_the_file_keeps_the_cells_with_what_they_show(kept, ran):
    assert [notebooks.source(cell) for cell in kept] == [notebooks.source(cell) for cell in ran]
    for old, new in zip(texts_of(kept), texts_of(ran), strict=True):
        assert old == new


def test_the_page_shows_tables_pictures_and_texts(kept):
    page = notebooks.markdown(kept)
    assert page.startswith("# My torch model in a notebook")
    assert page.count('<div class="shown">') == 2
    assert page.count("data:image/png;base64,") == 1
    assert "```text\nstandard: clean accuracy" in page


def test_a_cell_that_fails_is_not_passed_over():
    cell = {"cell_type": "code", "metadata": {}, "source": ["1 / 0"], "outputs": []}
    with pytest.raises(ZeroDivisionError):
        notebooks.execute({"cells": [cell]})
