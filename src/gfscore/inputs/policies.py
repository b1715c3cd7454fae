"""Policies from files: TOML, as tables of numbers. What the tables mean is for the judge to say."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gfscore.errors import FileError, first_line, naming
from gfscore.storage import refuse_unreadable


def read_policy(path: Path) -> dict[str, Any]:
    """The tables of a ``policy.toml``."""
    with naming(path):
        refuse_unreadable(path)
        try:
            return tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except UnicodeDecodeError as error:
            raise FileError(f"is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from error
        except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or lists in lists
            raise FileError(
                f"is not TOML ({first_line(error)}). Write [rules], and below it a line such as wcr = 0.1."
            ) from error
        except OSError as error:
            raise FileError(f"cannot be read ({error.strerror}). Check its permissions.") from error


def extend(table: dict[str, Any], name: str, entries: Mapping[str, Any]) -> None:
    """Add entries to a table in a table; what is no table is left for the policy to complain about."""
    there = table.get(name, {})
    if entries and isinstance(there, dict):
        table[name] = {**there, **entries}


def allow_also(table: dict[str, Any], codes: Sequence[str]) -> None:
    """Allow more flags than the policy does; what is no list is left for the policy to complain about."""
    there = table.get("allow", [])
    if codes and isinstance(there, list):
        table["allow"] = [*there, *codes]
