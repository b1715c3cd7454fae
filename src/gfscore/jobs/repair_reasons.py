"""What a repair came to, as a result with its reason in words, and the files that hold it."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gfscore import views
from gfscore.errors import PLURALS, first_few
from gfscore.inputs.models.onnx_bias import write_biased
from gfscore.inputs.models.onnx_model import OnnxModel
from gfscore.jobs.repair_parts import RepairPart
from gfscore.jobs.repair_steps import LEAST_MEAN, Bargain, Outcome
from gfscore.repairing import Point
from gfscore.results import BeforeAfter, ChosenBy, Flag, FrontierPoint, Provenance, Repair
from gfscore.storage import write_text

CHECKED_IMAGES = 8  # that a written model is run on
ONNX, VECTOR, WEIGHTS = "repaired.onnx", "bias.csv", "repaired.safetensors"
OF_LOGITS = Flag(
    code="logits_alone",
    message="logits show no slopes: what is balanced here is accuracy, and GREAT scores with it. Nothing is said, and "
    "nothing was done, about robustness. Give the model and its data for that.",
)


def assemble_repair(
    found: Outcome,
    choosing: RepairPart,
    judging: RepairPart,
    how: Bargain,
    *,
    flags: Sequence[Flag],
    provenance: Provenance,
) -> Repair:
    """The result; what was chosen is in it also where nothing was gained."""
    choice = ChosenBy(
        n=len(choosing.rows),
        judged_by=len(judging.rows),
        source=choosing.source.origin.source,
        judge_source=judging.source.origin.source,
        gradients=choosing.gradients,
        rivals=choosing.rivals.shape[1],
        keep_mean=how.keep_mean,
        max_loss=how.max_loss,
        seed=how.seed,
        weakest=choosing.names[found.weakest],
    )
    run = choosing.run
    partition = "class" if choosing.samples.groups is None else "group"
    decisive = next((each for each in found.judged if each.measure == found.judged_on), None)
    return Repair(
        name=choosing.source.name,
        method=how.method,
        gained=found.gained,
        reason=_reason(found, choosing, how, decisive, partition),
        delta=how.delta,
        judged_on=found.judged_on,
        norm=how.norm,
        eps=how.eps,
        partition=partition,
        class_names=choosing.samples.class_names,
        bias=tuple(found.chosen.bias.tolist()),
        parts=tuple(choosing.names[code] for code in np.unique(choosing.codes)),
        unrepaired=frontier_point(found.before, found.before),
        chosen=frontier_point(found.chosen, found.before),
        choice=choice,
        frontier=tuple(frontier_point(point, found.before) for point in found.frontier),
        clean_frontier=tuple(frontier_point(point, found.before) for point in found.clean_frontier),
        judged=found.judged,
        made_by=None if run is None else run.about,
        flags=(*flags, *_flags(found, how, decisive, partition)),
        provenance=provenance,
    )


def frontier_point(point: Point, before: Point) -> FrontierPoint:
    """A point of the frontier for the result, and what it loses against another."""
    losses = [float((old - new).max()) for old, new in zip(before.shares, point.shares, strict=True)]
    return FrontierPoint(
        worst=point.worst,
        mean=point.mean(),
        clean=point.mean(len(point.shares) - 1),
        largest_loss=max(losses),
        bias=tuple(point.bias.tolist()),
        shares=tuple(point.shares[0].tolist()),
    )


def _what(how: Bargain, measure: str | None) -> str:
    """What is redistributed, as the subject of a sentence."""
    if how.eps is None:
        return "accuracy"
    at = f"{views.norm_text(how.norm or '')} {views.eps_text(how.eps, how.norm)}"
    return f"accuracy under {measure} at {at}" if measure not in (None, "first-order") else f"robust accuracy at {at}"


def _reason(found: Outcome, choosing: RepairPart, how: Bargain, decisive: BeforeAfter | None, partition: str) -> str:
    """The verdict in words: what was before, what is after, and what is not shown."""
    worst, what = choosing.names[found.weakest], _what(how, found.judged_on)
    if found.nothing is not None or decisive is None:
        was = f"{what} of {views.printable(worst)!r} is {views.percent(found.before.worst)}"
        if found.before.mean() < LEAST_MEAN:
            return (
                f"There is nothing to redistribute: {what} is {views.percent(found.before.mean())} in the mean of the "
                f"{PLURALS[partition]}. A bias moves what there is from one {partition} to another; train the network."
            )
        return (
            f"No bias is found that raises the worst {partition}: {was}, and every bias that lifts it costs the mean "
            f"more than {views.percent(how.keep_mean)} or a {partition} more than {views.percent(how.max_loss)}. "
            "Allow more (--keep-mean, --max-loss), or train the network."
        )
    old, new = decisive.worst_before, decisive.worst_after
    moved = (
        f"The worst {partition}'s {what} goes from {views.percent(old.value)} ({views.printable(old.class_)}) to "
        f"{views.percent(new.value)} ({views.printable(new.class_)}), the mean from {views.percent(decisive.before)} "
        f"to {views.percent(decisive.after)}, on {decisive.n:,} samples that did not choose the bias."
    )
    if found.gained:
        return moved
    names = [views.printable(choosing.names[part]) for part in found.short]
    worst = worst if found.compared is None else choosing.names[found.compared]
    return (
        f"{moved} That is not shown to be a gain: {first_few(names)} may now be no better than "
        f"{was_weakest(worst, old.class_)}. More samples that judge may show it."
    )


def was_weakest(name: str, worst: str) -> str:
    """Whom the others are compared with, and why it is not the ``worst`` of those that judge, where it is not.

    >>> was_weakest("8", "8"), was_weakest("8", "9")
    ('8 was', '8 was (the weakest on the samples that chose)')
    """
    why = "" if name == worst else " (the weakest on the samples that chose)"
    return f"{views.printable(name)} was{why}"


def _flags(found: Outcome, how: Bargain, decisive: BeforeAfter | None, partition: str) -> list[Flag]:
    """What a reader should know beside the numbers."""
    flags = [Flag(code="attack", message=f"the attack remarks: {remark}") for remark in found.remarks]
    if how.eps is None:
        flags.append(OF_LOGITS)
    if decisive is None:
        return flags
    if how.eps is not None and how.attack is None:
        message = (
            "judged by first-order radii, which are estimates and can be fooled by masked gradients. Judge by an "
            "attack: --attack apgd, or autoattack."
        )
        flags.append(Flag(code="estimated", message=message))
    for each in found.judged:
        over = [
            f"{views.printable(part.name)} ({views.points(part.change)})"
            for part in each.parts
            if each.measure != "great" and (part.change.value or 0.0) < -how.max_loss
        ]
        if over:
            message = (
                f"{each.measure}: {first_few(over)} lost more points on the samples that judge than the "
                f"{views.percent(how.max_loss)} which a {partition} may lose on those that chose."
            )
            flags.append(Flag(code="over_max_loss", message=message))
    return flags


def write_repaired(folder: Path, part: RepairPart, result: Repair) -> str:
    """Write the repaired graph where the model is one, else the bias of each class; the name of the file."""
    bias = np.asarray(result.bias)
    model = None if part.run is None else part.run.model
    if isinstance(model, OnnxModel) and part.run is not None:
        few = part.run.inputs(slice(0, model.fixed_batch or min(CHECKED_IMAGES, part.run.n_samples)))
        folder.mkdir(parents=True, exist_ok=True)
        write_biased(model, bias, folder / ONNX, few)
        return ONNX
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "bias"])
    writer.writerows(zip(result.class_names, map(repr, result.bias), strict=True))
    write_text(folder / VECTOR, text.getvalue())
    return VECTOR
