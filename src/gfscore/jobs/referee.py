"""The referee of a gate: rules on robust accuracy are judged by attacks, and images attacked until the verdict stands.

Radii of all samples predict who withstands; attacks correct them (:mod:`gfscore.bounds.few_attacks`). While a rule on
all samples is open, attacks follow one order of all; then those classes are attacked whose rules are open, each in its
own order. Whatever else a policy asks is judged first: what fails without an attack takes none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from gfscore import views
from gfscore.attacks.sparing import Draw, parts_of, radii_of
from gfscore.attacks.until_decided import Attacker, SizeCase
from gfscore.errors import OptionError
from gfscore.jobs.attack_steps import budget_steps
from gfscore.jobs.calling import Face
from gfscore.jobs.options import Options, Target
from gfscore.jobs.sources import Source
from gfscore.jobs.stages import audit_scores
from gfscore.jobs.steps import score_steps
from gfscore.jobs.trials import Step
from gfscore.judge import EVERY, Kind, Policy, Rule, about_the_missing, judge
from gfscore.judge.attack_rules import SizeRules
from gfscore.judge.policy import ABSENT
from gfscore.measures import Assault, Run
from gfscore.results import Flag, ModelAudit, ModelVerdict, Referee, RefereeSize, RuleVerdict, Verdict
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.words import Panel, Word

TITLES = {"autoattack": "AutoAttack", "pgd": "APGD (20 steps)"}
FLAGS = {
    "autoattack": Flag(
        code="one_attack",
        message="robust accuracy is what withstands AutoAttack (standard). Other attacks may break more: a PASS is "
        "about this one.",
    ),
    "pgd": Flag(
        code="one_attack",
        message="robust accuracy is what withstands 20 steps of APGD, which misses a little of what AutoAttack "
        "finds: a PASS is about this one.",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefereeWords:
    """Whether attacks judge the rules on robust accuracy."""

    PANEL: ClassVar = Panel.RULES

    referee: Annotated[
        str | None,
        Word(
            any_case=True,
            metavar="ATTACK",
            help="Judge robust accuracy by attacks instead of radii, and attack images only until the verdict stands: "
            "autoattack, or pgd (20 steps of APGD: quick, and a little kinder).  [default: none, by radii]",
        ),
    ] = None
    budget: Annotated[
        int | None,
        Word(
            least=1,
            metavar="N",
            help="Images that --referee attacks at most; then the verdict is UNDECIDED.  [default: all]",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.referee is None:
            if self.budget is not None:
                raise OptionError("--budget is about the attacks of a referee. Give --referee autoattack too.")
            return
        if self.referee not in TITLES:
            raise OptionError(f"referee {self.referee!r} is not known. Choose {' or '.join(TITLES)}.")
        if self.budget is not None and self.budget < 1:
            raise OptionError(
                f"budget {self.budget} attacks nothing. Give the number of images to attack, such as 500."
            )

    def refuse(self, policy: Policy, *, files: bool, radii: Any, adaptive: bool) -> None:
        """Refuse what a referee cannot judge, before anything is run; without one nothing is refused."""
        if self.referee is None:
            return
        if not any(rule.kind is Kind.ROBUST for rule in policy.rules):
            raise OptionError(
                "--referee judges robust accuracy, and no rule asks for it. Give --robust-accuracy 0.3@2/255."
            )
        if any(rule.change for rule in policy.rules):
            raise OptionError("--referee judges one version of a model. Leave rules on changes out.")
        if files:
            raise OptionError("--referee attacks a model. Give --model and --data, and no files or baseline.")
        if radii is not None:
            raise OptionError("--referee measures the radii of all samples. Leave --radii out.")
        if adaptive:
            raise OptionError("--adaptive judges by radii, and --referee by attacks. Leave one of them out.")


def referee_steps(run: Run, policy: Policy, options: Options, words: RefereeWords) -> list[Step]:
    """What a referee asks of a model at most; it ends as soon as its rules are judged."""
    quick = words.referee == "pgd"
    sizes = [Assault(norm=options.norm or "linf", eps=eps, quick=quick) for eps in policy.eps]
    return [*score_steps(run, options, None), *budget_steps(run, sizes, words.budget, options.seed, most=True)]


def referee(
    source: Source,
    read: Callable[[Source], Samples],
    policy: Policy,
    options: Options,
    words: RefereeWords,
    face: Face,
    *,
    name: str | None,
    target: Target,
) -> tuple[ModelAudit, ModelVerdict]:
    """Audit a run, judge what needs no attack, then attack until the rules on robust accuracy are judged."""
    if source.run is None:
        raise OptionError(source.no_run or "--referee attacks a model. Give --model and --data.")
    if target == Target.FINITE and source.run.data.seed is not None:
        raise OptionError("the target finite is for a fixed data set, and a generator draws without end.")
    samples = read(source)
    with source.naming():
        local, finite = source.score(samples, options, face), target == Target.FINITE
        return _referee(source, source.run, samples, local, policy, options, words, face, name or source.name, finite)


def _referee(
    source: Source,
    run: Run,
    samples: Samples,
    local: LocalScores,
    policy: Policy,
    options: Options,
    words: RefereeWords,
    face: Face,
    name: str,
    finite: bool,
) -> tuple[ModelAudit, ModelVerdict]:
    levels, norm = policy.levels(options.delta), options.norm or "linf"
    at = replace(options, delta=levels.get(Kind.PROFILE, options.delta))
    audited = audit_scores(samples, local, at, name=name, origin=source.origin)
    others = replace(policy, rules=tuple(rule for rule in policy.rules if rule.kind is not Kind.ROBUST))
    known = judge(audited, others, levels)
    run.differentiable()  # what has no gradients is refused before radii are measured
    policy = policy.about(views.score_name(audited.score), norm)
    sizes, predictor = _sizes(run, samples, local, audited, policy, levels[Kind.ROBUST], face, options, finite)
    attacker = Attacker(
        run=run,
        norm=norm,
        quick=words.referee == "pgd",
        seed=options.seed,
        budget=words.budget,
        moved=face.bar(name, "attacks"),
    )
    attacker.possible = sum(len(size.draw.order) for size in sizes)
    for size in sizes:
        if Verdict.FAIL not in (known.verdict, *(verdict for each in sizes for verdict in each.look().verdicts)):
            size.attack(attacker)
    plain, robust = iter(known.rules), {size.eps: size for size in sizes}
    rules = tuple(
        _judge(rule, robust[rule.eps or 0.0], attacker, audited, policy) if rule.kind is Kind.ROBUST else next(plain)
        for rule in policy.rules
    )
    verdict = Verdict.all_of([rule.verdict for rule in rules])
    found = {
        "verdict": verdict,
        "rules": rules,
        "reasons": tuple(rule.reason for rule in rules if rule.verdict is verdict),
        "flags": (*known.flags, FLAGS[str(words.referee)]),
        "referee": _record(sizes, attacker, samples, predictor, finite=finite),
    }
    return audited.model_copy(update={"verdict": verdict.value}), known.model_copy(update=found)


def _sizes(
    run: Run,
    samples: Samples,
    local: LocalScores,
    audited: ModelAudit,
    policy: Policy,
    level: float,
    face: Face,
    options: Options,
    finite: bool,
) -> tuple[list[SizeCase], str]:
    """The sizes of attack that rules are about, with the draws from their radii, and how radii were found."""
    codes = samples.partition[0]
    names = dict(zip(np.unique(codes).tolist(), (entry.name for entry in audited.classes), strict=True))
    right, norm, found, predictor = local.predicted == samples.labels, options.norm or "linf", [], ""
    for eps in policy.eps:
        rules = tuple(rule for rule in policy.rules if rule.eps == eps and rule.kind is Kind.ROBUST)
        radii, predictor = radii_of(run, samples, Assault(norm=norm, eps=eps), face.bar(audited.name, "radii"))
        draw = Draw.of(radii, right, eps, seed=options.seed)
        asked = SizeRules(
            rules=rules,
            predictions=draw.predictions,
            weights=draw.weights,
            right=right,
            fallen=draw.fallen,
            codes=codes,
            names=names,
            level=level,
            upper_ends=1,
            finite=finite,
        )
        asked.check_names(audited.absent_classes)
        found.append(SizeCase(eps=eps, rules=asked, draw=draw, radii=radii))
    ends = sum(len(size.rules.asked) + size.rules.of_whole for size in found)
    for size in found:
        size.rules = replace(size.rules, upper_ends=ends)
    return found, predictor


def _judge(rule: Rule, size: SizeCase, attacker: Attacker, audited: ModelAudit, policy: Policy) -> RuleVerdict:
    """The verdict on a rule, with its reason."""
    ends, verdict = size.look().ends(rule), size.look().verdict(rule)
    what = f"{rule.what[0].upper()}{rule.what[1:]} under {TITLES[attacker.assault(size.eps).name]}"
    if ends is None:
        reason = f"{what} does not exist here, so nothing shows that it is at least {rule.threshold:g}."
    else:
        lowest = min(size.look().about(rule).items(), key=lambda entry: entry[1][0])[0]
        remark = f" (lowest: {views.printable(str(lowest))})" if rule.part == EVERY else ""
        reason = f"{what} is {views.estimate(ends[0], ends[1:], views.INDEX_DIGITS)}{remark}: "
        if verdict is Verdict.UNDECIDED:
            reason += f"the interval reaches across {rule.threshold:g}; {_why_open(size, attacker)}."
        else:
            share = "all" if verdict is Verdict.PASS else "none"
            reason += f"{share} of the interval is at least {rule.threshold:g}."
    entry = RuleVerdict(
        rule=rule.text,
        metric=rule.metric,
        class_=rule.part,
        eps=rule.eps,
        at_least=rule.threshold,
        value=None if ends is None else ends[0],
        interval=None if ends is None else ends[1:],
        verdict=verdict,
        reason=reason,
    )
    missing = audited.absent_classes if rule.of_every_class else ()
    return about_the_missing(entry, rule, missing, allowed=ABSENT in policy.allow) if missing else entry


def _why_open(size: SizeCase, attacker: Attacker) -> str:
    if len(size.rows) == len(size.draw.order):
        return "every image was attacked, so that only more images could decide"
    if not attacker.affords(attacker.block):
        return f"the budget of {attacker.budget:,} attacks is spent: raise --budget"
    return "another rule is broken, so that no more was attacked"


def _record(sizes: list[SizeCase], attacker: Attacker, samples: Samples, predictor: str, *, finite: bool) -> Referee:
    """How the verdict was come by, for the result."""
    found = []
    for size in sizes:
        known, codes = size.look(), size.rules.codes
        ends = {code: known.parts[name] for code, name in size.rules.names.items() if name in known.parts}
        mistaken = size.draw.predictions[size.rows] != size.outcomes
        found.append(
            RefereeSize(
                eps=size.eps,
                attacked=len(size.rows),
                right=int(size.draw.right.sum()),
                attacked_first=int(size.draw.seen.sum()),
                fallen=int(size.draw.fallen.sum()),
                mistaken=int(mistaken.sum()),
                without_predictions=size.rules.plain_attacks(known),
                classes=parts_of(size.draw, codes, dict(size.rules.names), size.rows, size.outcomes, ends),
            )
        )
    return Referee(
        attack="pgd" if attacker.quick else "autoattack",
        norm=attacker.norm,
        n=samples.n_samples,
        attacked=attacker.attacked,
        budget=attacker.budget,
        from_store=attacker.known,
        predictor=predictor,
        sizes=tuple(found),
        target="finite" if finite else "population",
        seed=attacker.seed,
    )
