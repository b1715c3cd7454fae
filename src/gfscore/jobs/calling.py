"""How a job is called, and its help: by one word for each field of its dataclasses; paths may be addresses."""

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from textwrap import fill
from types import MappingProxyType
from typing import Annotated, Any, Generic, TypeVar, cast, get_args, get_type_hints

from gfscore.errors import OptionError, WordError
from gfscore.jobs.given_words import (
    local_path,
    naming_option,
    plain_value,
    refuse_misplaced,
    takes_path,
    takes_paths,
    word_of,
)
from gfscore.results import DryRun, Result
from gfscore.words import Panel, Word

OPTION = re.compile(r"--([a-z][a-z-]*)")
LONGEST_TYPE = 40  # characters of a type that is shown
# What Python alone can say: it has no word.
NO_WORD = {
    "labels": "True classes (N,), where logits are an array.",
    "sample_ids": "A name per sample, where logits are an array.",
    "class_sizes": "Samples of each class in the fixed set that arrays are a random part of.",
    "finite": "With class_sizes: whether intervals are about that very set.",
    "name": "What the model is called in the result.",
    "names": "What the old and the new version are called in the result.",
    "seen": "Called with each model when it is done.",
    "face": "Who is told of progress: see gfscore.jobs.calling.Face.",
    "gpu": "Whether models run on the GPU of this process.",
    "folder": "Where files are saved: pictures of witnesses, or the repaired model.",
}
Outcome = TypeVar("Outcome")
Progress = Callable[[int, int], None]  # how much is done, and of how much
ALONE: dict[str, Any] = {"seen": Callable, "name": str}  # what Python alone can say, and must be
CONFIGURED = {  # jobs that take their words from a file too, and where each is
    "audit": "audit",
    "gate": "gate",
    "compare": "compare",
    "certify": "certify",
    "check": "check",
    "calibrate": "calibrate",
    "logits": "sources",
    "plan": "plan",
    "repair": "repair",
}
Configuration = Annotated[
    Path | None,
    Word(
        metavar="FILE", help="A gfscore.toml, as gfscore init writes it: says what is not said here.  [default: none]"
    ),
]


def describe(parameters: Iterable[inspect.Parameter]) -> str:
    """An ``Args`` section: each parameter with what it is and what it is by default."""
    return "\n".join(["Args:", *map(_line, parameters)])


def _line(entry: inspect.Parameter) -> str:
    word = word_of(entry.annotation)
    told = NO_WORD.get(entry.name, "") if word is None else word.help
    said = OPTION.sub(lambda found: found[1].replace("-", "_"), " ".join(told.split()))
    default = entry.default.value if isinstance(entry.default, Enum) else entry.default
    if "[default:" not in said and isinstance(default, bool | int | float | str):
        said = f"{said}  [default: {default}]"
    return fill(f"{entry.name}: {said}", 116, initial_indent="    ", subsequent_indent="        ")


def shorten_types(signature: inspect.Signature) -> inspect.Signature:
    """The signature with types that a person can read: what a word says is in the help, and long unions are any."""
    return signature.replace(
        parameters=[entry.replace(annotation=_short(entry.annotation)) for entry in signature.parameters.values()]
    )


def _short(annotation: Any) -> Any:
    plain = annotation if word_of(annotation) is None else get_args(annotation)[0]
    return plain if len(inspect.formatannotation(plain)) <= LONGEST_TYPE else Any


class Face:
    """Who asked for a job, and what is shown on the way. This one shows nothing."""

    command: str | None = None  # as it was written, for the provenance

    def bar(self, name: str, what: str = "logits", unit: str = "images") -> Progress:  # noqa: ARG002
        """What is told how far a piece of work is: ``what`` is measured of the model of that name, in a unit."""
        return lambda _done, _total: None

    def status(self, text: str) -> None:
        """Show how things stand beside the bars, until the next such text."""

    def tell(self, text: str) -> None:
        """Say something while the work goes on."""

    @property
    def listens(self) -> bool:
        """Whether what is told is heard."""
        return False


SILENT = Face()


class Planned(Exception):  # noqa: N818 (nothing went wrong)
    """Ends a job whose dry run was asked for, with what it would take: that is what the job then returns."""

    def __init__(self, found: DryRun) -> None:
        super().__init__("a dry run")
        self.found = found


