"""The one place where errors become a line and an exit code."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from gfscore.cli import (
    audit,
    calibrate,
    certify,
    check,
    compare,
    dashboard,
    demo,
    figures,
    gate,
    logits,
    plan,
    report,
    reproduce,
    store,
    table,
)
from gfscore.cli.version import version_option
from gfscore.errors import GFScoreError, RunError
from gfscore.files import FULL

UNUSABLE_INPUT, FAILED_INSIDE, INTERRUPTED = 2, 4, 130
# typer carries its own copy of click; its usage errors have this base, which has no public name.
UsageError: type[typer.BadParameter] = typer.BadParameter.__mro__[1]

app = typer.Typer(
    name="gfscore",
    help="Which classes does a classifier leave unprotected? Class-wise robustness audits without attacks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    callback=version_option,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo_command)
app.command("audit")(audit.audit_command)
app.command("logits")(logits.logits_command)
app.add_typer(store.store_app, name="store")
app.command("calibrate")(calibrate.calibrate_command)
app.command("certify")(certify.certify_command)
app.command("gate")(gate.gate_command)
app.command("compare")(compare.compare_command)
app.command("check")(check.check_command)
app.command("plan")(plan.plan_command)
app.command("report")(report.report_command)
app.command("figures")(figures.figures_command)
app.command("table")(table.table_command)
app.command("dashboard")(dashboard.dashboard_command)
app.command("reproduce")(reproduce.reproduce_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit.

    0 done or PASS, 1 FAIL, 2 unusable input or usage, 3 UNDECIDED, 4 failed inside, 130 interrupted.
    """
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line and return the exit code."""
    try:
        code = int(app(args=arguments, prog_name="gfscore", standalone_mode=False) or 0)
        sys.stdout.flush()  # here, where a full disk behind it still becomes a line
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
        return _fail(f"{message}{end} See gfscore {_command(arguments)}--help.", UNUSABLE_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted.", INTERRUPTED)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        _drop_output()
        return 0
    except Exception as error:
        if isinstance(error, OSError) and error.errno in FULL:
            _drop_output()
            return _fail(
                f"the output cannot be written ({error.strerror}). Make room, and run it again.", FAILED_INSIDE
            )
        if os.environ.get("GFSCORE_DEBUG"):
            raise
        reason = f"{type(error).__name__}: {error}"
        return _fail(f"failed inside ({reason}). Set GFSCORE_DEBUG=1 for the traceback, and report it.", FAILED_INSIDE)


def _fail(message: str, code: int) -> int:
    one_line = " ".join(message.split())
    print(f"gfscore: {one_line}", file=sys.stderr)  # noqa: T201
    return code


def _drop_output() -> None:
    """Let what is still to be printed go nowhere: the interpreter would complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(arguments: Sequence[str]) -> str:
    known = {command.name for command in app.registered_commands}
    return next((f"{argument} " for argument in arguments if argument in known), "")
