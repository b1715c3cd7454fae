"""Tables in terminals of any width: columns may go where they are spare, and no cell is ever cut or split."""

import functools
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.cli.screens import Screen
from gfscore.jobs.audit import audit_models
from gfscore.jobs.options import Options
from gfscore.outputs.fitting import column_table, drop_columns, fit, wrap_words
from gfscore.outputs.terminal import show_audit
from gfscore.results import Flag
from gfscore.samples import Samples

names = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=90)
numbers = st.from_regex(r"-?\d{1,3}\.\d{3}( \[\d\.\d{3}, \d\.\d{3}\])?", fullmatch=True)
words = st.lists(st.text("abcdefghij0123456789%", min_size=1, max_size=30), min_size=1, max_size=12)


def printed(renderable, width):
    file = io.StringIO()
    Screen(file=file, width=width, markup=False, highlight=False).print(renderable)
    return file.getvalue()


@settings(deadline=None, max_examples=150)
@given(st.data(), st.integers(60, 160), st.integers(1, 5), st.integers(0, 6), st.booleans())
def test_every_cell_is_whole_at_every_width(data, width, n_numbers, n_rows, with_prose):
    headings = [f"h{place}" for place in range(n_numbers)]
    rows = [
        (data.draw(names), [data.draw(numbers) for _ in headings], " ".join(data.draw(words))) for _ in range(n_rows)
    ]
    table = column_table("name", *headings, prose="why" if with_prose else None)
    for name, values, why in rows:
        table.add_row(Text(name), *values, *([Text(why)] if with_prose else []))
    console = Screen(file=io.StringIO(), width=width)
    kept = {str(column.header) for column in drop_columns(console, table, ["h0"]).columns}
    text = printed(fit(console, table, ["h0"]), width)
    lines = text.splitlines()
    for name, values, why in rows:
        assert any(name in line for line in lines)
        for heading, value in zip(headings, values, strict=True):
            assert heading not in kept or any(value in line for line in lines)
        for word in why.split() if with_prose else ():
            assert any(word in line for line in lines)
    for line in lines:  # what is wider than the terminal is one thing that nothing could make narrower
        assert len(line.rstrip()) <= width or any(
            line.strip().removeprefix("why: ") in (name, *values) or max(map(len, why.split())) > width - 8
            for name, values, why in rows
        ), line


def test_columns_go_in_the_order_of_need():
    table = column_table("class", "n", "score", "bar")
    table.add_row("a" * 30, "1,000", "0.283 [0.259, 0.308]", "#" * 16)

    def headings(width):
        console = Screen(file=io.StringIO(), width=width)
        return [str(column.header) for column in drop_columns(console, table, ["bar", "n"]).columns]

    assert headings(79) == ["class", "n", "score", "bar"]
    assert headings(76) == ["class", "n", "score"]
    assert headings(58) == ["class", "score"]


def test_names_too_long_for_their_row_stand_above_it():
    table = column_table("class", "score", "accuracy")
    table.add_row("a" * 50, "0.283 [0.259, 0.308]", "83.1 %")
    console = Screen(file=io.StringIO(), width=60)
    assert printed(fit(console, table), 60).splitlines() == [
        "class",
        "                 score  accuracy",
        "a" * 50,
        "  0.283 [0.259, 0.308]    83.1 %",
    ]
    assert printed(fit(Screen(file=io.StringIO(), width=20), table), 20).splitlines()[1:] == [
        "a" * 50,
        "  score:",
        "    0.283 [0.259, 0.308]",
        "  accuracy: 83.1 %",
    ]


@given(words, st.integers(8, 60))
def test_texts_are_broken_between_words(texts, width):
    lines = wrap_words(Text(" ".join(texts)), width)
    assert " ".join(line.plain for line in lines).split() == texts
    assert all(len(line) <= width or " " not in line.plain for line in lines)


def test_a_table_of_nothing_is_a_table():
    assert isinstance(fit(Screen(file=io.StringIO(), width=60), column_table("name", "n")), Table)


@functools.cache
def audited(n_models, n_classes, width=8):
    return audit_models(nets(n_models, n_classes, width), Options(permutations=20))


def nets(n_models, n_classes, width=8):
    rng, labels = np.random.default_rng(0), np.arange(4 * n_classes) % n_classes
    logits = rng.normal(0, 1, (len(labels), n_classes)) + 3 * np.eye(n_classes)[labels]
    classes = [f"class-{place:05d}-".ljust(width, "x") for place in range(n_classes)]
    return {f"network-number-{m}": Samples.of(logits + m / 10, labels, class_names=classes) for m in range(n_models)}


@pytest.mark.parametrize("width", [60, 80, 100, 140])
@pytest.mark.parametrize(("models", "classes", "length"), [(1, 10, 40), (1, 1000, 8), (8, 10, 40), (22, 3, 12)])
def test_audits_of_all_sizes(models, classes, length, width):
    found = audited(models, classes, length)
    file = io.StringIO()
    show_audit(found, Screen(file=file, width=width, markup=False, highlight=False))
    text = file.getvalue()
    assert [line for line in text.splitlines() if "…" in line and "more" not in line] == []
    assert [line for line in text.splitlines() if len(line.rstrip()) > width] == []
    for model in found.models:
        assert any(model.name in line for line in text.splitlines())
        assert any(views.metric_text(model, "wcr") in line for line in text.splitlines())
        assert any(model.wcr.class_ in line for line in text.splitlines())
    if models > 1:
        assert "A higher score does not make a model more robust" in text.replace("\n", " ")
    assert "worst class (WCR)" in text


def test_a_warning_of_several_models_is_said_once():
    file = io.StringIO()
    found, flags = audited(3, 10), [Flag(code="few", message=f"{n} are few.") for n in range(2)]
    models = [
        model.model_copy(update={"flags": tuple(flags[place : place + 1])}) for place, model in enumerate(found.models)
    ]
    show_audit(found.model_copy(update={"models": tuple(models)}), Screen(file=file, width=200))
    warnings = [line for line in file.getvalue().splitlines() if line.startswith("!")]
    assert warnings == ["! 2 of 3 models (network-number-0, network-number-1); of network-number-0: 0 are few."]