class Job(Generic[Outcome]):
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

    def __init__(self, function: Callable[..., Outcome]) -> None:
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
        self._written = written.replace(parameters=parameters)
        self.__signature__ = shorten_types(self._written)
        self.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{describe(parameters)}"

        self._paths = {e.name: takes_paths(e.annotation) for e in parameters if takes_path(e.annotation)}
        self._panels = {name: panel for group in self._groups.values() for name, panel in _field_panels(group).items()}
        self._said = {name: word for name, entry in self.words().items() if (word := word_of(entry.annotation))}
        self.renamed = {word.was: name for name, word in self._said.items() if word.was}

    def __call__(self, *arguments: Any, **words: Any) -> Outcome:
        """Call the function by its words, old names too; what ``config`` says, if given, stands behind them."""
        words = self._by_new_names(words)
        if (file := words.pop("config", None) if "config" in self._written.parameters else None) is None:
            return self._call(arguments, words)
        from gfscore.jobs.config_files import Config  # which knows the jobs, and they this module

        config = Config.read(file)
        whole = [group for name, group in self._groups.items() if words.get(name) is not None]
        given = {*words, *(field.name for group in whole for field in fields(group))}
        by_place = dict(zip(self._written.parameters, arguments, strict=False))
        with config.noted():
            told = config.words(self.name, [*given, *by_place], by_place)
            known = config.words(self.name, [])  # the command line has taken them over already
            same = [name for name, value in known.items() if repr(words.get(name, value)) == repr(value)]
            return self._call(arguments, told | words, {name: f"{name} in {file}" for name in same})

    def _call(self, arguments: Any, words: dict[str, Any], config: Mapping[str, str] = MappingProxyType({})) -> Outcome:
        whole = {name: _group(name, group, words.pop(name)) for name, group in self._groups.items() if name in words}
        whole = {name: value for name, value in whole.items() if value is not None}
        said = {field.name: getattr(value, field.name) for value in whole.values() for field in fields(value)}
        for name in words:
            if name in said:
                raise OptionError(f"{name} is said twice: by itself, and in {' and '.join(whole)}. Say it once.")
        try:
            bound = self._written.bind(*arguments, **words)
        except TypeError as error:
            raise WordError(self.name, str(error), list(self._written.parameters)) from None
        bound.apply_defaults()
        refuse_misplaced(self.name, bound.arguments, self._said)
        with naming_option({**bound.arguments, **said}, self._said, config):
            return self._run(bound.arguments, whole, said)

    def _run(self, given: Mapping[str, Any], whole: Mapping[str, Any], said: Mapping[str, Any]) -> Outcome:
        values = {**{name: self._taken(name, value, given) for name, value in given.items()}, **said}
        groups = {
            name: whole.get(name) or group(**{field.name: values[field.name] for field in fields(group)})
            for name, group in self._groups.items()
        }
        try:
            with self._engines(values.get("face")):
                return self.function(**{name: values[name] for name in self._given}, **groups)
        except Planned as plan:
            return cast("Outcome", plan.found)

    def _engines(self, face: Face | None) -> AbstractContextManager[None]:
        """What lets everything in the job share one cluster; a job that runs no model loads no engine."""
        if "engine" not in self._written.parameters:
            return nullcontext()
        from gfscore.engines.ray import one_cluster

        return one_cluster(getattr(face, "status", lambda _text: None))

    def _by_new_names(self, words: dict[str, Any]) -> dict[str, Any]:
        found = dict[str, Any]()
        for name, value in words.items():
            new = name if name in self._written.parameters else self.renamed.get(name, name)
            if new != name:
                warnings.warn(f"{name} is now called {new}.", DeprecationWarning, stacklevel=3)
            if new in found:
                raise OptionError(f"{new} is said twice, as {name} too, which it was called before. Say it once.")
            found[new] = value
        return found

    def panel(self, name: str) -> Panel:
        """Where the help shows a word."""
        word = word_of(self._written.parameters[name].annotation)
        own = None if word is None else word.panel
        return own or self._panels.get(name) or Panel.INPUT

    def __reduce__(self) -> str:
        return self.function.__qualname__  # where to find it again: pickle asks the module

    def _taken(self, name: str, value: Any, values: Mapping[str, Any]) -> Any:
        """What was given to a parameter, as the job takes it: the same from Python as from the command line."""
        word = word_of(self._written.parameters[name].annotation)
        if name in self._paths:
            if word is not None and word.parse is not None and isinstance(value, str):
                value = word.parse(value)
            return local_path(name, value, values, several=self._paths[name])
        if word is None and value is not None and not isinstance(value, ALONE.get(name, object)):
            raise OptionError(f"{name} is {type(value).__name__}. Give {'a function' if name == 'seen' else 'text'}.")
        return value if word is None else plain_value(name, value, self._written.parameters[name].annotation)

    def words(self) -> dict[str, inspect.Parameter]:
        """The parameters that can be said on the command line."""
        return {name: entry for name, entry in self._written.parameters.items() if word_of(entry.annotation)}


def _group(name: str, group: Any, value: Any) -> Any:
    """Options that were given whole, also as those of a wider job that are a part of them."""
    if value is None or isinstance(value, group):
        return value
    if is_dataclass(value) and issubclass(group, type(value)):
        return group(**{field.name: getattr(value, field.name) for field in fields(value)})
    raise OptionError(f"{name} is {type(value).__name__}. Give {group.__name__}, or its words one by one.")


def listed_paths(values: Any) -> list[Path]:
    """One path or several, or none, as a list; arrays are refused, as they came without their labels."""
    if values is None:
        return []
    if isinstance(values, str | Path):
        return [Path(values)]
    if isinstance(values, Result):
        kind = type(values).__name__
        raise OptionError(f"{kind} is a result. gate and compare take an Audit; else give logits, or a model and data.")
    if not isinstance(values, Iterable):
        raise OptionError(
            f"{type(values).__name__} is neither logits nor a model. Give arrays, files, or a model and data."
        )
    found = list(values)
    if not all(isinstance(each, str | Path) for each in found):
        raise OptionError("logits in memory need their labels beside them. Give both arrays, Samples, or logits files.")
    return [Path(each) for each in found]


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
