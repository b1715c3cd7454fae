"""``check``: tries to refute the radius reading of the score, or sets AutoAttack beside it."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from gfscore.assemble import make_provenance
from gfscore.attacks import PER_CLASS, Refuter, ScoredRun, refute, with_cross_check, with_few_attacks, with_refutation
from gfscore.errors import OptionError, naming
from gfscore.jobs.arranging import listed_data, listed_models
from gfscore.jobs.attack_steps import attack_steps
from gfscore.jobs.calling import SILENT, Face, Job, Progress
from gfscore.jobs.common_words import DataSpecs, ModelSpecs
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import Options, RunOptions, Target
from gfscore.jobs.sources import Source, run_models
from gfscore.jobs.stages import audit_scores
from gfscore.jobs.steps import score_steps
from gfscore.jobs.trials import Step
from gfscore.measures import Assault, Run
from gfscore.results import Audit, ModelAudit
from gfscore.score_titles import FIRST_ORDER
from gfscore.words import Panel, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(Options):
    """How to score, where norm and eps may be those of an attack that the score knows nothing about."""

    autoattack: Annotated[bool, Word(help="Measure accuracy under AutoAttack of each class, beside the scores.")] = (
        False
    )
    quick: Annotated[
        bool, Word(help="Attack by 20 steps of APGD instead of AutoAttack: a first look, a little too kind.")
    ] = False
    budget: Annotated[
        int | None,
        Word(
            least=1,
            metavar="N",
            help="Attack so many images, not --samples of each class: radii predict all others, and the attacks bound "
            "how often they are wrong.  [default: none, --samples of each class]",
        ),
    ] = None
    target: Annotated[
        Target | None,
        Word(
            expert=True,
            help="With --budget, whose accuracy is bounded: finite (of these images) or population (of what they were "
            "drawn from).  [default: finite]",
        ),
    ] = None

    def __post_init__(self) -> None:
        _ = self.assault
        if self.target is not None and self.budget is None:
            raise OptionError("--target is about accuracy from few attacks. Give --autoattack and --budget too.")
        _ = self.scoring

    @property
    def assault(self) -> Assault | None:
        """The attack that was asked for, if one was."""
        if not self.autoattack:
            given = {"--quick": self.quick, "--budget": self.budget is not None}
            if self.score != FIRST_ORDER:
                given |= {"--eps": self.eps is not None, "--norm": self.norm is not None}
            for name in (name for name, was_given in given.items() if was_given):
                raise OptionError(f"{name} is about the attack of the cross-check. Give --autoattack too.")
            return None
        if self.budget is not None and self.budget < 1:
            raise OptionError(
                f"budget {self.budget} attacks nothing. Give the number of images to attack, such as 500."
            )
        if self.eps is None:
            raise OptionError("AutoAttack needs the size of the attack. Give --eps, such as 2/255.")
        return Assault(norm=self.norm or "linf", eps=self.eps, quick=self.quick)

    @property
    def scoring(self) -> Options:
        """What is about the score."""
        said = {field.name: getattr(self, field.name) for field in fields(Options)}
        of_attack = self.autoattack and self.score != FIRST_ORDER
        options = Options(**said | ({"norm": None, "eps": None} if of_attack else {}))
        options.refuse_radii("which this check does not measure. Say --score first-order too.")
        return options


@Job
def check(
    model: ModelSpecs = None,
    data: DataSpecs = None,
    *,
    method: Annotated[
        list[str] | None,
        Word(
            any_case=True,
            metavar="METHOD",
            panel=Panel.SCORE,
            help="What tries to refute: bisection (forward passes alone), premise (gradient of the margin) or attack "
            "(minimal-norm attacks). May be given several times.  [default: all that is possible]",
        ),
    ] = None,
    samples: Annotated[
        int, Word(least=1, panel=Panel.SCORE, help="Random samples of each class that are tried.")
    ] = PER_CLASS,
    options: CheckOptions,
    run: RunOptions,
    folder: Path | None = None,
    face: Face = SILENT,
) -> Audit:
    """Try to refute the score: look for an adversarial example inside the radius that each sample would have.

    With ``autoattack`` and ``eps``: accuracy under attack per class instead, beside the scores; with ``budget`` from
    attacks on so many samples and predictions for all. The strongest witness of each class is saved as a picture in
    ``folder``, if one is given.
    """
    methods = None if method is None else [Refuter.named(name) for name in method]
    scoring, assault, models = options.scoring, options.assault, []

    def steps(each: Run) -> list[Step]:
        attacked = attack_steps(each, scoring, methods, assault, samples, options.budget)
        return [*score_steps(each, scoring, None), *attacked]

    plan_run("check", model, data, run, face, steps)
    for source in list(run_models(listed_models(model), listed_data(data), run, face)):  # all forward passes first
        subject, audited = audit_subject(source, scoring, face)
        if assault is None or methods is not None:
            moved = face.bar(source.name, "refuters")
            found = refute(subject, methods, per_class=samples, seed=scoring.seed, progress=moved)
            audited = with_refutation(audited, subject, found, delta=scoring.delta, folder=folder)
        if assault is not None:
            audited = _attack(audited, subject, options, samples, face)
        models.append(audited)
    return Audit(models=tuple(models), provenance=make_provenance(command=face.command))


def _attack(audited: ModelAudit, subject: ScoredRun, options: CheckOptions, per_class: int, face: Face) -> ModelAudit:
    """The audit with its accuracy under attack: of a random part of each class, or of all, from few attacks."""
    assault, delta, seed = options.assault, options.delta, options.seed
    assert assault is not None  # noqa: S101 (who calls this has asked for one)

    def bar(what: str) -> Progress:
        return face.bar(audited.name, what)

    if options.budget is None:
        return with_cross_check(audited, subject, assault, per_class=per_class, delta=delta, seed=seed, bar=bar)
    return with_few_attacks(
        audited,
        subject,
        assault,
        budget=options.budget,
        target=str(options.target or Target.FINITE),
        delta=delta,
        seed=seed,
        bar=bar,
    )


def audit_subject(source: Source, options: Options, face: Face = SILENT) -> tuple[ScoredRun, ModelAudit]:
    """The scores of a run, to be put to the test, and their audit."""
    if source.run is None:
        why = source.no_run or "it is no model that is run. Give --model and --data."
        raise OptionError(f"{source.name}: {why}")
    samples = source.read()
    with naming(source.name):
        local = source.score(samples, options, face)
        audited = audit_scores(samples, local, options, name=source.name, origin=source.origin)
    return ScoredRun(run=source.run, samples=samples, local=local), audited
