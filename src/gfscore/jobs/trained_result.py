"""What a repair by training came to, judged on images that neither trained nor selected; a result with its reason."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from gfscore import views
from gfscore.arrays import BoolArray, IntArray
from gfscore.errors import first_few
from gfscore.jobs.repair_parts import copies_flag
from gfscore.jobs.repair_reasons import frontier_point, was_weakest
from gfscore.jobs.repair_steps import Bargain
from gfscore.jobs.trained_networks import MIDPOINT, Network, Standing
from gfscore.jobs.training_parts import TrainingParts
from gfscore.judge.repairs import Gain, judge_parts, worst_gain
from gfscore.results import (
    Baseline,
    BeforeAfter,
    ChosenBy,
    Flag,
    FrontierPoint,
    Provenance,
    Repair,
    TrainedEpoch,
    Training,
)
from gfscore.training import Recipe
from gfscore.training.recipes import HELD_IMAGES
from gfscore.training.trained import Epoch, Trained


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Before and after by each way of judging, the one that decides first; and the baselines."""

    judged: tuple[BeforeAfter, ...]
    decisive: str
    gain: Gain
    baselines: tuple[Baseline, ...]
    flags: tuple[Flag, ...]
    ordered: tuple[int, ...]  # classes, the one that was weakest before training first, by the images that select


def describe_cost(recipe: Recipe, parts: TrainingParts, *, baselines: bool) -> str:
    """What training takes, in a sentence, before it runs."""
    n, held = len(parts.train.rows), min(len(parts.select.rows), HELD_IMAGES)
    back = recipe.passes(n, held)[1]
    beside = recipe.of_method("at").passes(n, held)[1] if baselines and recipe.method != "at" else 0
    also = f", and {beside:,} of plain training beside it" if beside else ""
    return (
        f"{recipe.method}: {recipe.epochs} epochs of {n:,} images by {recipe.attack.title}, {held:,} others watched: "
        f"about {back:,} gradients of an image{also}."
    )


def judge_networks(
    before: Standing,
    after: Standing,
    others: Sequence[tuple[Network, Standing]],
    labels: IntArray,
    names: Sequence[str],
    start: Epoch,
    how: Bargain,
) -> Judgement:
    """The repaired network and the baselines against the network before, paired by image."""
    decisive, delta = list(before.held)[-1], how.delta
    shares = np.array([np.inf if share is None else share for share in start.robust])
    ordered = tuple(np.argsort(shares, kind="stable").tolist())

    def pair(name: str, first: Standing, second: Standing) -> tuple[tuple[BoolArray, BoolArray], IntArray]:
        return (first.held[name], second.held[name]), labels[before.places[name]]

    def judge(name: str, first: Standing, second: Standing) -> BeforeAfter:
        held, codes = pair(name, first, second)
        return judge_parts(name, names, (held[0] * 1.0, held[1] * 1.0), codes, delta=delta)

    def gain(second: Standing) -> Gain:
        held, codes = pair(decisive, before, second)
        return worst_gain(held, codes, ordered, delta=delta)

    baselines = [
        Baseline(
            name=network.name,
            gained=gain(there).is_shown,
            epoch=network.epoch,
            bias=tuple(network.bias.tolist()),
            judged=judge(decisive, before, there),
            against=judge(decisive, there, after),
        )
        for network, there in others
    ]
    remarks = dict.fromkeys([*before.remarks, *after.remarks])
    flags = [Flag(code="attack", message=f"the attack remarks: {remark}") for remark in remarks]
    return Judgement(
        judged=tuple(judge(name, before, after) for name in reversed(before.held)),
        decisive=decisive,
        gain=gain(after),
        baselines=tuple(baselines),
        flags=(*flags, *(flag for flag in after.flags if flag not in flags)),
        ordered=ordered,
    )


def assemble_trained(
    parts: TrainingParts,
    recipe: Recipe,
    trained: Trained,
    network: Network,
    found: Judgement,
    how: Bargain,
    *,
    then: bool,
    provenance: Provenance,
) -> Repair:
    """The result; what was trained is in it also where nothing was gained."""
    decisive = next(each for each in found.judged if each.measure == found.decisive)
    run = parts.audit.run
    unrepaired, chosen, frontier, clean_frontier = _points(trained, network)
    choice = ChosenBy(
        n=len(parts.select.rows),
        judged_by=len(parts.audit.rows),
        source=parts.select.run.data.source,
        judge_source=run.data.source,
        gradients=True,
        rivals=run.check().n_classes - 1,
        keep_mean=how.keep_mean,
        max_loss=how.max_loss,
        seed=how.seed,
        weakest=parts.names[found.ordered[0]],
    )
    return Repair(
        name=run.name,
        method=how.method,
        gained=found.gain.is_shown,
        reason=_reason(found, decisive, parts.names, how),
        delta=how.delta,
        judged_on=found.decisive,
        norm=how.norm,
        eps=how.eps,
        class_names=tuple(parts.names),
        bias=tuple(network.bias.tolist()),
        unrepaired=unrepaired,
        chosen=chosen,
        choice=choice,
        frontier=frontier,
        clean_frontier=clean_frontier,
        judged=found.judged,
        training=_training(parts, recipe, trained, found, then=then),
        made_by=run.about,
        flags=tuple(dict.fromkeys((*_flags(trained, parts, how), *network.flags, *found.flags))),
        provenance=provenance,
    )


