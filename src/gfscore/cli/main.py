"""The one place where errors become a line and an exit code."""

import os
import re
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

from gfscore import views
from gfscore.__about__ import __version__
from gfscore.cli import screens
from gfscore.cli.binding import rename_options
from gfscore.cli.help_screen import EXAMPLES, Command, CommandGroup, show_everything
from gfscore.errors import GFScoreError, OptionError, RunError
from gfscore.storage import FULL, is_text, redact

UNUSABLE_INPUT, FAILED_INSIDE, INTERRUPTED = 2, 4, 130
# typer carries its own copy of click; its usage errors have this base, which has no public name.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]
EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")  # as click says it

# where each is, in the order of the help
COMMANDS = {
    "demo": "experiment_commands",
    "init": "audit_commands",
    "audit": "audit_commands",
    "logits": "audit_commands",
    "store": "store_commands",
    "calibrate": "audit_commands",
    "certify": "audit_commands",
    "gate": "verdict_commands",
    "compare": "verdict_commands",
    "check": "audit_commands",
    "repair": "verdict_commands",
    "leaderboard": "leaderboard_commands",
    "plan": "output_commands",
    "report": "output_commands",
    "figures": "output_commands",
    "table": "output_commands",
    "dashboard": "output_commands",
    "reproduce": "experiment_commands",
}

_interrupts: list[int] = []  # signals that came


def application(*names: str) -> typer.Typer:
    """The commands of these names, or all: only what they import is loaded, which is most of the time to start."""
    app = typer.Typer(
        name="gfscore",
        cls=CommandGroup,
        help="Which classes does a classifier leave unprotected? Class-wise robustness audits without attacks.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        callback=version_option,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in names or COMMANDS:
        module = import_module(f"gfscore.cli.{COMMANDS[name]}")
        if name == "store":
            app.add_typer(module.store_app, name=name)
        else:
            app.command(name, cls=Command, epilog=EXAMPLES[name])(getattr(module, f"{name}_command"))
    return app


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gfscore {__version__}")
        raise typer.Exit


def version_option(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before any command."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    0 done or PASS, 1 FAIL, 2 unusable input or usage, 3 UNDECIDED, 4 failed inside, 130 interrupted.
    """
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where it is ignored, as behind nohup
    if listens:
        signal.signal(signal.SIGINT, _interrupt)
    screens.prepare()
    code = run(sys.argv[1:] if arguments is None else list(arguments))
    if listens:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what remains is to leave, and the code is known
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    try:
        _refuse_odd(arguments)
        app = application(*(name for name in arguments[:1] if name in COMMANDS))
        arguments = rename_options(arguments[0] if arguments else "", show_everything(arguments))
        code = int(app(args=arguments, prog_name="gfscore", standalone_mode=False) or 0)
        screens.hand_on()  # here, where a full disk behind it still becomes a line
        return _fail("interrupted.", code) if code == INTERRUPTED else code
    except RunError as error:
        return _fail(str(error), FAILED_INSIDE)
    except GFScoreError as error:
        return _fail(str(error), UNUSABLE_INPUT)
    except UsageError as error:
        message = error.format_message()
        if not message:  # the help was shown, because nothing was asked for
            return 0
        end = "" if message.endswith((".", "?")) else "."
        end += _likely(message, error)
        return _fail(f"{message}{end} See gfscore {_command(arguments)}--help.", UNUSABLE_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted.", INTERRUPTED)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            screens.drop_output()
            return _fail(
                f"the output cannot be written ({error.strerror}). Make room, and run it again.", FAILED_INSIDE
            )
        if os.environ.get("GFSCORE_DEBUG"):
            raise
        reason = f"{type(error).__name__}: {error}"
        return _fail(f"failed inside ({reason}). Set GFSCORE_DEBUG=1 for the traceback, and report it.", FAILED_INSIDE)


def _fail(message: str, code: int) -> int:
    """Say it in one line; whatever fails after Ctrl-C, such as an import it fell into, was interrupted."""
    if _interrupts:
        message, code = "interrupted.", INTERRUPTED
    one_line = views.printable(redact(" ".join(message.split())))
    print(f"gfscore: {one_line}", file=sys.stderr)  # noqa: T201
    return code


def _refuse_odd(arguments: Sequence[str]) -> None:
    """Refuse words that are no text, such as names of files in an old encoding: a result notes what it was made by."""
    odd = next((word for word in arguments if not is_text(word)), None)
    if odd is not None:
        shown = os.fsencode(odd).decode(errors="backslashreplace")
        raise OptionError(f"{shown} is no UTF-8 text, so no result could name it. Rename the file.")


def _likely(message: str, error: Any) -> str:
    """What was meant by a model or images that were given without their options, to a command that needs those."""
    found = EXTRA.match(message)
    options = {entry.name for entry in error.ctx.command.params} if found and error.ctx else set()
    if found is None or not {"model", "data"} <= options:
        return ""
    from gfscore.jobs.given_words import likely_options

    hint = likely_options(found[1].split())
    return "" if hint is None else f" {hint}"


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    _interrupts.append(number)
    signal.default_int_handler(number, frame)


def _command(arguments: Sequence[str]) -> str:
    return next((f"{argument} " for argument in arguments if argument in COMMANDS), "")
