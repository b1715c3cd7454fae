"""Numbers per model from a file, or from the RobustBench table that ships with the package."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.raw import listed
from gfscore.inputs.tabular import csv_blocks
from gfscore.storage import refuse_unreadable, to_read

ROBUSTBENCH = "robustbench:"


def read_reference(spec: str, column: str = "autoattack") -> dict[str, float]:
    """A number per model: a CSV with the columns ``model`` and ``value``, a JSON object, or ``robustbench:cifar10/L2``.

    From RobustBench comes the accuracy under AutoAttack, or with ``column`` "clean" the clean accuracy, in percent.
    """
    if spec.startswith(ROBUSTBENCH):
        return _robustbench(spec, column)
    path = to_read(spec)
    with naming(spec):
        refuse_unreadable(path)
        pairs = _json_pairs(path) if path.suffix.lower() == ".json" else _csv_pairs(path)
        values: dict[str, float] = {}
        for name, text in pairs:
            if name in values:
                raise FileError(f"has model {name!r} twice. Keep one value each.")
            try:
                values[name] = float(text)
            except (OverflowError, TypeError, ValueError):
                raise FileError(f"has {text!r} for model {name!r}, which is no number. Give a number each.") from None
        return values


def for_models(values: Mapping[str, float], names: Iterable[str], source: str) -> dict[str, float]:
    """The values of these models; one that has none is an error."""
    missing = [name for name in names if name not in values]
    if missing:
        raise OptionError(f"{source} has no value for model {missing[0]!r}; it has {listed(list(values))}.")
    return {name: values[name] for name in names}


def _robustbench(spec: str, column: str) -> dict[str, float]:
    from gfscore.paper.published_numbers import leaderboard  # here: the room judges the paper, too, which few ask for

    dataset, _, threat = spec.removeprefix(ROBUSTBENCH).partition("/")
    entries = [entry for entry in leaderboard() if (entry.dataset, entry.threat) == (dataset, threat)]
    if not entries:
        known = sorted({f"{entry.dataset}/{entry.threat}" for entry in leaderboard()})
        raise OptionError(f"the RobustBench table has nothing about {spec!r}. It has {listed(known)}.")
    chosen = {
        entry.model: entry.clean_accuracy if column == "clean" else entry.autoattack_accuracy for entry in entries
    }
    return {name: value for name, value in chosen.items() if value is not None}


def _json_pairs(path: Path) -> list[tuple[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"is not JSON ({error}). Write an object of model names and numbers.") from error
    if not isinstance(data, dict):
        raise FileError('is not a JSON object. Write {"model": number, ...}.')
    return list(data.items())


def _csv_pairs(path: Path) -> list[tuple[str, Any]]:
    header, *rows = [row for _, block in csv_blocks(path) for row in block]
    if "model" not in header or "value" not in header:
        raise FileError(f"has the columns {listed(header)}. Name them 'model' and 'value'.")
    model, value = header.index("model"), header.index("value")
    return [(row[model], row[value]) for row in rows]
