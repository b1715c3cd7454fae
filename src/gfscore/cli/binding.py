"""From a job to a command: its words become options, and what it says on the way goes to the terminal."""

import functools
import inspect
import math
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from rich.progress import Progress, TaskID
from typer.models import OptionInfo, ParameterInfo

from gfscore import views
from gfscore.cli.screens import progress_bar, screen, write_data
from gfscore.jobs.calling import Face, Job
from gfscore.jobs.calling import Progress as Moved
from gfscore.jobs.config_files import Config
from gfscore.jobs.given_words import local_path, takes_path, takes_paths, word_of
from gfscore.outputs.dry_run_text import show_dry_run
from gfscore.results import DryRun
from gfscore.storage import report

METAVARS = {int: "N", float: "X", str: "TEXT", Path: "PATH"}
RENAMED: dict[str, dict[str, str]] = {}  # by command: what options are called now, by what they were called before

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for audit.json, or a file that ends in .json.  [default: gfscore-audit]"),
]
PerSample = Annotated[
    Path | None, typer.Option(help="Also write a row per sample, to .csv or .parquet.  [default: none]")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print audit.json instead of tables; write it only with --out.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


_context: ContextVar[typer.Context] = ContextVar("context")


class Terminal(Face):
    """A terminal: bars and remarks on standard error, unless they would stand beside JSON."""

    def __init__(self, bar: Progress, *, quiet: bool) -> None:
        self.command = shlex.join(["gfscore", *sys.argv[1:]])
        self._bar, self._quiet = bar, quiet
        self._tasks = dict[str, TaskID]()  # by name: a model has one bar, whatever is measured of it
        self._measured = dict[str, str]()  # of each of them now
        self._status: TaskID | None = None

    def bar(self, name: str, what: str = "logits", unit: str = "images") -> Moved:
        """What moves the bar of a model, which begins anew when something else is measured of that model."""
        about: dict[str, Any] = {"what": what, "unit": unit}
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(views.printable(name), total=None, **about)
        elif self._measured[name] != what:
            self._bar.reset(self._tasks[name], total=None, **about)
        task, self._measured[name], began = self._tasks[name], what, False

        def moved(done: int, total: int) -> None:
            nonlocal began
            if self._measured[name] != what:  # what was measured before has something left to say
                return
            if not began and done > 0:  # what an earlier run left says nothing of the rate
                self._bar.reset(task, total=total, completed=done, **about)
            began = True
            self._bar.update(task, completed=done, total=total)

        return moved

    def status(self, text: str) -> None:
        """Show it in a line below the bars."""
        if self._status is None:
            self._status = self._bar.add_task("", total=None, what="", is_text=True)
        self._bar.update(self._status, description=views.printable(text))

    def tell(self, text: str) -> None:
        """Say it above the bars."""
        self._bar.console.print(views.printable(text))

    @property
    def listens(self) -> bool:
        """Whether anybody reads what is said."""
        return not self._quiet


def _local(name: str, values: Mapping[str, Any], annotation: Any) -> Any:
    if not takes_path(annotation):
        return values[name]
    return local_path(name, values[name], values, several=takes_paths(annotation))


class Call:
    """A job with all its words, ready to run."""

    def __init__(self, job: Job[Any], words: Mapping[str, Any], *, quiet: bool, as_json: bool = False) -> None:
        self.job, self.words, self.quiet, self.as_json = job, words, quiet, as_json

    def __call__(self, **more: Any) -> Any:
        """What the job returns; bars move meanwhile. ``more`` is what Python alone can say."""
        with progress_bar(quiet=self.quiet) as bar:
            if "face" in inspect.signature(self.job).parameters:
                more["face"] = Terminal(bar, quiet=self.quiet)
            found = self.job(**self.words, **more)
        if isinstance(found, DryRun):  # whatever the command does with a result, there is none
            self._show(found)
            raise typer.Exit(0)
        return found

    def _show(self, found: DryRun) -> None:
        if self.as_json:
            write_data(found.to_json())
        elif not self.quiet:
            show_dry_run(found, screen())


def command(
    job: Job[Any] | None = None, *, was: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the words of a job and with parameters of its own; paths of both may be addresses.

    The function is called with the job, which has its words by then, and with its own parameters. ``was`` says what
    parameters of its own are called now, by the names that they had before.
    """
    return functools.partial(_bind, job, was or {})


def rename_options(command: str, arguments: Sequence[str]) -> list[str]:
    """The arguments of a command with options by the names that they have now; each old one is noted."""
    found, renamed = [], RENAMED.get(command, {})
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in renamed:
            _tell(f"gfscore: {name} is now called {renamed[name]}; the old name will go away.")
        found.append(f"{renamed.get(name, name)}{equals}{value}")
    return found


def _bind(job: Job[Any] | None, was: Mapping[str, str], function: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    own = {name: entry for name, entry in inspect.signature(function).parameters.items() if hints[name] is not Call}
    words = {} if job is None else job.words()
    renamed = {**was, **({} if job is None else job.renamed)}
    RENAMED[function.__name__.removesuffix("_command")] = {_flag(old): _flag(new) for old, new in renamed.items()}

    @functools.wraps(function)
    def run(**values: Any) -> None:
        quiet = bool(values.get("quiet") or values.get("as_json"))
        token = report.set(None if quiet else _tell)
        try:
            given = {name: _local(name, values, hints[name]) for name in own}
            how = {"quiet": quiet, "as_json": bool(values.get("as_json"))}
            calls = [] if job is None else [Call(job, _words(job, {name: values[name] for name in words}), **how)]
            function(*calls, **given)
        finally:
            report.reset(token)

    parameters = [
        *(_option(entry, job) for entry in words.values() if job is not None),
        *(entry.replace(annotation=_as_text(hints[name])) for name, entry in own.items()),
    ]
    parameters = [entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) for entry in parameters]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {entry.name: entry.annotation for entry in parameters}
    return run


def _words(job: Job[Any], values: dict[str, Any]) -> dict[str, Any]:
    """All words of a command: as said, else as the configuration has them where there is one, else by default."""
    if values.get("config") is None:
        return values
    said = [name for name in values if _was_said(name)]
    return values | Config.read(values["config"]).words(job.name, said)


def _option(entry: inspect.Parameter, job: Job[Any]) -> inspect.Parameter:
    """A word of a job as typer reads it."""
    word = word_of(entry.annotation)
    assert word is not None  # noqa: S101 (words have one)
    kind, name = word.kind or get_args(entry.annotation)[0], entry.name.strip("_").replace("_", "-")
    flags = [f"--{name}", *([f"-{word.short}"] if word.short else [])]
    parse = path if takes_path(kind) else None if word.parse is None else _parser(word.parse)
    how: dict[str, Any] = {
        "help": word.help,
        "metavar": word.metavar or (None if word.is_argument else _metavar(kind)),
        "callback": _remember if entry.name == "config" else _between(word.least, word.most),
        "rich_help_panel": job.panel(entry.name),
        "parser": parse,
    }
    if word.is_argument:
        return entry.replace(annotation=Annotated[kind, typer.Argument(**how)])
    info = typer.Option(*flags, hidden=word.expert, case_sensitive=False, **how)
    return entry.replace(annotation=Annotated[kind, info])


def _metavar(kind: Any) -> str | None:
    """What stands for a value in the help: its choices, or a word for its type."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    for each in (get_args(one)[0] if get_origin(one) is list else one for one in kinds):
        if isinstance(each, type) and issubclass(each, Enum):
            return "|".join(str(choice.value) for choice in each)
        if each in METAVARS:
            return METAVARS[each]
    return None


def _between(least: float | None, most: float | None) -> Callable[[Any], Any] | None:
    """What refuses a number outside of its range; typer's own ranges take a third of the help's width."""
    if least is None and most is None:
        return None
    limits = f"{'' if least is None else f'{least:g}<='}x{'' if most is None else f'<={most:g}'}"
    said = limits if least is not None and most is not None else f"x>={least:g}" if most is None else f"x<={most:g}"
    low, high = -math.inf if least is None else least, math.inf if most is None else most

    def check(value: Any) -> Any:
        if value is not None and not low <= value <= high:
            raise typer.BadParameter(f"{value} is not in the range {said}.")
        return value

    return check


def _remember(context: typer.Context, value: Any) -> Any:
    """The value of an option; with the context, which tells later what was said and what is a default."""
    _context.set(context)
    return value


def _was_said(name: str) -> bool:
    """Whether an option of the command under way stood on the command line."""
    source = _context.get().get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _parser(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """What reads the text of an option; its name stands in the help where there is no other."""

    @functools.wraps(parse)
    def read(text: str) -> Any:
        try:
            return parse(text)
        except Exception as error:
            raise typer.BadParameter(str(error)) from None

    return read


def path(text: str) -> str:
    """A path or an address as it was written: a Path would make one slash of two. Its name stands in the help."""
    return text


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _as_text(annotation: Any) -> Any:
    """The annotation of a command's own parameter, whose paths are read by :func:`path`."""
    kind, info, *_ = get_args(annotation)
    if isinstance(info, ParameterInfo):
        info.parser = path if takes_path(annotation) else info.parser
        if isinstance(info, OptionInfo):
            info.case_sensitive = False
            info.metavar = info.metavar or _metavar(kind)
        if info.min is not None or info.max is not None:
            info.callback, info.min, info.max = _between(info.min, info.max), None, None
    return Annotated[kind, info]


def _tell(text: str) -> None:
    """Say how far a copy is, on standard error; names of objects are not ours."""
    typer.echo(views.printable(text), err=True)
