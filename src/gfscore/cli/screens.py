"""What people look at: consoles that show text as it is, and progress bars."""

import os

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from gfscore import views
from gfscore.cli.streams import drop_output

UNLIMITED = 10_000  # columns of a pipe, which has no edge
BAR_WIDTH = 40


class Screen(Console):
    """A console whose reader may leave."""

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
    """Steps a second; nothing until it is known."""

    def render(self, task: Task) -> Text:
        """The rate of a piece of work."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f}/s")


def progress_bar(*, quiet: bool) -> Progress:
    """Rate and time left; nothing in logs, where a bar would be noise, even where colours are wanted."""
    console = screen(stderr=True, quiet=quiet)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None, table_column=Column(max_width=BAR_WIDTH)),  # gives way to what is beside it
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
        console=console,
        disable=quiet or not (console.is_interactive and console.file.isatty()),
        transient=True,
    )
