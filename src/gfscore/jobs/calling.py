"""How a job is called: by one word for each field of its dataclasses, with paths that may be addresses."""

import functools
import inspect
import warnings
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from gfscore.errors import OptionError
from gfscore.inputs.models.model_objects import names_model
from gfscore.storage import all_to_read, expand_pattern, local_folder, to_write
from gfscore.words import Panel, Word

Result = TypeVar("Result")
Progress = Callable[[int, int], None]  # how much is done, and of how much

HERE = frozenset({"store", "model_dir"})  # folders that are never fetched
WRITTEN = frozenset({"out", "folder", "per_sample", "junit", "sarif", "summary"})
MAY_BE_FOLDERS = ("stream", "pieces")  # words that let LOGITS be a folder


class Face:
    """Who asked for a job, and what is shown on the way. This one shows nothing."""

    command: str | None = None  # as it was written, for the provenance

    def bar(self, name: str) -> Progress:  # noqa: ARG002
        """What is told how far a piece of work is."""
        return lambda _done, _total: None

    def tell(self, text: str) -> None:
        """Say something while the work goes on."""

    @property
    def listens(self) -> bool:
        """Whether what is told is heard."""
        return False


SILENT = Face()

CONFIGURED = {  # jobs that take their words from a file too, and where each is
    "audit": "audit",
    "gate": "gate",
    "compare": "compare",
    "certify": "certify",
    "check": "check",
    "calibrate": "calibrate",
    "logits": "sources",
    "plan": "plan",
}
Configuration = Annotated[
    Path | None, Word(metavar="FILE", help="A gfscore.toml: it says what is not said here, as gfscore init writes it.")
]


