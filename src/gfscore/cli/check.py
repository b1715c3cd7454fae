"""``gfscore check``: tries to refute the radius reading of the score, or sets AutoAttack beside it."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gfscore import assembling, auditing
from gfscore.attacks import PER_CLASS, Assault, Refuter, refute, with_cross_check, with_refutation
from gfscore.cli import options as shared
from gfscore.cli.grouping import expand
from gfscore.cli.running import advance, audit_subject, first_order_scores, run_models, subject_of
from gfscore.cli.screens import progress_bar, screen
from gfscore.cli.streams import write_data
from gfscore.errors import OptionError
from gfscore.measures import Run
from gfscore.outputs.verdicts import show_check
from gfscore.results import Audit
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER

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
    per_class: Annotated[
        int, typer.Option("--samples", min=1, help="Random samples of each class that are tried.")
    ] = PER_CLASS,
    autoattack: Annotated[
        bool, typer.Option("--autoattack", help="Accuracy under AutoAttack per class, beside the scores.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="PGD instead of AutoAttack, for a first look.")] = False,
    local_score: shared.ScoreOptions,
    scoring: shared.AuditOptions,
    run: shared.RunOptions,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.json.  [default: gfscore-check]")] = None,
    as_json: shared.AsJson = False,
) -> None:
    """Try to refute the score: look for an adversarial example inside the radius that each sample would have.

    Prints the share of radii refuted per class, and writes audit.json and the strongest witness of each class as a
    picture. With --autoattack and --eps: accuracy under attack per class instead, beside the scores.
    """
    run.refuse_ray("what tries to refute a score")
    options, methods = (
        scoring.checked(local_score.name),
        None if method is None else [Refuter.named(name) for name in method],
    )
    assault = _assault(local_score, autoattack=autoattack, quick=quick)
    of_attack = (
        assault is not None and local_score.score != FIRST_ORDER
    )  # then norm and eps say nothing about the score
    radius = (replace(local_score, norm=None, eps=None) if of_attack else local_score).first_order()
    run = replace(run, quiet=run.quiet or as_json)  # nothing may stand beside the JSON
    folder = None if as_json and out is None else out or Path("gfscore-check")

    def score(of: Run, samples: Samples) -> auditing.LocalScores:
        if radius is None:
            return auditing.score_samples(samples, options)
        return first_order_scores(of, samples, radius, local_score.choice, run)

    models = []
    for of, logits in list(run_models(model or [], data or [], run)):  # all forward passes first: they have a bar
        subject = subject_of(of, logits, options, score)
        audited = audit_subject(subject, options)
        if assault is None or methods is not None:
            with progress_bar(quiet=run.quiet) as bar:
                moved = advance(bar, f"refuting {of.name}")
                found = refute(subject, methods, per_class=per_class, seed=options.seed, progress=moved)
            audited = with_refutation(audited, subject, found, delta=options.delta, folder=folder)
        if assault is not None:
            audited = with_cross_check(
                audited, subject, assault, per_class=per_class, delta=options.delta, seed=options.seed
            )
        models.append(audited)
    command = shlex.join(["gfscore", *sys.argv[1:]])
    audit = Audit(models=tuple(models), provenance=assembling.make_provenance(command=command))
    if folder is not None:
        audit.save(folder / RESULT)
    if as_json:
        write_data(audit.to_json())
    elif not run.quiet:
        show_check(audit, folder, screen())


def _assault(local_score: shared.ScoreOptions, *, autoattack: bool, quick: bool) -> Assault | None:
    """The attack that was asked for, if one was."""
    if not autoattack:
        given = {"--quick": quick}
        if local_score.score != FIRST_ORDER:
            given |= {"--eps": local_score.eps is not None, "--norm": local_score.norm is not None}
        for name in (name for name, was_given in given.items() if was_given):
            raise OptionError(f"{name} is about the attack of the cross-check. Give --autoattack too.")
        return None
    if local_score.eps is None:
        raise OptionError("AutoAttack needs the size of the attack. Give --eps, such as 2/255.")
    return Assault(norm=local_score.norm or "linf", eps=local_score.eps, quick=quick)
