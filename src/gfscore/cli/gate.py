"""``gfscore gate``: PASS, FAIL or UNDECIDED, by rules on the intervals of an audit, or by as few passes as it takes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gfscore import auditing, gating
from gfscore.cli import options as shared
from gfscore.cli.adaptive import judge_adaptively
from gfscore.cli.audit import Target
from gfscore.cli.delivery import provenance
from gfscore.cli.gate_outputs import GateOutputs
from gfscore.cli.grouping import expand
from gfscore.cli.sources import Source, local_scores, logits_sources
from gfscore.errors import OptionError, naming
from gfscore.inputs.small_files import allow_also, extend_policy, read_policy
from gfscore.results import Audit, ModelAudit, ModelVerdict, Verdict
from gfscore.samples import Samples
from gfscore.storage import Watched

EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNDECIDED: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOptions:
    """Rules on the command line; added to those of a policy file, in place of the same rule there."""

    policy: Annotated[Path | None, typer.Option(help="Rules from a policy.toml.")] = None
    wcr: Annotated[float | None, typer.Option(help="The worst class is at least this.")] = None
    rdi: Annotated[float | None, typer.Option(help="Best minus worst class is at most this.")] = None
    nrgc: Annotated[float | None, typer.Option(help="The Gini coefficient of the classes is at most this.")] = None
    fp_great: Annotated[float | None, typer.Option(help="FP-GREAT is at least this.")] = None
    class_score: Annotated[
        list[str] | None, typer.Option("--class", metavar="NAME=SCORE", help="The score of a class is at least this.")
    ] = None
    accuracy: Annotated[float | None, typer.Option(help="Clean accuracy is at least this share.")] = None
    class_accuracy: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=SHARE", help="The accuracy of a class (*: of every one) is at least this."),
    ] = None
    refuted: Annotated[float | None, typer.Option(help="The share of radii that were refuted is at most this.")] = None
    rule: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=VALUE",
            help="Any metric, such as theil=0.1 or one of a plug-in, is at least this where more is better, else at "
            "most.",
        ),
    ] = None
    change: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=CHANGE",
            help="Against --baseline, a metric such as wcr changes for the worse by no more: wcr=-0.02, rdi=0.02.",
        ),
    ] = None
    class_change: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=CHANGE", help="The same for a class (*: for every one), such as cat=-0.05."),
    ] = None

    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLAG",
            help="Judge in spite of a flag: absent_classes, at_chance, all_zero or bounded_logits. May be given "
            "several times.",
        ),
    ] = None

    def table(self) -> dict[str, Any]:
        """The tables that a policy file would have."""
        table = {} if self.policy is None else read_policy(self.policy)
        plain = {name: value for name, value in asdict(self).items() if isinstance(value, float)}
        extend_policy(table, "rules", plain | _pairs(self.rule, "--rule"))
        extend_policy(table, "class", _pairs(self.class_score, "--class"))
        extend_policy(table, "class_accuracy", _pairs(self.class_accuracy, "--class-accuracy"))
        extend_policy(table, "change", _pairs(self.change, "--change"))
        parts = _pairs(self.class_change, "--class-change")
        if parts:
            changes = dict(table.get("change", {}))
            extend_policy(changes, "class", parts)
            table["change"] = changes
        allow_also(table, self.allow or [])
        return table


@expand
def gate_command(
    *,
    inputs: Annotated[
        list[Path] | None, typer.Argument(help="Logits files, or an audit.json that was made before; a model each.")
    ] = None,
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    rules: PolicyOptions,
    baseline: Annotated[
        Path | None, typer.Option(help="An earlier version to compare with: a logits file or an audit.json.")
    ] = None,
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="Run the model only until the rule on the WCR is decided.")
    ] = False,
    size: Annotated[int, typer.Option("--round", min=1, help="Forward passes between two looks, with --adaptive.")] = (
        gating.ROUND
    ),
    target: Annotated[
        Target, typer.Option(help="What --adaptive decides about: the world behind the data, or this very data set.")
    ] = Target.POPULATION,
    probabilities: shared.Probabilities = False,
    groups: shared.Groups = None,
    local_score: shared.ScoreOptions,
    scoring: shared.AuditOptions,
    run: shared.RunOptions,
    outcome: GateOutputs,
) -> None:
    """Judge models by a policy: exit code 0 for PASS, 1 for FAIL, 3 for UNDECIDED.

    Each rule is judged on the interval of its number, not on the estimate. The verdict is wrong with probability at
    most delta.
    """
    radius = local_score.first_order()
    options = scoring.checked(local_score.name)
    if radius is not None:
        run.refuse_ray("a first-order radius")
    if not (model or data):
        run.refuse_ray("a gate on files")
    run = replace(run, quiet=run.quiet or outcome.as_json)  # nothing may stand beside the JSON
    files = Watched(path for path in (*(inputs or []), baseline, rules.policy, groups) if path)  # before any is read
    with nullcontext() if rules.policy is None else naming(rules.policy):
        policy = gating.policy_of(rules.table())
        if model or not all(map(_is_audit, inputs or [])):
            gating.check_scale(policy, options, radius)
    if adaptive:
        _refuse_files(inputs, baseline, groups)
        finite = target is Target.FINITE
        verdicts = judge_adaptively(
            model or [], data or [], policy, options, local_score, run, size=size, finite=finite
        )
        audits: list[ModelAudit] = []
    else:
        if target is Target.FINITE:
            raise OptionError(
                "--target finite is for --adaptive. Otherwise make the audit with it (gfscore audit --target finite), "
                "and gate the audit.json."
            )

        def read(source: Source) -> Samples:
            return source.read(probabilities=probabilities, class_names=run.names, groups=groups)

        before: gating.Baseline | None = None
        if baseline is not None:
            file = Source(path=baseline, source=baseline.name)
            before = _only_model(baseline) if _is_audit(baseline) else read(file)
        if radius is not None and isinstance(before, Samples):
            raise OptionError("a radius cannot be compared with a baseline of logits. Give its audit.json instead.")
        sources = _sources(inputs or [], model or [], data or [], run)

        def score(source: Source, samples: Samples) -> auditing.LocalScores:
            return local_scores(source, samples, options, local_score, run)

        judged = [_judged(name, source, read, score, policy, options, before) for name, source in sources]
        audits, verdicts = [audit for audit, _ in judged], [verdict for _, verdict in judged]
    result = gating.gate_result(verdicts, provenance(files))
    outcome.deliver(result, audits, quiet=run.quiet)
    raise typer.Exit(EXIT_CODES[result.verdict])


def _sources(
    inputs: Sequence[Path], models: Sequence[str], data: Sequence[str], run: shared.RunOptions
) -> Iterator[tuple[str, Source | ModelAudit]]:
    """Audits as they are, then logits files, then models that are run."""
    audits = [path for path in inputs if _is_audit(path)]
    for path in audits:
        yield from ((model.name, model) for model in Audit.load(path).models)
    logits = [path for path in inputs if path not in audits]
    if logits or models or data or not audits:
        yield from logits_sources(logits, models, data, run)


def _judged(
    name: str,
    source: Source | ModelAudit,
    read: Callable[[Source], Samples],
    score: Callable[[Source, Samples], auditing.LocalScores],
    policy: gating.Policy,
    options: auditing.Options,
    baseline: gating.Baseline | None,
) -> tuple[ModelAudit, ModelVerdict]:
    if isinstance(source, ModelAudit):
        if isinstance(baseline, Samples):
            raise OptionError("an audit has no samples to compare with those of --baseline. Give logits for both.")
        return gating.gate_audit(source, policy, options.delta, baseline=baseline)
    samples, run = read(source), source.run
    with naming(source.path if run is None else name):
        return gating.gate_scores(
            samples,
            score(source, samples),
            policy,
            options,
            name=name,
            baseline=baseline,
            source=source.source,
            data_seed=None if run is None else run.data.seed,
            run=None if run is None else run.about,
            class_sizes=source.class_sizes,
            finite=False,
        )


def _is_audit(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _only_model(path: Path) -> ModelAudit:
    with naming(path):
        return Audit.load(path).model


def _refuse_files(inputs: Sequence[Path] | None, *files: Path | None) -> None:
    if inputs or any(file is not None for file in files):
        raise OptionError(
            "--adaptive runs a model, and only as far as it must: give --model and --data, and no files, baseline or "
            "groups."
        )


def _pairs(texts: Sequence[str] | None, option: str) -> dict[str, float]:
    """``NAME=NUMBER`` options, by name."""
    found = {}
    for text in texts or []:
        name, _, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name:
            raise OptionError(f"{option} {text!r} is not a name and a number. Write {option} NAME=0.1.")
    return found
