"""The order of a repair by training: three parts, train, select, judge beside baselines of the same budget."""

from pathlib import Path
from typing import Any

import numpy as np

from gfscore.errors import OptionError
from gfscore.inputs.models.shims import torch_for
from gfscore.jobs.arranging import listed_data, listed_models
from gfscore.jobs.calling import Face
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import RunOptions
from gfscore.jobs.repair_reasons import ONNX, WEIGHTS
from gfscore.jobs.repair_steps import Bargain
from gfscore.jobs.sources import open_runs, provenance_of, watch
from gfscore.jobs.trained_networks import Network, stand, train_network, with_bias
from gfscore.jobs.trained_result import Judgement, assemble_trained, describe_cost, judge_networks
from gfscore.jobs.training_parts import TrainingParts, find_parts
from gfscore.jobs.training_steps import plan_training
from gfscore.jobs.training_words import TrainingWords
from gfscore.measures import Run
from gfscore.measures.radii import draw_rows
from gfscore.results import Repair
from gfscore.training import Recipe
from gfscore.training.networks import trainable_copy, write_graph, write_weights
from gfscore.training.trained import Trained
from gfscore.training.trainer import EXTRA, PURPOSE

PLAIN = "at"


def repair_by_training(
    model: Any,
    data: Any,
    *,
    train_data: Any,
    judge_data: Any,
    how: Bargain,
    training: TrainingWords,
    samples: int | None,
    run: RunOptions,
    folder: Path | None,
    face: Face,
) -> Repair:
    """Train the network by a method, choose on images that select, and judge on images that did neither."""
    torch_for(PURPOSE, extra=EXTRA)  # said before anything is read
    recipe = training.recipe(how.method, how.norm or "", how.eps or 0.0, how.seed)
    if run.dry_run:
        others = [None if each is None else _only_run(model, each, run).n_samples for each in (train_data, judge_data)]
        plan_run("repair", model, data, run, face, lambda each: plan_training(each, recipe, how, training, *others))
    runs = [None if each is None else _only_run(model, each, run) for each in (data, train_data, judge_data)]
    if runs[0] is None:
        raise OptionError("training takes --data: labelled images that select and judge. Give them.")
    least = int(np.ceil(np.log2(1 / how.delta)))
    parts = find_parts(runs[0], runs[1], runs[2], per_class=samples, least=least, seed=how.seed)
    if how.attack is not None:
        how.attack.check(runs[0].check().n_classes)
    trainable_copy(parts.train.run)  # a network that cannot be trained is refused before anything takes long
    face.tell(describe_cost(recipe, parts, baselines=training.with_baselines))
    files = watch()
    trained, network, baselines = _train_all(parts, recipe, how, training, face)
    judged = _judge_all(parts, trained, network, baselines, how, face)
    result = assemble_trained(
        parts, recipe, trained, network, judged, how, then=training.with_bias, provenance=provenance_of(face, files)
    )
    if folder is None or not result.gained:
        return result
    return _write(folder, parts, network, result)


def _only_run(model: Any, data: Any, run: RunOptions) -> Run:
    found = list(open_runs(listed_models(model), listed_data(data), run))
    if len(found) != 1:
        raise OptionError("a repair is of one model on one data set. Call it once for each.")
    return found[0]


def _train_all(
    parts: TrainingParts, recipe: Recipe, how: Bargain, training: TrainingWords, face: Face
) -> tuple[Trained, Network, list[Network]]:
    """The method, and plain training of the same budget: its last weights, and their average as it was selected."""
    biased, run = training.with_bias, parts.audit.run
    trained = train_network(parts, recipe, face)
    name = f"{run.name} after {recipe.method}"
    network = with_bias(parts, trained.best, name, how, face, epoch=trained.chosen, biased=biased)
    if not training.with_baselines:
        return trained, network, []
    plain = trained
    if recipe.method != PLAIN:
        plain = train_network(parts, recipe.of_method(PLAIN), face)
    weights = {PLAIN: (plain.weights, len(plain.epochs))}
    if recipe.method != PLAIN:
        weights["average"] = (plain.best, plain.chosen)
    found = [
        with_bias(parts, each, called, how, face, epoch=epoch, biased=biased)
        for called, (each, epoch) in weights.items()
    ]
    return trained, network, found


def _judge_all(
    parts: TrainingParts, trained: Trained, network: Network, baselines: list[Network], how: Bargain, face: Face
) -> Judgement:
    """Every network on the same images that judge, which nothing was chosen by."""
    audit = parts.audit.as_run()
    labels = audit.data.labels
    places = np.arange(len(labels))
    if how.attacked is not None:
        places = draw_rows(audit.data.sample_ids or range(len(labels)), labels, how.attacked, how.seed)
    before = stand(audit, how, places, face)
    after = stand(network.on(audit), how, places, face)
    others = [(each, stand(each.on(audit), how, places, face)) for each in baselines]
    return judge_networks(before, after, others, labels, parts.names, trained.start, how)


def _write(folder: Path, parts: TrainingParts, network: Network, result: Repair) -> Repair:
    """Write the repaired network as a graph, and its weights by their own names."""
    run = parts.audit.run
    write_graph(folder / ONNX, run, network.module, network.bias)
    about = {"method": result.method, "norm": result.norm, "eps": result.eps, "epoch": network.epoch}
    write_weights(folder / WEIGHTS, network.module, network.bias, about)
    training = None if result.training is None else result.training.model_copy(update={"weights": WEIGHTS})
    return result.model_copy(update={"written": ONNX, "training": training})
