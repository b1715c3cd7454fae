"""Ratios over time: keep those of a night, draw all nights, and fail where one got worse by more than a fifth.

``python benchmarks/history.py FOLDER [results.md]`` adds ``FOLDER/DATE.json`` from the page that ``make bench`` wrote,
draws ``FOLDER/index.html``, and ends with 1 if a ratio is more than 20 % worse than the median of the nights before.
"""

import json
import re
import sys
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from statistics import median

WORSE = 0.2  # how much a ratio may lose
NIGHTS = 14  # that it is compared with
ROW = re.compile(r"\| (?P<what>[^|]+ / [^|]+) \| (?P<value>[\d.,]+)(?: \((?P<sign>[≤≥]) [^)]*\))? \|")
OURS = ("scoring", "the whole", "gfscore")  # a ratio that begins with our time is better when it is small


def ratios(page: str) -> dict[str, float]:
    r"""Every ratio of a page, by what it is of and in which section.

    >>> ratios("## One\n| scoring / reading | 1.5 (≤ 2 asked: met) |\n| a loop / scoring | 1,200 |")
    {'One: scoring / reading': 1.5, 'One: a loop / scoring': 1200.0}
    """
    found, section = {}, ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif row := ROW.fullmatch(line):
            found[f"{section}: {row['what']}"] = float(row["value"].replace(",", ""))
    return found


def is_smaller_better(name: str) -> bool:
    """Whether our own time stands above the line."""
    return name.partition(": ")[2].startswith(OURS)


def regressions(now: dict[str, float], before: list[dict[str, float]]) -> list[str]:
    """What got worse than the median of the nights before by more than a fifth, in words.

    >>> regressions({"One: a loop / scoring": 79.0}, [{"One: a loop / scoring": 100.0}])
    ['One: a loop / scoring: 79, and 100 before']
    """
    found = []
    for name, value in now.items():
        known = [night[name] for night in before[-NIGHTS:] if name in night]
        if known:
            usual = median(known)
            worse = value / usual - 1 if is_smaller_better(name) else 1 - value / usual
            found += [f"{name}: {value:g}, and {usual:g} before"] if worse > WORSE else []
    return found


def page(nights: dict[str, dict[str, float]]) -> str:
    """A page with a line for each ratio, drawn without script."""
    names = sorted({name for night in nights.values() for name in night})
    parts = [_line(name, [(date, night[name]) for date, night in nights.items() if name in night]) for name in names]
    return f"<!doctype html><meta charset=utf-8><title>Benchmarks</title><h1>Ratios by night</h1>{''.join(parts)}\n"


def _line(name: str, values: list[tuple[str, float]]) -> str:
    top, last = max(value for _, value in values) or 1.0, max(len(values) - 1, 1)
    points = " ".join(
        f"{10 + 580 * place / last:.1f},{90 - 80 * value / top:.1f}" for place, (_, value) in enumerate(values)
    )
    better = "less is better" if is_smaller_better(name) else "more is better"
    said = f"{name}: {values[-1][1]:g} on {values[-1][0]} ({better}; the top is {top:g})"
    return (
        f"<p>{escape(said)}</p><svg viewBox='0 0 600 100' width=600 role=img aria-label='{escape(said, quote=True)}'>"
        f"<polyline points='{points}' fill=none stroke=teal stroke-width=2 /></svg>"
    )


def main(folder: Path, written: Path, date: str) -> int:
    """Add a night, draw all, and say what got worse."""
    folder.mkdir(parents=True, exist_ok=True)
    now = ratios(written.read_text(encoding="utf-8"))
    if not now:
        print(f"{written}: holds no ratio. Run make bench first.")
        return 2
    nights = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    worse = regressions(now, [night for other, night in nights.items() if other < date])
    (folder / f"{date}.json").write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(page(dict(sorted({**nights, date: now}.items()))), encoding="utf-8")
    print("\n".join(worse) or f"{len(now)} ratios, none worse by more than {WORSE:.0%}")
    return 1 if worse else 0


if __name__ == "__main__":
    results = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("results.md")
    sys.exit(main(Path(sys.argv[1]), results, f"{datetime.now(UTC):%Y-%m-%d}"))
