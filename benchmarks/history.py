"""Ratios over time: keep those of a night, draw all nights, and fail where one got worse by more than a fifth.

``python benchmarks/history.py FOLDER [results.md]`` adds ``FOLDER/DATE.json`` from the page that ``make bench`` wrote,
draws ``FOLDER/index.html``, and ends with 1 if a ratio is more than 20 % worse than the median of the nights before.
``python benchmarks/history.py --kept-by artefacts.json --branch main`` prints which run last kept its nights, from
what GitHub lists of artefacts: a run that ended without any of them is not asked, else its end would be theirs.
"""

import argparse
import json
import re
import sys
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

WORSE = 0.2  # how much a ratio may lose
NIGHTS = 14  # that it is compared with
VALUE = re.compile(r"(?P<value>\d[\d,]*(?:\.\d+)?)(?: \([≤≥] [^)]*\))?")
OURS = ("scoring", "the whole", "gfscore")  # a ratio that begins with our time is better when it is small


def ratios(page: str) -> dict[str, float]:
    r"""Every ratio of a page, by what it is of and in which section.

    What stands above and below the line is said in the row, or in the head of a column.

    >>> ratios("## One\n| ratio |  |\n| --- | --: |\n| scoring / reading | 1.5 (≤ 2 asked: met) |")
    {'One: scoring / reading': 1.5}
    >>> ratios("## Two\n| size | time | a loop / search |\n| --- | --: | --: |\n| 10 × 3 | 2 s | 1,200 |")
    {'Two: a loop / search, 10 × 3': 1200.0}
    """
    found: dict[str, float] = {}
    section, head = "", None
    for line in page.splitlines():
        if line.startswith("## "):
            section = line[3:]
        if not line.startswith("|"):
            head = None
            continue
        what, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if head is None:
            head = cells
            continue
        for column, cell in zip(head, cells, strict=False):
            name = f"{column}, {what}" if " / " in column else what if " / " in what else None
            if name and (read := VALUE.fullmatch(cell)):
                found[f"{section}: {name}"] = float(read["value"].replace(",", ""))
    return found


def is_smaller_better(name: str) -> bool:
    """Whether our own time stands above the line."""
    return name.partition(": ")[2].startswith(OURS)


def _is_worse(name: str, value: float, usual: float) -> bool:
    """Whether a ratio lost more than a fifth of what it usually is."""
    return (value / usual - 1 if is_smaller_better(name) else 1 - value / usual) > WORSE


def regressions(now: dict[str, float], before: list[dict[str, float]]) -> list[str]:
    """What got worse than the median of the nights before by more than a fifth, in words.

    >>> regressions({"One: a loop / scoring": 79.0}, [{"One: a loop / scoring": 100.0}])
    ['One: a loop / scoring: 79, and 100 before']
    """
    found = []
    for name, value in now.items():
        known = [night[name] for night in before if name in night][-NIGHTS:]
        if known and _is_worse(name, value, usual := median(known)):
            found.append(f"{name}: {value:g}, and {usual:g} before")
    return found


def page(nights: dict[str, dict[str, float]]) -> str:
    """A page with a picture for each ratio, drawn without script: a point a night, and what would fail now."""
    names = sorted({name for night in nights.values() for name in night})
    parts = [_picture(name, [(date, night[name]) for date, night in nights.items() if name in night]) for name in names]
    what = f"Dashed: a fifth worse than the median of up to {NIGHTS} nights before the last. Red: a night that failed."
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Benchmarks</title>"
        "<style>body{font:14px sans-serif;margin:1em auto;max-width:42em}"
        "text{font-size:11px}figure{margin:1.5em 0}</style>"
        f"<h1>Ratios by night</h1><p>{what}</p>{''.join(parts)}</html>\n"
    )


