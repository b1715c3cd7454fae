"""What all figures share: colours, fonts, and the lines that say what is shown."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
from altair.typing import ChartType
from altair.utils.schemapi import UndefinedType

from gfscore import views
from gfscore.errors import PLURALS, ResultError
from gfscore.outputs.escaping import shorten
from gfscore.results import Audit, ModelAudit

# Okabe and Ito's colours, which colour-blind readers tell apart; the order alternates dark and light for grey printers.
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
INK, GREY, PALE = "#222222", "#767676", "#DDDDDD"
LINES = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
DASHES = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4], [1, 3])  # lines are told apart without colour, too
SHADES: Final = "viridis"  # perceptually uniform: rises in lightness, so that it survives a grey printer
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
TITLE_SIZE, NOTE_SIZE, TEXT_SIZE = 15, 11, 11
PADDING = 12
CHARACTER = 0.54  # mean width of one, as a share of the font size
METHODS = {"hoeffding": "Hoeffding", "bernstein": "Bernstein", "kl": "KL"}  # names as people write them
NAME_LIMIT = 190  # pixels of a name; longer ones end in an ellipsis
NARROW = 450  # pixels across that no longer hold panels beside each other, nor names on both sides
NARROW_NAMES = 140  # pixels of a name there
HALO: dict[str, Any] = {"stroke": "white", "strokeWidth": 3}  # below a text, to keep lines out of its letters


@dataclass(frozen=True, slots=True)
class Look:
    """How figures are drawn: with words around them, or bare for a paper, whose caption has the words."""

    bare: bool = False  # without title and notes
    font: str = FONT
    share: float = 1.0  # of the usual width
    room: float | None = None  # pixels across that the whole figure may take, where that is limited
    character: float = CHARACTER  # mean width of one, as a share of the font size


Part = Any  # a chart that becomes part of a figure: Altair's own types do not survive its chains of methods
USUAL = Look()
_look_now: ContextVar[Look] = ContextVar("look", default=USUAL)


@contextmanager
def drawn_as(look: Look) -> Iterator[None]:
    """What is drawn inside has this look."""
    token = _look_now.set(look)
    try:
        yield
    finally:
        _look_now.reset(token)


def px(width: float) -> int:
    """Pixels across that stand for so many of the usual ones."""
    return max(1, round(width * _look_now.get().share))


def high(height: int) -> int:
    """Pixels upwards that go with the width: what is narrow is lower, too."""
    look = _look_now.get()
    return min(height, round(0.8 * look.room)) if look.room is not None and is_narrow() else height


def side(length: int) -> int:
    """Pixels of each side of a square: as wide as there is room, on a page no larger than usual."""
    return px(length) if _look_now.get().share <= 1 else length


def is_narrow() -> bool:
    """Whether the figure is for a column of a page."""
    room = _look_now.get().room
    return room is not None and room < NARROW


def room(beside: float = 0) -> float | None:
    """Pixels across that are left beside so many others; nothing where the width is not limited."""
    limit = _look_now.get().room
    return None if limit is None else max(1.0, limit - beside)


def small_text() -> int:
    """Size of numbers inside of marks: on paper no letter is smaller than the others."""
    return TEXT_SIZE if _look_now.get().bare else TEXT_SIZE - 1


def name_limit() -> int:
    """Pixels that a name takes at most."""
    return NARROW_NAMES if is_narrow() else NAME_LIMIT


def lines(text: str, width: float) -> list[str]:
    """The title of an axis, on paper in lines that are no wider than the panel they belong to."""
    return _wrap([text], int(width), TEXT_SIZE, least=12) if _look_now.get().bare else [text]


def panels(draw: Sequence[Callable[[bool], Part]], *, spacing: int, columns: int = 1) -> Part:
    """Panels beside each other; in a column of a page only so many. Each is told whether it begins a row."""
    across = columns if is_narrow() else len(draw)
    rows = [draw[at : at + across] for at in range(0, len(draw), across)]
    drawn = [[panel(at == 0) for at, panel in enumerate(row)] for row in rows]
    charts = [row[0] if across == 1 else alt.hconcat(*row, spacing=spacing) for row in drawn]
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts, spacing=14)


def chart_of(rows: Iterable[Mapping[str, Any]]) -> Part:
    """A chart of rows. Names stand only there and in scale domains, never in an expression: they stay text."""
    return alt.Chart(_Rows(values=tuple(map(dict, rows))))  # Altair copies lists whenever it copies a chart


class _Rows(alt.InlineData):
    """Rows that are validated with the chart they end in, not each by itself: that took most of the time."""

    _class_is_valid_at_instantiation = False


def looks(channel: Callable[..., Any], field: str, values: Sequence[str], given: Iterable[Any], **options: Any) -> Any:
    """A colour, shape or dash of its own for each value of a field, in the order of the legend."""
    own = [look for _, look in zip(values, given, strict=False)]
    return channel(f"{field}:N", scale=alt.Scale(domain=list(values), range=own), **options)


def tip(field: str, title: str | UndefinedType = alt.Undefined, form: str = ".4f") -> alt.Tooltip:
    """A number in a tooltip."""
    return alt.Tooltip(f"{field}:Q", format=form, title=title)


def one(result: Audit | ModelAudit) -> ModelAudit:
    """The only model of a result."""
    return result if isinstance(result, ModelAudit) else result.model


def several(result: Audit | ModelAudit, *, least: int = 1, what: str = "this figure") -> tuple[ModelAudit, ...]:
    """The models of a result, from the highest score down."""
    models = (result,) if isinstance(result, ModelAudit) else result.models
    if len(models) < least:
        raise ResultError(f"{what} compares at least {least} models; this result holds {len(models)}. Audit several.")
    return tuple(sorted(models, key=lambda model: -model.aggregate))


def score_title(model: ModelAudit, of: str = "") -> str:
    """Title of an axis that shows scores: the score has no unit but a scale."""
    low, high = model.score.range
    return views.printable(f"{views.score_name(model.score)}{of} (scale {low:g} to {high:.3g})")


def intervals_note(models: Iterable[ModelAudit], mark: str = "Lines") -> str:
    """What the intervals of the picture mean, in all models that have some."""
    found = [model.interval for model in models]
    method = either(METHODS.get(how.method, how.method) for how in found)
    level = either(f"{1 - how.delta:g}" for how in found)
    return f"{mark} are {method} intervals: all of a model hold together with probability {level}."


def frame(
    chart: Part,
    title: str,
    notes: Iterable[str],
    *,
    models: Sequence[ModelAudit],
    width: int,
    settings: bool = True,
) -> ChartType:
    """The chart with its title and notes, wrapped to ``width`` pixels, and the look that all figures share.

    The first line below the title says what was scored, and, unless ``settings`` is false, how. The description, which
    names a page and is read to those who cannot see, is the title and whose picture it is.
    """
    said = (_about(models, settings=settings), *notes)
    return frame_text(chart, title, said, width=width, description=f"{title}: {_whose(models)}")


def frame_text(
    chart: Part, title: str, notes: Iterable[str], *, width: int, description: str | None = None
) -> ChartType:
    """The chart with a title and notes, wrapped to ``width`` pixels, and the look that all figures share."""
    said, look = [views.printable(note) for note in notes], _look_now.get()
    heading = alt.TitleParams(
        text=_wrap([title], width, TITLE_SIZE),
        subtitle=_wrap(said, width, NOTE_SIZE),
        anchor="start",
        frame="bounds",
        font=FONT,
        fontSize=TITLE_SIZE,
        color=INK,
        subtitleFont=FONT,
        subtitleFontSize=NOTE_SIZE,
        subtitleColor=GREY,
        subtitlePadding=5,
        offset=14,
    )
    # In one go: each call that changes a chart copies it whole, with its data.
    framed: ChartType = chart.properties(
        **({} if look.bare else {"title": heading}),
        description=description or title,
        padding=dict.fromkeys(("left", "right", "top", "bottom"), 1 if look.bare else PADDING),  # a page may add to one
        background="white",
        config=_look(),
    )
    return framed


def _about(models: Sequence[ModelAudit], *, settings: bool) -> str:
    parts = PLURALS[models[0].partition]
    counts = [entry.n for model in models for entry in model.classes]
    sizes = [model.samples.n for model in models]
    classes = [len(model.classes) for model in models]
    how = either(filter(None, (", ".join(views.settings(model.score)) for model in models if settings)))
    each = " each" if len(models) > 1 else ""
    text = f"{_whose(models)}; {_range(sizes)} samples{each}, {_range(classes)} {parts} with n = {_range(counts)}"
    return f"{text}; {how}." if how else f"{text}."


def _whose(models: Sequence[ModelAudit]) -> str:
    return shorten(models[0].name) if len(models) == 1 else f"{len(models)} models"


def _look() -> alt.Config:
    text: dict[str, Any] = {"labelFontSize": TEXT_SIZE, "titleFontSize": TEXT_SIZE}
    plain: dict[str, Any] = {**text, "titleFontWeight": "normal", "labelLimit": name_limit()}
    font = _look_now.get().font
    return alt.Config(
        font=font,
        axis=alt.AxisConfig(
            **plain,
            labelColor=INK,
            titleColor=INK,
            gridColor="#ECECEC",
            domainColor=GREY,
            tickColor=GREY,
            titlePadding=8,
            labelFlush=False,
            labelSeparation=5,
        ),
        view=alt.ViewConfig(stroke=None),
        legend=alt.LegendConfig(**{**plain, "labelLimit": legend_limit()}, symbolStrokeWidth=2, symbolSize=90),
        header=alt.HeaderConfig(**text),
        title=alt.TitleConfig(fontSize=TEXT_SIZE, fontWeight="bold", anchor="start", frame="group", color=INK),
        text=alt.MarkConfig(font=font, fontSize=TEXT_SIZE, color=INK),
    )


def legend_limit() -> int:
    """Pixels that a text of a legend takes at most: in a column it stands below the figure, alone."""
    return 2 * NARROW_NAMES if is_narrow() else NAME_LIMIT


def legend_columns(texts: Sequence[str], usual: int) -> int:
    """Texts of a legend beside each other: as many as fit where the width is limited."""
    limit = _look_now.get().room
    widest = max(map(width_of, texts), default=0.0) + 45  # with the symbol before and the gap behind it
    return usual if limit is None else max(1, min(usual, int(limit / widest)))


def names_axis(names: Sequence[str], **options: Any) -> dict[str, Any]:
    """Scale and axis of rows that are names: in this order, without lines."""
    axis = alt.Axis(title=None, ticks=False, domain=False, labelPadding=6, **options)
    return {"scale": alt.Scale(domain=list(names)), "axis": axis, "type": "nominal"}


def width_of(text: str, size: int = TEXT_SIZE) -> float:
    """About how many pixels a text takes, as far as its shortening."""
    return min(name_limit(), len(text) * _look_now.get().character * size)


def _wrap(texts: Iterable[str], width: int, size: int, *, least: int = 30) -> list[str]:
    columns = max(least, int(width / (_look_now.get().character * size)))
    return [line for text in texts for line in textwrap.wrap(text, columns)]


def either(values: Iterable[str]) -> str:
    """What models have in common, or what they differ in: ``betting or KL``."""
    return " or ".join(sorted(set(values)))


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
