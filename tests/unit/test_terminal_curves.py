"""Robust accuracy over eps in a terminal: what is drawn is what the result says, in any width and encoding."""

import io

import pytest
from rich.console import Console

from gfscore.cli.screens import Screen
from gfscore.outputs.terminal_curves import DIGITS, EDGE, HEIGHT, PARTS, curve_plot, curve_rows
from many_models import many_models

AUDIT = many_models(3, 10)


def console(width: int, encoding: str = "utf-8", *, terminal: bool = True) -> Console:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    return Screen(file=stream, force_terminal=terminal, width=width, color_system=None, markup=False, highlight=False)


def drawn(made: Console, *parts) -> str:
    """The lines as the terminal gets them: one character that it lacks would be an error."""
    for part in parts:
        made.print(part)
    made.file.flush()
    return made.file.buffer.getvalue().decode(made.encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "ascii"])
@pytest.mark.parametrize("width", [40, 60, 80, 160])
def test_nothing_is_wider_than_the_terminal_in_any_encoding(width, encoding):
    one, several = console(width, encoding), console(width, encoding)
    lines = drawn(one, *curve_plot(AUDIT.models[0], one)).splitlines()
    assert len(lines) >= 2 + HEIGHT + 3  # a narrow one breaks the legend
    rows = drawn(several, *curve_rows(AUDIT.models, several)).splitlines()
    assert rows[-1].strip()
    assert max(map(len, lines + rows)) <= width


def test_the_shares_of_the_headline_stand_in_the_legend():
    made, model = console(80), AUDIT.models[0]
    rung = model.robustness.headline
    first, second = drawn(made, *curve_plot(model, made)).splitlines()[:2]
    assert first == f"── all samples, at 2/255: {100 * rung.value:.1f} %"
    assert second == f"╌╌ worst class at each eps, at 2/255: {rung.worst}, {100 * rung.lowest.value:.1f} %"


def test_letters_stand_at_the_height_of_their_share():
    """By ASCII, which has one letter a column: its row is the share, to half a row."""
    made, model = console(80, "ascii"), AUDIT.models[0]
    lines = drawn(made, *curve_plot(model, made)).splitlines()[2 : 2 + HEIGHT]
    most = model.robustness.rungs[-1].eps
    width = 72 - EDGE
    for rung in model.robustness.rungs:
        column = EDGE + round(rung.eps / most * (width - 1))
        for letter, share in (("*", rung.value), ("o", rung.lowest.value)):
            places = [
                1 - place / (HEIGHT - 1) for place, line in enumerate(lines) if line[column : column + 1] == letter
            ]
            hidden = letter == "*" and abs(rung.value - rung.lowest.value) < 2 / (HEIGHT - 1)
            assert hidden or min(abs(place - share) for place in places) <= 0.5 / (HEIGHT - 1) + 0.03


def test_braille_ends_where_the_curve_does():
    made, model = console(80), AUDIT.models[0]
    lines = drawn(made, *curve_plot(model, made)).splitlines()[2 : 2 + HEIGHT]
    last = [place for place, line in enumerate(lines) if len(line.rstrip()) == 72 and line.rstrip()[-1] not in " │"]
    share = model.robustness.rungs[-1].value
    assert any(abs(1 - (place + 0.5) / HEIGHT - share) <= 1 / HEIGHT for place in last)


def test_rows_of_several_models_fall_with_their_shares():
    made = console(80, "ascii")
    lines = drawn(made, *curve_rows(AUDIT.models, made)).splitlines()
    for model, line in zip(AUDIT.models, lines[-len(AUDIT.models) :], strict=True):
        whole, worst = line[-2 * PARTS - 2 : -PARTS - 2], line[-PARTS:]
        assert set(whole + worst) <= set(DIGITS)
        assert list(whole) == sorted(whole, reverse=True)
        last = model.robustness.rungs[-1]
        assert (int(whole[-1]), int(worst[-1])) == (int(10 * last.value), int(10 * last.lowest.value))


def test_a_pipe_has_the_table_alone_and_so_has_a_result_without_radii():
    pipe, screen = console(80, terminal=False), console(80)
    assert curve_plot(AUDIT.models[0], pipe) == curve_rows(AUDIT.models, pipe) == []
    bare = AUDIT.models[0].model_copy(update={"robustness": None})
    assert curve_plot(bare, screen) == []
    assert curve_rows([bare, AUDIT.models[1]], screen) == []
    assert curve_plot(AUDIT.models[0], console(30)) == []


def test_clean_accuracy_of_other_samples_is_not_joined():
    model = AUDIT.models[0]
    part = model.model_copy(update={"robustness": model.robustness.model_copy(update={"n": 1})})
    made = console(80, "ascii")
    lines = drawn(made, *curve_plot(part, made)).splitlines()[2 : 2 + HEIGHT]
    assert not any(line[EDGE : EDGE + 2].strip() for line in lines)
