"""``repair``: a model that protects its weak classes better, judged on samples that did not choose the repair."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from gfscore.attacks.under_attack import AttackKind, SizedAttack
from gfscore.errors import OptionError
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import Asked, arrange, listed_data
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.common_words import DataSpecs, Groups, ModelSpecs, Probabilities
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.mistaken_inputs import Allow, check_allowed, refuse_mistakes
from gfscore.jobs.options import RunOptions
from gfscore.jobs.repair_parts import RepairPart, copies_flag, halve, measure_part, refuse_small, without_chosen
from gfscore.jobs.repair_reasons import assemble_repair, write_repaired
from gfscore.jobs.repair_steps import Bargain, choose_and_judge
from gfscore.jobs.repair_words import RepairWords
from gfscore.jobs.sources import Source, find_sources, provenance_of, watch
from gfscore.jobs.training_words import TrainingWords
from gfscore.measures.slopes import Gradients
from gfscore.results import Flag, Repair
from gfscore.scores import FirstOrder
from gfscore.training import STRATEGIES
from gfscore.words import Panel, Word


@Job
def repair(
    inputs: Annotated[
        Any,
        Word(
            kind=str | None,
            is_argument=True,
            metavar="MODEL",
            help="The model: FILE.onnx, torch:module:factory, ... as --model; or a logits file, to balance accuracy.",
        ),
    ] = None,
    data: DataSpecs = None,
    *,
    model: ModelSpecs = None,
    judge_data: Annotated[
        Any,
        Word(
            kind=str | None,
            metavar="SPEC",
            help="Labelled images that judge, so that all of --data choose.  [default: one half of --data chooses, the "
            "other judges]",
        ),
    ] = None,
    train_data: Annotated[
        Any,
        Word(
            kind=str | None,
            metavar="SPEC",
            panel=Panel.TRAINING,
            help="Labelled images that train.  [default: half of --data, and a quarter each chooses and judges]",
        ),
    ] = None,
    repairing: RepairWords,
    training: TrainingWords,
    groups: Groups = None,
    allow: Allow = None,
    probabilities: Probabilities = False,
    words: ReadingWords,
    run: RunOptions,
    folder: Path | None = None,
    face: Face = SILENT,
) -> Repair:
    r"""Repair the worst class of a model: find constants for its logits, and judge them on samples that did not choose.

    .. math:: r_i(b) = \min_j \frac{f_y - f_j + b_y - b_j}{\|\nabla (f_y - f_j)\|_q}

    A constant moves decisions and no slope, so the first-order radii of all samples are known for every b once margins
    and slopes are. The b is chosen that raises the worst class most within ``keep_mean`` and ``max_loss``. From logits
    alone it is accuracy that is balanced, and no robustness. The repaired model is written into ``folder``, if one is
    given and the gain is shown; ``found.apply(net)`` puts the bias on a model in memory. What it means: :doc:`repair`.
    Labels or images that are nonsense are refused, as by a gate, unless their flags are in ``allow``. The other methods
    train the network: :doc:`training`.

    >>> rng, labels = np.random.default_rng(0), np.arange(3000) % 3
    >>> logits = rng.normal(0, 1, (3000, 3)) + np.array([2.0, 2.0, 1.0])[labels][:, None] * np.eye(3)[labels]
    >>> found = repair(logits, labels, keep_mean=0.05, max_loss=0.3)
    >>> found.gained, found.decisive.worst_before.class_, [round(each, 1) for each in found.bias]
    (True, '2', [-0.2, -0.1, 0.3])
    """
    given = Asked(model=model, data=data) if inputs is None else arrange(inputs, data, model)
    logits, asked, data = given.checked(run.names, words, probabilities=probabilities)
    if repairing.method in STRATEGIES:
        _refuse_for_training(repairing, logits, asked, groups)
        if allow:
            raise OptionError(f"--allow is about what a bias is chosen by, and --method {repairing.method} trains.")
        return _train(asked, data, repairing, training, run, folder, face, train_data=train_data, judge_data=judge_data)
    training.refuse(repairing.method)
    allowed = check_allowed(allow)
    if train_data is not None:
        raise OptionError(f"--train-data trains, and --method {repairing.method} trains nothing. Leave it out.")
    _plan(repairing, logits, asked, data, judge_data, run, face)
    files = watch(logits, groups)
    named = {"probabilities": probabilities, "groups": groups, "class_names": run.names, "words": words}
    sources = [_only(list(find_sources(logits, asked, data, run, face, probabilities=probabilities)))]
    if judge_data is not None:
        if groups is not None:
            raise OptionError("--groups are of one data set, and --judge-data is another. Leave one of them out.")
        if asked is None:
            raise OptionError("--judge-data is what a model is run on, and there are only logits. Leave it out.")
        sources.append(_only(list(find_sources(None, asked, judge_data, run, face))))
    choosing, judging, flags = _parts(sources, repairing, run, face, named, allowed)
    how = _bargain(repairing, None if choosing.norms is None else repairing.radius(run.seed), run.seed)
    found = choose_and_judge(choosing, judging, how, face=face)
    result = assemble_repair(found, choosing, judging, how, flags=flags, provenance=provenance_of(face, files))
    if folder is None or not result.gained:
        return result
    return result.model_copy(update={"written": write_repaired(folder, choosing, result)})


def _plan(
    repairing: RepairWords, logits: Any, model: Any, data: Any, judge_data: Any, run: RunOptions, face: Face
) -> None:
    """End with what the repair would take, if that is asked for."""
    if not run.dry_run:
        return
    from gfscore.jobs.repair_plan import plan_repair

    radius, choice = repairing.radius(run.seed), Gradients.named(repairing.gradients or Gradients.AUTO)
    sets = [*listed_data(data), *listed_data(judge_data)]
    how, apart = _bargain(repairing, radius, run.seed), judge_data is not None
    steps = plan_repair(how, radius, choice, repairing.samples, apart=apart)
    plan_run("repair", model, sets, run, face, steps, beside=logits)


def _refuse_for_training(repairing: RepairWords, logits: Any, model: Any, groups: Any) -> None:
    """Refuse what training cannot do anything with."""
    method = repairing.method
    if model is None or logits is not None:
        raise OptionError(f"--method {method} trains a network, and there are only logits. Say the model and --data.")
    if groups is not None:
        raise OptionError(f"--method {method} is about classes, and --groups are other parts. Leave --groups out.")
    if repairing.gradients not in (None, Gradients.AUTO, Gradients.YES):
        raise OptionError(f"--method {method} trains by gradients. Leave --gradients out.")


def _train(
    model: Any,
    data: Any,
    repairing: RepairWords,
    training: TrainingWords,
    run: RunOptions,
    folder: Path | None,
    face: Face,
    **others: Any,
) -> Repair:
    """Hand over to training, whose modules are loaded only here."""
    from gfscore.jobs.repair_training import repair_by_training

    return repair_by_training(
        model,
        data,
        **others,
        how=_bargain(repairing, repairing.radius(run.seed), run.seed),
        training=training,
        samples=repairing.samples,
        run=run,
        folder=folder,
        face=face,
    )


def _bargain(repairing: RepairWords, how: FirstOrder | None, seed: int) -> Bargain:
    """What was said, for the steps; without ``how`` of logits alone."""
    attack = None
    if repairing.attack is not None and how is not None and how.eps is not None:
        attack = SizedAttack(attack=AttackKind.named(repairing.attack), norm=str(how.kind), eps=how.eps, seed=seed)
    return Bargain(
        method=repairing.method,
        norm=None if how is None else str(how.kind),
        eps=None if how is None else how.eps,
        keep_mean=repairing.keep_mean,
        max_loss=repairing.max_loss,
        delta=repairing.delta,
        seed=seed,
        attack=attack,
        attacked=repairing.attacked,
    )


def _only(sources: list[Source]) -> Source:
    if len(sources) != 1:
        raise OptionError("a repair is of one model on one data set. Call it once for each.")
    return sources[0]


def _parts(
    sources: list[Source],
    repairing: RepairWords,
    run: RunOptions,
    face: Face,
    named: dict[str, Any],
    allowed: tuple[str, ...],
) -> tuple[RepairPart, RepairPart, list[Flag]]:
    """The samples that choose and those that judge."""
    parts, flags, gradients = [], list[Flag](), Gradients.named(repairing.gradients or Gradients.AUTO)
    for source in sources:
        samples = source.read(**named)
        with source.naming():
            doubts = refuse_mistakes(samples, source.run, allowed)  # before slopes, which take their time
        how = None if source.run is None else repairing.radius(run.seed)
        if how is None:
            why = "which take the model itself. Say the model and --data."
            repairing.refuse_attacks(why if source.no_run is None else f"and there are none here: {source.no_run}")
        elif repairing.attack is not None and source.run is not None:
            kind = AttackKind.named(repairing.attack)
            SizedAttack(attack=kind, norm=str(how.kind), eps=how.eps or 0.0).check(samples.n_classes)
            source.run.differentiable()  # an attack takes gradients: refused here rather than hours later
        halved = repairing.samples if len(sources) == 1 else repairing.samples and (repairing.samples + 1) // 2
        part, said = measure_part(source, samples, how, gradients, per_class=halved, seed=run.seed, face=face)
        parts.append(part)
        flags += [flag for flag in (*doubts, *said) if flag not in flags]
    choosing, judging = halve(parts[0], run.seed) if len(parts) == 1 else (parts[0], parts[1])
    judging, copied = without_chosen(judging, choosing)
    if copied:
        flags.append(copies_flag(copied))
    least = int(np.ceil(np.log2(1 / repairing.delta)))  # the fewest that the sign test can call a gain
    refuse_small(choosing, least, in_halves=len(parts) == 1)
    absent = set(np.unique(choosing.codes)) ^ set(np.unique(judging.codes))
    if absent:
        name = choosing.names[min(absent)]
        raise OptionError(f"{name!r} has samples that choose or samples that judge, but not both. Give more of it.")
    return choosing, judging, flags
