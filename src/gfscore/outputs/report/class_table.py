"""Every class of a model as a row of a page: its numbers as text, and small pictures of them."""

from collections.abc import Iterable, Sequence

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import robust_words, sentences
from gfscore.outputs.escaping import as_html, shorten
from gfscore.outputs.report import page_charts
from gfscore.outputs.report.html_parts import INTERVALS, Html, table, unbroken
from gfscore.results import ClassResult, ModelAudit

ON_PAPER = 25  # classes of each model that are printed where there are many, the lowest
MANY = 100  # classes, of which more are not printed in full
SMALL = 100  # samples of a class, of which fewer make its score mostly chance: the shrunken one is drawn beside it
SHRUNKEN = "shrunken score"
SHRUNKEN_NOTE = (
    "Shrunken: the score drawn towards the mean of all {parts} by as much as chance explains; the tick in the picture, "
    "where a {part} has fewer than {small} samples."
)


def headings(model: ModelAudit) -> tuple[str, ...]:
    """What the columns of a model's table are called."""
    abstained = ["abstained"] if model.abstained is not None else []
    shares = list(sentences.class_shares(model))
    shrunken = [SHRUNKEN] if _shrunken(model) else []
    return (
        model.partition,
        *shares[:1],
        f"{views.column_name(model.score)}",
        *shrunken,
        *shares[1:],
        views.accuracy_name(model.score),
        *abstained,
        "n",
        "most confused with",
        "may be the worst",
    )


def _shrunken(model: ModelAudit) -> bool:
    """Whether shrunken scores are shown: where some class is small, and they are known."""
    return any(entry.n < SMALL and entry.shrunken is not None for entry in model.classes)


def phone_labels(models: Iterable[ModelAudit]) -> tuple[dict[tuple[str, ...], str], str]:
    """A class for each kind of table, and the style that names its cells where they stand below each other."""
    kinds = {each: f"v{index}" for index, each in enumerate(dict.fromkeys(map(headings, models)))}
    rules = [
        f'.{kind} td:nth-child({column})::before{{content:"{_css(heading)}"}}'
        for known, kind in kinds.items()
        for column, heading in enumerate(known[1:], 2)
    ]
    return kinds, f"@media screen and (max-width:700px){{{''.join(rules)}}}"


def _css(text: str) -> str:
    """Text inside a string of a style sheet: it can end neither."""
    shown = shorten(text)
    return "".join(c if c.isascii() and (c.isalnum() or c in " .,%-") else f"\\{ord(c):x} " for c in shown)


def class_table(model: ModelAudit, kind: str) -> str:
    """All classes, the lowest first; of many, paper shows the lowest only, and pictures are of these."""
    ordered = robust_words.by_robustness(model)
    many, worst = len(ordered) > MANY, _candidates(model)
    rows, looks = [], []
    for place, entry in enumerate(ordered):
        drawn = not many or place < ON_PAPER
        rows.append(_row(model, entry, worst=entry.name in worst, drawn=drawn))
        looks.append("" if drawn else "class=x")
    parts = PLURALS[model.partition]
    caption = f"{shorten(model.name)}: all {len(ordered):,} {parts}, the lowest first"
    notes = [SHRUNKEN_NOTE.format(parts=parts, part=model.partition, small=SMALL)] if _shrunken(model) else []
    paper = f"On paper: the {ON_PAPER} lowest of {len(ordered):,} {parts}." if many else ""
    html = table(
        headings(model), rows, caption=caption, looks=looks, labelled=False,
        kind=f"classes {kind}{' many' if many else ''}",
    )  # fmt: skip
    said = "".join(f"<p>{as_html(note, 400)}</p>" for note in (_drawn(model), *notes))
    return f"{said}{html}" + (f'<p class="paper">{as_html(paper)}</p>' if paper else "")


def _candidates(model: ModelAudit) -> set[str]:
    """Classes that may be the worst: by robust accuracy where it is known, else by the score."""
    known = model.worst_set if model.robustness is None else model.robustness.headline.worst_set
    return set(known)


def _drawn(model: ModelAudit) -> str:
    low, high = model.score.range
    scale = f"the {views.score_name(model.score)} on its scale from {low:g} to {high:.4g}"
    robust = "" if model.robustness is None else "robust accuracy from 0 to 100 %, "
    which = "by robust accuracy" if model.robustness is not None else "by score"
    return f"Drawn: {robust}{scale}; point and interval. May be the worst: {which}, as far as intervals tell."


def _row(model: ModelAudit, entry: ClassResult, *, worst: bool, drawn: bool) -> Sequence[str | Html]:
    shares = [share(entry) for share in sentences.class_shares(model).values()]
    cells = [unbroken(as_html(views.share_text(share)), INTERVALS) for share in shares]
    if shares and drawn and shares[0] is not None and shares[0].value is not None:
        look = "worst" if worst else "main"
        cells[0] += page_charts.bar(shares[0].value, shares[0].interval, 1.0, look)
    small = entry.n < SMALL
    score = unbroken(as_html(views.score_text(model, entry.score, entry.interval)), INTERVALS)
    if drawn:
        also = entry.shrunken if small else None
        look = "worst" if worst and not shares else "beside" if shares else "main"
        score += page_charts.bar(entry.score, entry.interval, model.score.range[1], look, also)
    shrunken = [views.score_text(model, entry.shrunken)] if _shrunken(model) else []  # a certificate: rounded down
    confused = "–"
    if entry.confused_with is not None:
        share = f"({views.percent(entry.confused_share)})"
        confused = f"{as_html(entry.confused_with)} <span class=u>{share}</span>"
    return [
        entry.name,
        *map(Html, cells[:1]),
        Html(score),
        *shrunken,
        *map(Html, cells[1:]),
        views.percent(entry.accuracy),
        *([] if model.abstained is None else [views.percent(entry.abstained)]),
        f"{entry.n:,}",
        Html(confused),
        "yes" if worst else "no",
    ]