def _points(
    trained: Trained, network: Network
) -> tuple[FrontierPoint, FrontierPoint, tuple[FrontierPoint, ...], tuple[FrontierPoint, ...]]:
    """Shares on the images that select: of the bias where one was looked for, else of PGD after the chosen epoch."""
    choice = network.choice
    if choice is not None:
        lines = [tuple(frontier_point(each, choice.before) for each in line)
                 for line in (choice.frontier, choice.clean_frontier)]  # fmt: skip
        ends = frontier_point(choice.before, choice.before), frontier_point(choice.chosen, choice.before)
        return *ends, lines[0], lines[1]
    at_end = trained.epochs[trained.chosen - 1] if trained.chosen else trained.start
    ends = _held_point(trained.start, trained.start, network), _held_point(at_end, trained.start, network)
    return *ends, (), ()


def _held_point(epoch: Epoch, start: Epoch, network: Network) -> FrontierPoint:
    robust, clean = ([share for share in shares if share is not None] for shares in (epoch.robust, epoch.clean))
    pairs = [*zip(start.robust, epoch.robust, strict=True), *zip(start.clean, epoch.clean, strict=True)]
    losses = [old - new for old, new in pairs if old is not None and new is not None]
    return FrontierPoint(
        worst=min(robust),
        mean=sum(robust) / len(robust),
        clean=sum(clean) / len(clean),
        largest_loss=max(losses),
        bias=tuple(network.bias.tolist()),
    )


def _training(parts: TrainingParts, recipe: Recipe, trained: Trained, found: Judgement, *, then: bool) -> Training:
    n_held = min(HELD_IMAGES, len(parts.select.rows))
    forward, backward = recipe.passes(len(parts.train.rows), n_held)
    return Training(
        inner=recipe.attack.title,
        epochs=recipe.epochs,
        done=len(trained.epochs),
        chosen=trained.chosen,
        lr=recipe.lr,
        batch=recipe.batch,
        seed=recipe.seed,
        is_ramped=trained.is_ramped,
        collapsed=trained.collapsed,
        train_n=len(parts.train.rows),
        select_n=len(parts.select.rows),
        held_n=n_held,
        train_source=parts.train.run.data.source,
        left_out=parts.left_out,
        forward_passes=forward,
        backward_passes=backward,
        then="bias" if then else "none",
        start_clean=trained.start.clean,
        start_robust=trained.start.robust,
        curves=tuple(
            TrainedEpoch(**{key: each for key, each in asdict(epoch).items() if key != "value"})
            for epoch in trained.epochs
        ),
        baselines=found.baselines,
    )


def _reason(found: Judgement, decisive: BeforeAfter, names: Sequence[str], how: Bargain) -> str:
    """The verdict in words."""
    at = f"{views.norm_text(how.norm or '')} {views.eps_text(how.eps or 0.0, how.norm)}"
    what = "robust accuracy" if found.decisive == MIDPOINT else f"accuracy under {found.decisive}"
    old, new = decisive.worst_before, decisive.worst_after
    moved = (
        f"The worst class's {what} at {at} goes from {views.percent(old.value)} ({views.printable(old.class_)}) to "
        f"{views.percent(new.value)} ({views.printable(new.class_)}), the mean from {views.percent(decisive.before)} "
        f"to {views.percent(decisive.after)}, on {decisive.n:,} samples that neither trained nor selected."
    )
    if found.gain.is_shown:
        return moved
    short = [views.printable(names[part]) for part in found.gain.short]
    return (
        f"{moved} That is not shown to be a gain: {first_few(short)} may now be no better than "
        f"{was_weakest(names[found.gain.weakest], old.class_)}. More samples that judge may show it."
    )


def _flags(trained: Trained, parts: TrainingParts, how: Bargain) -> list[Flag]:
    """What a reader should know beside the numbers."""
    found = []
    if trained.collapsed is not None:
        message = (
            f"training collapsed in epoch {trained.collapsed}: accuracy under PGD fell on held-out images while the "
            "attack of training saw none of it. Epochs before it are what was chosen from. Train with --inner pgd10."
        )
        found.append(Flag(code="collapse", message=message))
    if trained.is_ramped:
        message = (
            "the network was hardly robust before, so that attacks grew from nothing over the first half of training. "
            "Fine-tuning rarely makes such a network robust: look at the mean, too."
        )
        found.append(Flag(code="ramp", message=message))
    if trained.chosen == 0:
        message = "no epoch was better than the start on the images that select: what is judged is the start."
        found.append(Flag(code="no_better_epoch", message=message))
    if parts.left_out:
        message = f"{parts.left_out:,} training images also select or judge, and did not train."
        found.append(Flag(code="copies", message=message))
    if parts.not_judging:
        found.append(copies_flag(parts.not_judging))
    if how.attack is None:
        message = (
            "judged by midpoint radii, which are estimates and can be fooled by masked gradients, as training can "
            "bring about. Judge by an attack: --attack apgd, or autoattack."
        )
        found.append(Flag(code="estimated", message=message))
    return found
