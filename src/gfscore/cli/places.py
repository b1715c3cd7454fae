"""Addresses wherever a command takes a path: what it reads is fetched first, what it writes is sent afterwards."""

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.models import ParameterInfo

from gfscore import views
from gfscore.storage import all_to_read, expand_pattern, local_folder, report, to_read, to_write

WRITTEN = frozenset({"out", "per_sample", "junit", "sarif", "summary"})
HERE = frozenset({"store", "model_dir"})
FOLDERS = ("stream", "pieces")  # options that let LOGITS be a folder


def placed(command: Callable[..., None]) -> Callable[..., None]:
    """The command, whose paths may be addresses: it gets paths of this disk, and never sees the difference."""
    written = inspect.signature(command, eval_str=True)
    paths = {name for name, entry in written.parameters.items() if _takes_path(entry.annotation)}
    options = [
        entry.replace(annotation=_as_text(entry.annotation)) if name in paths else entry
        for name, entry in written.parameters.items()
    ]

    @functools.wraps(command)
    def with_places(**values: Any) -> None:
        silent = values.get("quiet") or values.get("as_json")
        token = report.set(None if silent else _tell)
        try:
            command(**{name: _local(name, value, values) if name in paths else value for name, value in values.items()})
        finally:
            report.reset(token)

    with_places.__signature__ = written.replace(parameters=options)  # type: ignore[attr-defined]
    with_places.__annotations__ = {entry.name: entry.annotation for entry in options}
    return with_places


def _tell(text: str) -> None:
    """Say how far a copy is, on standard error; names of objects are not ours."""
    typer.echo(views.printable(text), err=True)


def path(text: str) -> str:
    """A path or an address as it was written: a Path would make one slash of two. Its name stands in the help."""
    return text


def _takes_path(annotation: Any) -> bool:
    return annotation is Path or any(_takes_path(part) for part in get_args(annotation))


def _as_text(annotation: Any) -> Any:
    """The same annotation for typer, to be read by :func:`path`."""
    if get_origin(annotation) is not Annotated:
        return annotation
    kind, *infos = get_args(annotation)
    infos = [copy.copy(info) for info in infos]
    for info in infos:
        if isinstance(info, ParameterInfo):
            info.parser = path
    return Annotated[kind, *infos]


def _local(name: str, value: Any, values: Mapping[str, Any]) -> Any:
    """Paths of this disk for what was given to one parameter."""
    if isinstance(value, list | tuple):
        folder = name == "paths" or any(values.get(option) for option in FOLDERS)
        return all_to_read([each for given in value for each in expand_pattern(given)], folder=folder)
    if value is None:
        return None
    if name in WRITTEN:
        return to_write(value)
    return local_folder(value, f"--{name.replace('_', '-')}") if name in HERE else to_read(value)
