import io
import json
import re
from itertools import pairwise

import pytest
from rich.console import Console

from gfscore.outputs.reproduction_text import markdown_page, show_reproduction
from gfscore.paper import DATASETS, reproduce

RESULTS = {dataset: reproduce(dataset) for dataset in DATASETS}


def shown(reproduction, width=100):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show_reproduction(reproduction, console)
    return console.file.getvalue()


def changed(reproduction, **changes):
    """The reproduction with its first claim changed."""
    first = reproduction.claims[0].model_copy(update=changes)
    return reproduction.model_copy(update={"claims": (first, *reproduction.claims[1:])})


@pytest.mark.parametrize("dataset", DATASETS)
def test_terminal_shows_every_claim_in_100_columns(dataset):
    reproduction = RESULTS[dataset]
    text = shown(reproduction)
    flat = " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 100
    for claim in reproduction.claims:
        assert claim.statement in flat
        assert claim.recomputed in flat
        assert claim.explanation in flat
    for verdict in {claim.verdict for claim in reproduction.claims}:
        count = sum(claim.verdict is verdict for claim in reproduction.claims)
        assert f"{verdict.value}: {count}" in flat


@pytest.mark.parametrize("dataset", DATASETS)
def test_terminal_tables_are_not_cut(dataset):
    text = shown(RESULTS[dataset])
    assert "…" not in text
    for table in RESULTS[dataset].tables:
        assert all(row.name in text for row in table.rows)


def test_a_number_that_is_printed_otherwise_is_marked():
    text = shown(RESULTS["cifar10"])
    assert "0.104*" in text
    assert "Wu2020 GREAT 0.105" in " ".join(text.split())


def test_terminal_takes_markup_as_text():
    assert "[red]no[/red]" in shown(changed(RESULTS["imagenet"], statement="[red]no[/red]"))


def test_page_has_both_experiments():
    page = markdown_page(list(RESULTS.values()))
    headings = [line for line in page.splitlines() if line.startswith("#")]
    assert headings[0] == "# Reproducing the paper"
    assert {"## What came out", "## What it means", "## CIFAR-10 (L2)", "## ImageNet (Linf)", "## Sources"} <= {
        *headings
    }
    assert "| fails | 7 | 6 |" in page
    assert page.endswith("|\n")
    for source in RESULTS["imagenet"].sources:
        assert source.name.replace("_", "\\_") in page


def test_page_states_a_shared_claim_once():
    page = markdown_page(list(RESULTS.values()))
    assert page.count("Of the methods compared") == 1
    assert page.count("More robust models treat their classes less equally.") == 2


@pytest.mark.parametrize("dataset", DATASETS)
def test_no_number_is_cut_short_in_80_columns(dataset):
    names = tuple(row.name for table in RESULTS[dataset].tables for row in table.rows)

    def table_rows(width):
        lines = shown(RESULTS[dataset], width=width).splitlines()
        assert max(map(len, lines)) <= width
        return [re.findall(r"\d\.\d+", line) for line in lines if line.startswith(names)]

    def numbers(rows):
        return sorted(number for row in rows for number in row)

    assert len(table_rows(200)) == len(names)
    assert numbers(table_rows(80)) == numbers(table_rows(200))  # in blocks where the width is short


def test_page_escapes_what_would_break_a_table():
    first, second = RESULTS.values()
    page = markdown_page([changed(first, statement="a | b *c* <d>", published="x_y"), second])
    line = next(line for line in page.splitlines() if "a \\| b" in line)
    assert "| a \\| b \\*c\\* &lt;d> (" in line
    assert "x\\_y" in line
    assert line.replace("\\|", "").count("|") == 5


def test_every_row_of_the_page_has_the_cells_of_its_heading():
    page = markdown_page(list(RESULTS.values()))
    lines = [line.replace("\\|", "") for line in page.splitlines()]
    for line, rule in pairwise(lines):
        if rule.startswith("|---"):
            assert line.count("|") == rule.count("|")
    tables = [line for line in lines if line.startswith("|")]
    assert all(line.endswith("|") for line in tables)


@pytest.mark.parametrize("dataset", DATASETS)
def test_json_holds_full_precision(dataset):
    reproduction = RESULTS[dataset]
    data = json.loads(reproduction.to_json())
    assert data["schema"] == "gfscore.reproduction/1"
    assert [claim["verdict"] for claim in data["claims"]] == [claim.verdict.value for claim in reproduction.claims]
    cell = data["tables"][0]["rows"][0]["cells"][3]
    assert cell["value"] == reproduction.tables[0].rows[0].cells[3].value
    assert set(cell) == {"value", "printed", "agrees"}
