"""Options that travel together: a command takes a dataclass, the command line shows an option for each field."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer can read it: a parameter that is a dataclass stands for its fields.

    A field that two dataclasses share, such as the seed, is one option and reaches both.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int = 0
    ...     y: int = 0
    >>> @expand
    ... def show(name: str, point: Point) -> None:
    ...     print(name, point)
    >>> list(inspect.signature(show).parameters)
    ['name', 'x', 'y']
    >>> show(name="here", x=1, y=2)
    here Point(x=1, y=2)
    """
    written = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: entry.annotation for name, entry in written.items() if is_dataclass(entry.annotation)
    }
    options: dict[str, inspect.Parameter] = {}
    for name, entry in written.items():
        if name in groups:
            options |= {option.name: option for option in _options(groups[name])}
        else:
            options[name] = entry.replace(kind=inspect.Parameter.KEYWORD_ONLY)

    @functools.wraps(command)
    def expanded(**values: Any) -> None:
        taken = {
            name: group(**{field.name: values[field.name] for field in fields(group)}) for name, group in groups.items()
        }
        command(**{name: values[name] for name in written if name not in groups}, **taken)

    expanded.__signature__ = inspect.Signature(list(options.values()))  # type: ignore[attr-defined]
    expanded.__annotations__ = {name: option.annotation for name, option in options.items()}
    return expanded


def _options(group: Any) -> list[inspect.Parameter]:
    """A keyword parameter for each field of a dataclass."""
    types = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=types[field.name],
        )
        for field in fields(group)
    ]
