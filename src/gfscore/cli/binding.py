"""From a job to a command: its words become options, and what it says on the way goes to the terminal."""

import functools
import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from rich.progress import Progress
from typer.models import ParameterInfo

from gfscore import views
from gfscore.cli.screens import progress_bar
from gfscore.jobs.calling import Face, Job, local_path, takes_path, takes_paths, word_of
from gfscore.jobs.calling import Progress as Moved
from gfscore.jobs.config_files import Config
from gfscore.storage import report

Out = Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-audit]")]
PerSample = Annotated[Path | None, typer.Option(help="Also write a row per sample, to .csv or .parquet.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print audit.json instead of tables; write it only with --out.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]


_context: ContextVar[typer.Context] = ContextVar("context")


class Terminal(Face):
    """A terminal: bars and remarks on standard error, unless they would stand beside JSON."""

    def __init__(self, bar: Progress, *, quiet: bool) -> None:
        self.command = shlex.join(["gfscore", *sys.argv[1:]])
        self._bar, self._quiet = bar, quiet

    def bar(self, name: str) -> Moved:
        """What moves the bar of a piece of work."""
        task = self._bar.add_task(views.printable(name), total=None)
        return lambda done, total: self._bar.update(task, completed=done, total=total)

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

    def __init__(self, job: Job[Any], words: Mapping[str, Any], *, quiet: bool) -> None:
        self.job, self.words, self.quiet = job, words, quiet

    def __call__(self, **more: Any) -> Any:
        """What the job returns; bars move meanwhile. ``more`` is what Python alone can say."""
        with progress_bar(quiet=self.quiet) as bar:
            if "face" in inspect.signature(self.job).parameters:
                more["face"] = Terminal(bar, quiet=self.quiet)
            return self.job(**self.words, **more)


def command(job: Job[Any] | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the words of a job and with parameters of its own; paths of both may be addresses.

    The function is called with the job, which has its words by then, and with its own parameters.
    """
    return functools.partial(_bind, job)


def _bind(job: Job[Any] | None, function: Callable[..., None]) -> Callable[..., None]:
    hints = get_type_hints(function, include_extras=True)
    own = {name: entry for name, entry in inspect.signature(function).parameters.items() if hints[name] is not Call}
    words = {} if job is None else job.words()

    @functools.wraps(function)
    def run(**values: Any) -> None:
        quiet = bool(values.get("quiet") or values.get("as_json"))
        token = report.set(None if quiet else _tell)
        try:
            given = {name: _local(name, values, hints[name]) for name in own}
            calls = [] if job is None else [Call(job, _words(job, {name: values[name] for name in words}), quiet=quiet)]
            function(*calls, **given)
        finally:
            report.reset(token)

    parameters = [
        *(_option(entry) for entry in words.values()),
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


def _option(entry: inspect.Parameter) -> inspect.Parameter:
    """A word of a job as typer reads it."""
    word = word_of(entry.annotation)
    assert word is not None  # noqa: S101 (words have one)
    kind, name = word.kind or get_args(entry.annotation)[0], entry.name.strip("_").replace("_", "-")
    flags = [f"--{name}", *([f"-{word.short}"] if word.short else [])]
    parse = path if takes_path(kind) else None if word.parse is None else _parser(word.parse)
    remember = _remember if entry.name == "config" else None
    how: dict[str, Any] = {
        "callback": remember,
        "help": word.help,
        "metavar": word.metavar,
        "min": word.least,
        "max": word.most,
    }
    info = typer.Argument(parser=parse, **how) if word.is_argument else typer.Option(*flags, parser=parse, **how)
    return entry.replace(annotation=Annotated[kind, info])


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


def _as_text(annotation: Any) -> Any:
    """The annotation of a parameter, whose paths are read by :func:`path`."""
    if not takes_path(annotation):
        return annotation
    kind, info, *_ = get_args(annotation)
    if isinstance(info, ParameterInfo):
        info.parser = path
    return Annotated[kind, info]


def _tell(text: str) -> None:
    """Say how far a copy is, on standard error; names of objects are not ours."""
    typer.echo(views.printable(text), err=True)
