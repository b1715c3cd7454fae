"""Robust accuracy over eps as a terminal can draw it: one model as two curves, several as a row of blocks each.

Only for terminals: what reads a pipe has the table. Where the encoding lacks Braille and blocks, letters and digits
stand for them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console, RenderableType
from rich.text import Text

from gfscore import views
from gfscore.outputs import robust_words
from gfscore.outputs.fitting import column_table, fit
from gfscore.results import ModelAudit, Robustness, Rung

HEIGHT, MOST_WIDTH, LEAST_WIDTH = 9, 72, 30  # characters of a plot; narrower ones say nothing
EDGE = 7  # characters left of it: "100 % │"
PARTS = 16  # characters of a row
BRAILLE, DOTS = 0x2800, ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # in a cell, from the top left
ACROSS, DOWN = 2, 4  # dots of a cell
BLOCKS, DIGITS = "▁▂▃▄▅▆▇█", "0123456789"
NEEDED = "⠿▁█●╌│└─"  # what the drawings are made of
LOOKS = ("blue", "red")  # all samples, and the worst class
Curve = Sequence[tuple[float, float]]  # eps, and the share there


def curve_plot(model: ModelAudit, console: Console) -> list[Text]:
    """All samples and the worst class over eps, each with its share at the eps of the headline; no lines in a pipe."""
    found, width = model.robustness, min(console.width - 1, MOST_WIDTH) - EDGE
    if found is None or not console.is_terminal or width < LEAST_WIDTH:
        return []
    rich = _can_draw(console)
    curves, most = _curves(model, found), found.rungs[-1].eps
    cells = [[(" ", "")] * width for _ in range(HEIGHT)]
    for curve, style, letter in zip(curves, LOOKS, "*o", strict=True):
        for row, column, sign in _braille(curve, most, width, style) if rich else _letters(curve, most, width, letter):
            cells[row][column] = (_merged(cells[row][column][0], sign), style)
    for curve, style, letter in zip(curves, LOOKS, "●●" if rich else "*o", strict=True):
        share = _at(curve, found.eps)
        if share is not None:
            cells[_place(share, HEIGHT)][round(found.eps / most * (width - 1))] = (letter, f"bold {style}")
    bar, corner, line = "│└─" if rich else "|+-"
    marks = {0: "100 %", HEIGHT // 2: " 50 %", HEIGHT - 1: "  0 %"}
    rows = [_whole(Text.assemble(f"{marks.get(place, ''):>5} {bar}", *row)) for place, row in enumerate(cells)]
    axis, numbers = _axis(found, width, line)
    return [*_legend(model, found, rich=rich), *rows, _whole(Text(f"{'':>5} {corner}{axis}")), _whole(Text(numbers))]


def curve_rows(models: Sequence[ModelAudit], console: Console) -> list[RenderableType]:
    """A row of blocks for each model, the higher the more withstand attacks: of all samples, and of the worst class."""
    found = [(model, model.robustness) for model in models if model.robustness is not None]
    if len(found) < 2 or not console.is_terminal or len({each.norm for _, each in found}) > 1:
        return []
    signs, most = BLOCKS if _can_draw(console) else DIGITS, max(each.rungs[-1].eps for _, each in found)
    table = column_table("model")
    for heading in (robust_words.WHOLE, f"worst {models[0].partition}"):
        table.add_column(heading, no_wrap=True)
    for model, each in found:
        rows = [_signs(curve, most, signs) for curve in _curves(model, each)]
        table.add_row(
            Text(views.printable(model.name)), *(Text(row, style=look) for row, look in zip(rows, LOOKS, strict=True))
        )
    scale = "low to full blocks" if signs is BLOCKS else "digits from 0 to 9"
    up_to = views.eps_text(most, found[0][1].norm)
    return [Text(f"Robust accuracy from 0 to 100 % ({scale}), over attacks from 0 to {up_to}:"), fit(console, table)]


def _can_draw(console: Console) -> bool:
    try:
        NEEDED.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _curves(model: ModelAudit, found: Robustness) -> tuple[Curve, Curve]:
    """Of all samples and of the worst class at each eps; from clean accuracy on, where that is of the same samples."""
    starts = (model.accuracy, min(entry.accuracy for entry in model.classes))
    joined = found.n == model.samples.n

    def curve(of: str, start: float) -> Curve:
        return [*([(0.0, start)] if joined else []), *_shares(found.rungs, of)]

    return curve("whole", starts[0]), curve("lowest", starts[1])


def _shares(rungs: Sequence[Rung], of: str) -> Iterator[tuple[float, float]]:
    for rung in rungs:
        value = getattr(rung, of).value
        if value is not None:
            yield rung.eps, value


def _at(curve: Curve, eps: float) -> float | None:
    """The share on the straight line between two points of the curve; nothing before its first and after its last."""
    for (low, start), (high, end) in pairwise(curve):
        if low <= eps <= high * (1 + 1e-9):
            return start + (end - start) * (eps - low) / (high - low)
    return None


def _place(share: float, height: int) -> int:
    """How far below the top a share stands."""
    return round((1 - share) * (height - 1))


def _braille(curve: Curve, most: float, width: int, style: str) -> Iterator[tuple[int, int, str]]:
    """Cells of a line; that of the worst class is dashed, which tells both apart without colours."""
    before, dots = None, ACROSS * width
    for column in range(dots):
        share = _at(curve, most * column / (dots - 1))
        if share is None:
            before = None
            continue
        here = _place(share, DOWN * HEIGHT)
        step = range(min(here, here if before is None else before), max(here, here if before is None else before) + 1)
        before = here
        if style == LOOKS[1] and column % 6 >= 3:
            continue
        for dot in step:
            yield dot // DOWN, column // ACROSS, chr(BRAILLE | DOTS[dot % DOWN][column % ACROSS])


def _letters(curve: Curve, most: float, width: int, letter: str) -> Iterator[tuple[int, int, str]]:
    for column in range(width):
        share = _at(curve, most * column / (width - 1))
        if share is not None:
            yield _place(share, HEIGHT), column, letter


def _merged(there: str, sign: str) -> str:
    """Dots of both, where both are Braille; else the later one."""
    dotted = there >= chr(BRAILLE) and sign >= chr(BRAILLE)
    return chr(ord(there) | ord(sign)) if dotted else sign


def _signs(curve: Curve, most: float, signs: str) -> str:
    shares = (_at(curve, most * part / (PARTS - 1)) for part in range(PARTS))
    return "".join(" " if share is None else signs[min(len(signs) - 1, int(share * len(signs)))] for share in shares)


def _legend(model: ModelAudit, found: Robustness, *, rich: bool) -> list[Text]:
    """What each line is, with its share at the eps of the headline."""
    whole, worst = ("──", "╌╌") if rich else ("*", "o")
    rung, eps = found.headline, robust_words.eps_text(found)
    return [
        Text.assemble((whole, LOOKS[0]), f" {robust_words.WHOLE}, at {eps}: {views.percent(rung.value)}"),
        Text.assemble(
            (worst, LOOKS[1]),
            f" worst {model.partition} at each eps, at {eps}: {views.printable(rung.worst)}, ",
            views.percent(rung.lowest.value),
        ),
    ]


def _axis(found: Robustness, width: int, line: str) -> tuple[str, str]:
    """The line below the plot, and the numbers below that: as many as stand apart, that of the headline first."""
    most = found.rungs[-1].eps
    unit, said = robust_words.eps_unit(found.norm, most)
    numbers = [" "] * (EDGE + width)
    wanted = [0.0, found.eps, most, *(rung.eps for rung in robust_words.shown_rungs(found))]
    for eps in wanted:
        text = f"{eps / unit:.3g}"
        end = min(EDGE + width, EDGE + round(eps / most * (width - 1)) + (len(text) + 1) // 2)
        around = numbers[max(0, end - len(text) - 1) : end + 1]
        if not "".join(around).strip():
            numbers[end - len(text) : end] = text
    label = f" eps ({views.norm_text(found.norm)}{said})"
    return line * width, f"{''.join(numbers).rstrip()}\n{'':>{EDGE - 1}}{label}"


def _whole(line: Text) -> Text:
    line.rstrip()
    line.no_wrap, line.overflow = True, "ignore"
    return line
