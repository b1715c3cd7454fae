"""Every number that a page shows, and the numbers of an audit's file, one of which it must be, rounded once."""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

NUMBER = re.compile(r"(?<![\w.,/*])([−-]?\d[\d,]*(?:\.\d+)?)(/255|\s?%)?(?![\w/])")
LOW, HIGH = re.compile(r"(\[|the data allow )$"), re.compile(r"(\[|the data allow )[−\d.,]+( %)?(, | to )$")
# Where each visible text stands: the model's section, the table, the heading of the row. Axes are no results.
TEXTS = """() => {
  const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement, row = e.closest("tbody tr");
    if (!node.data.trim() || e.closest("script, style, svg, .legend") || !e.checkVisibility()) continue;
    found.push({
      text: node.data, model: e.closest("section.model")?.dataset.model ?? row?.dataset.model ?? null,
      table: e.closest("table")?.className.split(" ")[0] ?? "",
      row: row?.querySelector("th").firstChild.textContent ?? "",
      part: e.closest("section.model section, main > section")?.className ?? "",
    });
  }
  return found;
}"""


class Shown(NamedTuple):
    """A number of a page: as it stands there, and where; ``end`` says which end of an interval it is, if it is one."""

    value: Decimal
    unit: Decimal  # of its last digit
    model: int | None
    table: str
    row: str
    part: str
    end: str
    text: str

    def is_one_of(self, numbers: Iterable[Decimal]) -> bool:
        """Whether one of the numbers, rounded once, is this one: to the nearest, and ends of intervals outwards."""
        match self.end:
            case "low":
                return any(0 <= number - self.value < self.unit for number in numbers)
            case "high":
                return any(0 <= self.value - number < self.unit for number in numbers)
            case _:
                return any(abs(number - self.value) <= self.unit / 2 for number in numbers)


def numbers_shown(page: Any, names: Iterable[str]) -> Iterator[Shown]:
    """Every number in the texts of a page; digits in ``names`` are none."""
    known = sorted(names, key=len, reverse=True)
    for found in page.evaluate(TEXTS):
        text = found["text"]
        for name in known:
            text = text.replace(name, "NAME")
        for match in NUMBER.finditer(text):
            written, scale = match[1].replace("−", "-").replace(",", ""), (match[2] or "").strip()
            times = {"": Decimal(1), "%": Decimal("0.01"), "/255": 1 / Decimal(255)}[scale]
            digits = len(written.partition(".")[2])
            place = None if found["model"] is None else int(found["model"])
            end = "low" if LOW.search(text[: match.start()]) else "high" if HIGH.search(text[: match.start()]) else ""
            yield Shown(
                value=Decimal(written) * times, unit=Decimal(10) ** -digits * times, model=place, table=found["table"],
                row=found["row"], part=found["part"], end=end, text=text[max(0, match.start() - 40) : match.end() + 20],
            )  # fmt: skip


def leaves(part: Any, *, without: frozenset[str] = frozenset(), counted: bool = False) -> Iterator[Decimal]:
    """Every number in a piece of JSON that was read with decimals as they stand; ``counted``: also lengths of lists."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            if key not in without:
                yield from leaves(value, without=without, counted=counted)
    elif isinstance(part, list):
        yield from [Decimal(len(part))] if counted else []
        for value in part:
            yield from leaves(value, without=without, counted=counted)
    elif isinstance(part, Decimal):
        yield part


# What a row of metrics may show of its model: the metric itself, and what chance alone would give of it.
METRIC_ROWS = {
    "Robust accuracy, estimated": "robust_accuracy",
    "GREAT score": "aggregate",
    "Mean of the classes": "class_mean",
    "Worst class (WCR)": "wcr",
    "Gap (RDI)": "rdi",
    "Gini (NRGC)": "nrgc",
    "Penalised mean (FP-GREAT)": "fp_great",
    "Theil": "theil",
    "Atkinson": "atkinson",
}
SAID = [Decimal(0), Decimal(1), Decimal("0.05")]  # "0 is equal", "towards 1 a few have it all", "in 5 % of cases"


def source(shown: Shown, file: Mapping[str, Any]) -> list[Decimal]:
    """The numbers of the file that a number of a page may be: those of its class, metric, eps or model."""
    if shown.model is None:
        return list(leaves(file, without=frozenset({"curves", "rungs"}), counted=True))
    model = file["models"][shown.model]
    key = METRIC_ROWS.get(shown.row, "")
    match shown.table if shown.row else "":
        case "classes":
            part = [entry for entry in model["classes"] if entry["name"] == shown.row]
        case "heat":
            part = [100 * entry["robust_accuracy"]["value"] for entry in model["classes"]]
        case "ladder":
            part = [rung for rung in model["robustness"]["rungs"] if f"{255 * float(rung['eps']):g}/255" == shown.row]
        case "stops":
            part = model["curves"]["aggregate"] if key == "aggregate" else model["curves"]["metrics"][key]
        case "metrics":
            part = [model[key], model.get(f"{key}_interval"), model["noise"].get(key), model["samples"], SAID]
            part.append(model["robustness"]["eps"] if key == "robust_accuracy" else None)
        case _:  # sentences say how many, too
            part = list(leaves(model, without=frozenset({"curves", "rungs"}), counted=True))
            part += [*model["curves"]["temperature"], 1 - model["interval"]["delta"], 1 - model["robustness"]["delta"]]
    return list(leaves(part))