def _picture(name: str, values: list[tuple[str, float]]) -> str:
    usual = [median(value for _, value in values[max(at - NIGHTS, 0) : at]) for at in range(1, len(values))]
    failing = 1 + WORSE if is_smaller_better(name) else 1 - WORSE
    limit = usual[-1] * failing if usual else None
    top = max([value for _, value in values] + [limit or 0]) or 1.0
    places = [(10 + 580 * at / max(len(values) - 1, 1), 90 - 80 * value / top) for at, (_, value) in enumerate(values)]
    failed = [False, *(_is_worse(name, value, past) for (_, value), past in zip(values[1:], usual, strict=True))]
    drawn = (
        f"<polyline points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in places)}' fill=none stroke=teal stroke-width=2 />"
    )
    if limit is not None:
        y = f"{90 - 80 * limit / top:.1f}"
        drawn += f"<line x1=10 x2=590 y1={y} y2={y} stroke=grey stroke-dasharray='4 4' />"
    for (x, y), (date, value), bad in zip(places, values, failed, strict=True):
        colour = "firebrick" if bad else "teal"
        drawn += f"<circle cx={x:.1f} cy={y:.1f} r=3 fill={colour}><title>{escape(date)}: {value:g}</title></circle>"
    for x, anchor, (date, _) in ((10, "start", values[0]), (590, "end", values[-1]))[: len(values)]:
        drawn += f"<text x={x} y=108 text-anchor={anchor}>{escape(date)}</text>"
    better = "less is better" if is_smaller_better(name) else "more is better"
    said = f"{name}: {values[-1][1]:g} on {values[-1][0]} ({better}; the top is {top:g})"
    svg = f"<svg viewBox='0 0 600 112' width='100%' role=img aria-label='{escape(said, quote=True)}'>{drawn}</svg>"
    return f"<figure><figcaption>{escape(said)}</figcaption>{svg}</figure>"


def kept_by(artefacts: list[dict[str, Any]], branch: str) -> int | None:
    """Which run last kept its nights: the newest artefact of this branch that is still there.

    >>> run = {"id": 7, "head_branch": "main"}
    >>> old = {"created_at": "2026-01-01", "expired": False, "workflow_run": run}
    >>> kept_by([old, {**old, "created_at": "2026-01-02", "expired": True}], "main")
    7
    """
    there = [each for each in artefacts if not each["expired"] and each["workflow_run"]["head_branch"] == branch]
    newest = max(there, key=lambda each: str(each["created_at"]), default=None)
    return newest and newest["workflow_run"]["id"]


def main(folder: Path, written: Path, date: str) -> int:
    """Add a night, draw all, and say what got worse."""
    folder.mkdir(parents=True, exist_ok=True)
    now = ratios(written.read_text(encoding="utf-8"))
    if not now:
        print(f"{written}: holds no ratio. Run make bench first.")
        return 2
    nights = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    before = [night for other, night in nights.items() if other < date]
    worse = regressions(now, before)
    (folder / f"{date}.json").write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(page(dict(sorted({**nights, date: now}.items()))), encoding="utf-8")
    gone = sorted(before[-1].keys() - now.keys()) if before else []
    print("\n".join([*worse, *(f"{name}: no longer measured" for name in gone)]), end="\n" if worse or gone else "")
    print(f"{len(now)} ratios beside {len(before)} nights, {len(worse)} worse by more than {WORSE:.0%}")
    return 1 if worse else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("results", type=Path, nargs="?", default=Path(__file__).with_name("results.md"))
    parser.add_argument("--kept-by", type=Path, metavar="FILE", help="print which run last kept its nights")
    parser.add_argument("--branch", default="main", help="of which the run has to be")
    given = parser.parse_args()
    if given.kept_by:
        listed = json.loads(given.kept_by.read_text(encoding="utf-8"))["artifacts"]
        print(kept_by(listed, given.branch) or "")
    elif given.folder:
        sys.exit(main(given.folder, given.results, f"{datetime.now(UTC):%Y-%m-%d}"))
    else:
        parser.error("name the folder of the nights")
