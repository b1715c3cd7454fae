"""What was given to a parameter, as a job takes it: the same from Python as from the command line."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from gfscore.errors import OptionError
from gfscore.inputs.models.model_objects import names_model
from gfscore.storage import all_to_read, expand_pattern, local_folder, to_write
from gfscore.words import Word

HERE = frozenset({"store", "model_dir"})  # folders that are never fetched
WRITTEN = frozenset({"out", "folder", "per_sample", "junit", "sarif", "summary"})
MAY_BE_FOLDERS = ("stream", "pieces")  # words that let LOGITS be a folder


def plain_value(name: str, value: Any, annotation: Any) -> Any:
    """A value of the kind that the command line would give: a choice, a list, a number of Python's own."""
    word, kinds = word_of(annotation), kinds_of(annotation)
    if word is None or value is None:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if word.any_case:
        value = _small(value)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            value = _small(value)
            if value not in tuple(kind):
                raise OptionError(f"{name} {value!r} is not a choice. Choose {' or '.join(kind)}.")
            return kind(value)
    if isinstance(value, str) and list[str] in kinds:
        return [value]
    if isinstance(value, str) and word.parse is not None:
        return word.parse(value)
    if get_args(annotation)[0] is not Any and not _fits(value, kinds):
        raise OptionError(f"{name} is {type(value).__name__}. Give {_meant(kinds)}.")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if word.least is not None and value < word.least:
            raise OptionError(f"{name} is {value:g}. Give at least {word.least:g}.")
        if word.most is not None and value > word.most:
            raise OptionError(f"{name} is {value:g}. Give at most {word.most:g}.")
    return value


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is of a kind that a parameter takes; only plain kinds are looked at."""
    if bool in kinds:
        return isinstance(value, bool)
    if float in kinds:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if int in kinds:
        return isinstance(value, int) and not isinstance(value, bool)
    if list[str] in kinds:
        return isinstance(value, Mapping | list | tuple | set | frozenset)
    if str in kinds:  # numbers, or a list of them, may stand for their text: mean, resize
        return isinstance(value, str | Path | int | float | list | tuple | np.ndarray)
    return True


def _meant(kinds: tuple[Any, ...]) -> str:
    words = {bool: "True or False", float: "a number", int: "a whole number", list[str]: "a list of texts", str: "text"}
    return next((text for kind, text in words.items() if kind in kinds), "something else")


def _small(value: Any) -> Any:
    """A name, or several, in small letters; anything else as it is."""
    if isinstance(value, list | tuple):
        return [_small(each) for each in value]
    return value.lower() if isinstance(value, str) and not isinstance(value, StrEnum) else value


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """The types that a parameter takes on the command line, one by one."""
    word = word_of(annotation)
    kind = get_args(annotation)[0] if word is not None and word.kind is None else getattr(word, "kind", annotation)
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def local_path(name: str, value: Any, values: Mapping[str, Any], *, several: bool = False) -> Any:
    """Paths of this disk for what was given to a parameter of a path, or of ``several``; anything else as it is."""
    if isinstance(value, str | Path):
        if name in WRITTEN:
            return to_write(value)
        if name in HERE:
            return local_folder(value, f"--{name.replace('_', '-')}")
    if isinstance(value, str) and names_model(value):
        return value  # whoever opens the model finds it, with what stands beside it
    folder = name == "paths" or any(values.get(word) for word in MAY_BE_FOLDERS)
    if isinstance(value, str | Path):
        return all_to_read([value], folder=folder)[0]
    if several and isinstance(value, list | tuple) and all(isinstance(each, str | Path) for each in value):
        return all_to_read([each for given in value for each in expand_pattern(str(given))], folder=folder)
    return value


def word_of(annotation: Any) -> Word | None:
    """How a parameter is said on the command line, if it can be."""
    found = [note for note in get_args(annotation)[1:] if isinstance(note, Word)]
    return found[0] if get_origin(annotation) is Annotated and found else None


def takes_path(annotation: Any) -> bool:
    """Whether a parameter takes a path, or several."""
    word = word_of(annotation)
    if word is not None and word.kind is not None:
        return takes_path(word.kind)
    return annotation is Path or any(map(takes_path, get_args(annotation)))


def takes_paths(annotation: Any) -> bool:
    """Whether a parameter takes several paths."""
    word = word_of(annotation)
    kind = annotation if word is None else word.kind or annotation
    return kind == list[Path] or any(map(takes_paths, get_args(kind)))
