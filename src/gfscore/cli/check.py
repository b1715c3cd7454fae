"""``gfscore check``: tries to refute the radius reading of the score, or sets AutoAttack beside it."""

import shlex
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from gfscore import auditing
from gfscore.cli import options as shared
from gfscore.cli.grouping import expand
from gfscore.cli.running import advance, audit_run, progress_bar, run_models, subject_of
from gfscore.errors import OptionError
from gfscore.outputs import checks
from gfscore.refuting import PER_CLASS, Assault, Refuter, refute, with_cross_check, with_refutation
from gfscore.results import Audit

RESULT = "audit.json"


@expand
def check_command(
    *,
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="What tries to refute: bisection (forward passes alone), premise (gradient of the margin) or attack "
            "(minimal-norm attacks). May be given several times.  [default: all that is possible]"
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Random samples of each class that are tried.")] = PER_CLASS,
    autoattack: Annotated[
        bool, typer.Option("--autoattack", help="Accuracy under AutoAttack per class, beside the scores.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="PGD instead of AutoAttack, for a first look.")] = False,
    norm: Annotated[str, typer.Option(help="Of the attack: l2 or linf.")] = "linf",
    eps: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Of the attack, in [0, 1] pixels, such as 2/255.")
    ] = None,
    scoring: shared.AuditOptions,
    run: shared.RunOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-check]")] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Try to refute the score: look for an adversarial example inside the radius that each sample would have.

    Prints the share of radii refuted per class, and writes audit.json and the strongest witness of each class as a
    picture. With --autoattack and --eps: accuracy under attack per class instead, beside the scores.
    """
    options, methods = scoring.checked(), None if method is None else [Refuter.named(name) for name in method]
    assault = _assault(autoattack=autoattack, quick=quick, norm=norm, eps=eps)
    run = replace(run, quiet=run.quiet or as_json)  # nothing may stand beside the JSON
    folder = None if as_json and out is None else out or Path("gfscore-check")
    models = []
    for entry in list(
        run_models(model or [], data or [], run)
    ):  # all forward passes first: they have a bar of their own
        audited, subject, name = audit_run(entry, options), subject_of(entry, options), entry.name
        if assault is None or methods is not None:
            with progress_bar(quiet=run.quiet) as bar:
                found = refute(
                    subject, methods, per_class=samples, seed=options.seed, progress=advance(bar, f"refuting {name}")
                )
            audited = with_refutation(audited, subject, found, delta=options.delta, folder=folder)
        if assault is not None:
            audited = with_cross_check(
                audited, subject, assault, per_class=samples, delta=options.delta, seed=options.seed
            )
        models.append(audited)
    command = shlex.join(["gfscore", *sys.argv[1:]])
    audit = Audit(models=tuple(models), provenance=auditing.make_provenance(command=command))
    if folder is not None:
        audit.save(folder / RESULT)
    if as_json:
        sys.stdout.write(audit.to_json())
    elif not run.quiet:
        checks.show(audit, folder, Console())


def _assault(*, autoattack: bool, quick: bool, norm: str, eps: str | None) -> Assault | None:
    """The attack that was asked for, if one was."""
    if not autoattack:
        if quick or eps is not None:
            given = "--quick" if quick else "--eps"
            raise OptionError(f"{given} is about the attack of the cross-check. Give --autoattack too.")
        return None
    if eps is None:
        raise OptionError("AutoAttack needs the size of the attack. Give --eps, such as 2/255.")
    return Assault(norm=norm, eps=_number(eps), quick=quick)


def _number(text: str) -> float:
    """A number, written as 0.0078 or as 2/255."""
    try:
        return float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        raise OptionError(f"eps {text!r} is not a number. Write it as 0.0078 or 2/255.") from None
