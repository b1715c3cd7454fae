"""What people and programs read: consoles, bars, and both standard streams, whatever they are."""

import codecs
import io
import os
import sys
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from gfscore import views
from gfscore.outputs.fitting import wrap_words

UNLIMITED = 10_000  # columns of a pipe, which has no edge
BAR_WIDTH = 40
USUAL = 72  # columns of a terminal that have room for units
SLOW = 10  # things a second, below which the digit after the point is worth its place
READABLE: Final = "gfscore.readable"  # error handlers: for people, and for programs
ESCAPED: Final = "gfscore.escaped"
# What tables and sentences are made of, for encodings that lack it; one character for one where columns depend on it.
STAND_INS: Final = {
    **dict.fromkeys("█▉▊▋▌", "#"),
    **dict.fromkeys("▍▎▏", "."),
    **dict.fromkeys("−–—─━╸╺╴╶", "-"),
    **dict.fromkeys("“”„", '"'),
    **dict.fromkeys("‘’", "'"),
    "→": "->",
    "…": "...",
    "×": "x",
    "·": ".",
    "±": "+/-",
    "≥": ">=",
    "≤": "<=",
    "²": "^2",
    "ρ": "rho",
    "λ": "lambda",
    "τ": "tau",
    "δ": "delta",
    "│": "|",
    "✓": "ok",
}


class Screen(Console):
    """A console whose reader may leave, and that breaks no name or number, however long it is."""

    def print(self, *objects: Any, **how: Any) -> None:
        """Print as a console does; texts are broken between words only, and nothing is cut."""
        if not how.get("soft_wrap"):
            objects, how = tuple(map(self._in_lines, objects)), {"crop": False, **how}
        super().print(*objects, **how)

    def _in_lines(self, part: Any) -> Any:
        if isinstance(part, Group):
            return Group(*map(self._in_lines, part.renderables))
        if not isinstance(part, Text) or part.no_wrap:
            return part
        lines = Text("\n").join(wrap_words(part, self.width))
        lines.no_wrap, lines.overflow = True, "ignore"
        return lines

    def on_broken_pipe(self) -> None:
        """Print nothing more; the command goes on, and its exit code is its own."""
        self.quiet = True
        drop_output()


def screen(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console that takes no text for markup, and is as wide as its terminal; pipes and files have no edge."""
    console = Screen(stderr=stderr, quiet=quiet, markup=False, emoji=False, highlight=False)
    if not console.file.isatty() and "COLUMNS" not in os.environ:
        console.width = UNLIMITED
    return console


def say(console: Console, text: str) -> None:
    """Print a line that may be copied: it is not broken, and nothing in it can move the cursor."""
    console.print(views.printable(text), soft_wrap=True)


class Rate(ProgressColumn):
    """Images, or whatever is counted, a second; nothing until it is known."""

    def __init__(self, *, with_unit: bool) -> None:
        super().__init__(Column(no_wrap=True))
        self._with_unit = with_unit

    def render(self, task: Task) -> Text:
        """The rate of a piece of work; one that is slow has a digit after the point."""
        speed = task.finished_speed or task.speed
        if speed is None:
            return Text("")
        unit = f" {task.fields.get('unit', '')}" if self._with_unit else ""
        return Text(f"{speed:,.0f}{unit}/s" if speed >= SLOW else f"{speed:.1f}{unit}/s")


class OfWork(ProgressColumn):
    """A column that only work has: a line that says how things stand is its text alone."""

    def __init__(self, inner: ProgressColumn) -> None:
        super().__init__(inner.get_table_column())
        self._inner = inner

    def render(self, task: Task) -> RenderableType:
        """What the column shows of a piece of work."""
        return "" if task.fields.get("is_text") else self._inner.render(task)


def progress_bar(*, quiet: bool) -> Progress:
    """Rate and time left; nothing in logs, where a bar would be noise, even where colours are wanted."""
    console = screen(stderr=True, quiet=quiet)
    names = Column(overflow="fold")  # a long one goes on in the next line: nothing is cut
    return Progress(
        TextColumn("{task.description}", markup=False, table_column=names),
        TextColumn("{task.fields[what]}", markup=False, table_column=Column(no_wrap=True)),
        OfWork(BarColumn(bar_width=None, table_column=Column(max_width=BAR_WIDTH))),  # gives way to what is beside it
        OfWork(MofNCompleteColumn(table_column=Column(no_wrap=True))),
        OfWork(Rate(with_unit=console.width >= USUAL)),
        OfWork(TimeRemainingColumn()),
        console=console,
        disable=quiet or not (console.is_interactive and console.file.isatty()),
        transient=True,
    )


def prepare() -> None:
    """Make both streams take every text; once, before anything is printed."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:  # closed by whoever started this, such as `>&-`
            setattr(sys, name, _nowhere(descriptor))
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=READABLE)


def write_data(text: str) -> None:
    """Print what programs read: JSON, CSV, LaTeX, Markdown.

    What the encoding lacks, and what a terminal would obey instead of showing, is spelled as JSON spells it: nothing
    is replaced by something that looks alike.
    """
    if sys.stdout.isatty():
        text = "".join(c if c.isprintable() or c in "\n\t" else _spelled(c) for c in text)
    encoding = sys.stdout.encoding or "utf-8"
    hand_on(text.encode(encoding, ESCAPED).decode(encoding))


def hand_on(text: str = "") -> None:
    """Print it, with all that waits; a reader that has gone, such as `head`, changes no verdict."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def drop_output() -> None:
    """Let what is still to be printed go nowhere: the interpreter would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _readable(error: UnicodeError) -> tuple[str, int]:
    lacking, end = _lacking(error)
    return "".join(STAND_INS.get(c) or _spelled(c) for c in lacking), end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    lacking, end = _lacking(error)
    return "".join(map(_spelled, lacking)), end


def _lacking(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return error.object[error.start : error.end], error.end


def _spelled(character: str) -> str:
    r"""The character as JSON spells it.

    >>> _spelled("é"), _spelled("🙂")
    ('\\u00e9', '\\ud83d\\ude42')
    """
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[first : first + 4]}" for first in range(0, len(units), 4))


def _nowhere(descriptor: int) -> io.TextIOWrapper:
    """A stream that keeps nothing; the number of the closed one is taken, or the next file opened would have it."""
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.fstat(descriptor)
    except OSError:
        os.dup2(null, descriptor)
    return open(null, "w", encoding="utf-8")  # noqa: PTH123 (until the process ends)


codecs.register_error(READABLE, _readable)
codecs.register_error(ESCAPED, _escaped)