class Job(Generic[Result]):
    """A function whose dataclass parameters are said field by field, or given whole.

    A field that two of them share reaches both.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int = 0
    ...     y: int = 0
    >>> @Job
    ... def show(name: str, *, point: Point) -> str:
    ...     return f"{name} {point}"
    >>> show("here", y=2)
    'here Point(x=0, y=2)'
    >>> show("there", point=Point(1, 1))
    'there Point(x=1, y=1)'
    >>> list(inspect.signature(show).parameters)
    ['name', 'x', 'y']
    """

    def __init__(self, function: Callable[..., Result]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.name = function, function.__name__
        written = inspect.signature(function, eval_str=True)
        self._given = {name: entry for name, entry in written.parameters.items() if not is_dataclass(entry.annotation)}
        self._groups: dict[str, Any] = {
            name: entry.annotation for name, entry in written.parameters.items() if is_dataclass(entry.annotation)
        }
        grouped = {option.name: option for group in self._groups.values() for option in _field_parameters(group)}
        parameters = [*self._given.values(), *(entry for name, entry in grouped.items() if name not in self._given)]
        if self.name in CONFIGURED:
            said_by_name = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter("config", said_by_name, default=None, annotation=Configuration))
        self.__signature__ = written.replace(parameters=parameters)

        self._paths = {e.name: takes_paths(e.annotation) for e in parameters if takes_path(e.annotation)}
        self._panels = {name: panel for group in self._groups.values() for name, panel in _field_panels(group).items()}
        self.renamed = {
            word.was: name for name, entry in self.words().items() if (word := word_of(entry.annotation)) and word.was
        }

    def __call__(self, *arguments: Any, **words: Any) -> Result:
        """Call the function by its words, old names too; what ``config`` says, if given, stands behind them."""
        words = self._by_new_names(words)
        if (file := words.pop("config", None) if "config" in self.__signature__.parameters else None) is None:
            return self._call(arguments, words)
        from gfscore.jobs.config_files import Config  # which knows the jobs, and they this module

        config = Config.read(file)
        whole = [group for name, group in self._groups.items() if words.get(name) is not None]
        given = {*words, *(field.name for group in whole for field in fields(group))}
        given |= set(list(self.__signature__.parameters)[: len(arguments)])
        with config.noted():
            return self._call(arguments, config.words(self.name, sorted(given)) | words)

    def _call(self, arguments: Any, words: dict[str, Any]) -> Result:
        whole = {name: _group(name, group, words.pop(name)) for name, group in self._groups.items() if name in words}
        whole = {name: value for name, value in whole.items() if value is not None}
        said = {field.name: getattr(value, field.name) for value in whole.values() for field in fields(value)}
        for name in words:
            if name in said:
                raise OptionError(f"{name} is said twice: by itself, and in {' and '.join(whole)}. Say it once.")
        bound = self.__signature__.bind(*arguments, **words)
        bound.apply_defaults()
        values = {name: self._taken(name, value, bound.arguments) for name, value in bound.arguments.items()} | said
        groups = {
            name: whole.get(name) or group(**{field.name: values[field.name] for field in fields(group)})
            for name, group in self._groups.items()
        }
        return self.function(**{name: values[name] for name in self._given}, **groups)

    def _by_new_names(self, words: dict[str, Any]) -> dict[str, Any]:
        found = dict[str, Any]()
        for name, value in words.items():
            new = name if name in self.__signature__.parameters else self.renamed.get(name, name)
            if new != name:
                warnings.warn(f"{name} is now called {new}.", DeprecationWarning, stacklevel=3)
            if new in found:
                raise OptionError(f"{new} is said twice, as {name} too, which it was called before. Say it once.")
            found[new] = value
        return found

    def panel(self, name: str) -> Panel:
        """Where the help shows a word."""
        word = word_of(self.__signature__.parameters[name].annotation)
        own = None if word is None else word.panel
        return own or self._panels.get(name) or Panel.INPUT

    def __reduce__(self) -> str:
        return self.function.__qualname__  # where to find it again: pickle asks the module

    def _taken(self, name: str, value: Any, values: Mapping[str, Any]) -> Any:
        """What was given to a parameter, as the job takes it: the same from Python as from the command line."""
        word = word_of(self.__signature__.parameters[name].annotation)
        if name in self._paths:
            if word is not None and word.parse is not None and isinstance(value, str):
                value = word.parse(value)
            return local_path(name, value, values, several=self._paths[name])
        return value if word is None else plain_value(name, value, self.__signature__.parameters[name].annotation)

    def words(self) -> dict[str, inspect.Parameter]:
        """The parameters that can be said on the command line."""
        return {name: entry for name, entry in self.__signature__.parameters.items() if word_of(entry.annotation)}


def _group(name: str, group: Any, value: Any) -> Any:
    """Options that were given whole, also as those of a wider job that are a part of them."""
    if value is None or isinstance(value, group):
        return value
    if is_dataclass(value) and issubclass(group, type(value)):
        return group(**{field.name: getattr(value, field.name) for field in fields(value)})
    raise OptionError(f"{name} is {type(value).__name__}. Give {group.__name__}, or its words one by one.")


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
    if isinstance(value, int | float) and not isinstance(value, bool):
        if word.least is not None and value < word.least:
            raise OptionError(f"{name} is {value:g}. Give at least {word.least:g}.")
        if word.most is not None and value > word.most:
            raise OptionError(f"{name} is {value:g}. Give at most {word.most:g}.")
    return value


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


def listed_paths(values: Any) -> list[Path]:
    """One path or several, or none, as a list; arrays are refused, as they came without their labels."""
    if values is None:
        return []
    found = [values] if isinstance(values, str | Path) else list(values)
    if not all(isinstance(each, str | Path) for each in found):
        raise OptionError("logits in memory need their labels beside them. Give both arrays, Samples, or logits files.")
    return [Path(each) for each in found]


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


def _field_parameters(group: Any) -> list[inspect.Parameter]:
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


def _field_panels(group: Any) -> dict[str, Panel]:
    """The panel of each field: that of the class which declares it."""
    found = dict[str, Panel]()
    for owner in reversed(group.__mro__):
        panel = vars(owner).get("PANEL")
        found |= {name: panel for name in vars(owner).get("__annotations__", {}) if panel is not None}
    return found
