"""What a repair by training takes, as steps of a dry run: training, and radii of every network that is judged."""

from dataclasses import asdict

import numpy as np

from gfscore.jobs.attack_steps import judging_steps
from gfscore.jobs.repair_steps import Bargain
from gfscore.jobs.steps import radii_step
from gfscore.jobs.training_parts import MEASURED, SHARES
from gfscore.jobs.training_words import TrainingWords
from gfscore.jobs.trials import Amount, Step, Stopwatch
from gfscore.measures import Run
from gfscore.measures.radii import draw_rows
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder
from gfscore.training import Recipe
from gfscore.training.networks import trainable_copy
from gfscore.training.parts import PartOfRun
from gfscore.training.trainer import Trainer

KEPT = 4  # copies of the weights in a checkpoint: as they are, average, best, momentum


def plan_training(
    run: Run, recipe: Recipe, how: Bargain, training: TrainingWords, train: int | None, judge: int | None
) -> list[Step]:
    """Steps of the method and of plain training beside it; ``train`` and ``judge`` are images given apart, if any."""
    shares = SHARES[train is not None, judge is not None]
    counts = [round(share * run.n_samples) for share in shares]
    if train is not None:
        counts.insert(0, train)
    n_audit = min(MEASURED, counts[2] if judge is None else judge, run.n_samples)
    found = [training_step(run, recipe, counts[0], min(counts[1], MEASURED))]
    if training.with_baselines and recipe.method != "at":
        plain = recipe.of_method("at")
        found.append(training_step(run, plain, counts[0], min(counts[1], MEASURED)))
    radius = FirstOrder(norm=recipe.norm, eps=recipe.eps, seed=how.seed)
    networks = 2 + (2 if len(found) > 1 else 1 if training.with_baselines else 0)
    rows = np.arange(n_audit)
    found += [radii_step(run, radius, Gradients.YES, rows)] * networks
    if how.attack is not None:
        if how.attacked is not None:
            rows = draw_rows(run.data.sample_ids or range(run.n_samples), run.data.labels, how.attacked, how.seed)
            rows = rows[:n_audit]
        found.append(judging_steps(run, rows, how.attack, networks))
    return found


def training_step(run: Run, recipe: Recipe, n_train: int, n_held: int) -> Step:
    """Training by a recipe: a trial does single steps on some images of the data."""
    forward, backward = recipe.passes(n_train, n_held)
    once = Recipe(**{**asdict(recipe), "epochs": 1})
    n_weights = sum(each.numel() for each in trainable_copy(run).parameters())

    rows = np.arange(min(n_train, run.n_samples))  # of the data, for the trial: training images may be elsewhere

    def measure(few: Run, watch: Stopwatch) -> None:
        part = PartOfRun(run=few, rows=np.arange(few.n_samples))
        trainer = Trainer(
            module=trainable_copy(few), recipe=recipe, n_classes=run.check().n_classes, train=part, held=part
        )
        part.take(part.rows[:1])  # images are read before the clock starts
        with watch.running():
            trainer.try_step()
        watch.work = once.passes(min(few.n_samples, recipe.batch), 0)[1]

    return Step(
        what=f"training ({recipe.method})",
        images=len(rows),
        rows=rows,
        measure=measure,
        amount=lambda _tried: Amount(work=backward, forward=forward, backward=backward, are="at most"),
        bytes_written=4 * KEPT * n_weights,
        together=recipe.batch,
    )
