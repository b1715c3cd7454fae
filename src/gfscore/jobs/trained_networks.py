"""Networks of a repair by training: trained or from a checkpoint, with a bias, and what of the audit they stand."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from gfscore.arrays import BoolArray, FloatArray, IntArray
from gfscore.engines.local import measured, score_first_order
from gfscore.errors import OptionError
from gfscore.inputs.models.shims import torch_for
from gfscore.jobs.calling import Face
from gfscore.jobs.common_words import LOGITS, RADII
from gfscore.jobs.radius_trust import trust_flags
from gfscore.jobs.repair_parts import measure_part
from gfscore.jobs.repair_steps import Bargain, Outcome, choose_and_judge
from gfscore.jobs.sources import Source
from gfscore.jobs.training_parts import TrainingParts
from gfscore.measures import Logits, Run
from gfscore.measures.slopes import Gradients
from gfscore.results import Flag
from gfscore.scores import FirstOrder
from gfscore.training import Recipe
from gfscore.training.checkpoints import checkpoint_path
from gfscore.training.networks import Retrained, run_of, trainable_copy, weights_hash, with_weights
from gfscore.training.trained import Trained
from gfscore.training.trainer import EXTRA, PURPOSE, Trainer

MIDPOINT = "midpoint"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Network:
    """A network that is judged."""

    name: str
    module: Any  # of [0, 1] pixels, without the bias
    bias: FloatArray
    epoch: int = 0
    choice: Outcome | None = None  # of the bias
    flags: tuple[Flag, ...] = ()

    def on(self, run: Run) -> Run:
        """The network, with its bias, on the data of a run."""
        trained = Retrained(name=self.name, weights=self.module.state_dict(), bias=self.bias)
        return run_of(run, self.module, trained)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Standing:
    """Which of the images that judge stand, by each way of judging; the last one decides."""

    held: dict[str, BoolArray]
    places: dict[str, IntArray]  # of the images that were looked at
    flags: tuple[Flag, ...] = field(default=())
    remarks: tuple[str, ...] = ()


def train_network(parts: TrainingParts, recipe: Recipe, face: Face) -> Trained:
    """Train by a recipe; what an earlier run had done of it is in the store."""
    run = parts.train.run
    module = trainable_copy(run)
    key = recipe.key(
        start=weights_hash(module),
        network=str(module.inner),
        train=parts.train.fingerprint,
        held=parts.select.fingerprint,
        preprocessing=run.preprocessing.describe(),
        device=str(module.scale.device),
        torch=torch_for(PURPOSE, extra=EXTRA).__version__,
    )
    trainer = Trainer(
        module=module,
        recipe=recipe,
        n_classes=run.check().n_classes,
        train=parts.train,
        held=parts.select,
        checkpoint=checkpoint_path(run.store.root, key),
        key=key,
        progress=face.bar(run.name, recipe.method, "steps"),
    )
    return trainer.run()


def with_bias(
    parts: TrainingParts, weights: Any, name: str, how: Bargain, face: Face, *, epoch: int, biased: bool
) -> Network:
    """A trained network, and the bias that the images which select choose for it, if one is wanted and found."""
    run = parts.select.run
    module = with_weights(trainable_copy(run), weights)
    n_classes = run.check().n_classes
    plain = Network(name=name, module=module, bias=np.zeros(n_classes), epoch=epoch)
    if not biased or how.eps is None:
        return plain
    there = plain.on(replace(parts.select, rows=np.sort(parts.select.rows)).as_run())
    stored = measured(there, Logits(), face.bar(name, LOGITS))
    source = Source(name=name, path=stored.path, run=there)
    radius = FirstOrder(norm=how.norm or "", eps=how.eps, seed=how.seed)
    part, _ = measure_part(
        source, source.read(), radius, Gradients.YES, per_class=there.n_samples, seed=how.seed, face=face
    )
    try:
        chosen = choose_and_judge(part, None, how)
    except OptionError as error:  # too few to tell a gain from chance: then there is no bias
        return replace(plain, flags=(Flag(code="no_bias", message=f"no bias follows the training: {error}"),))
    if chosen.nothing is not None:  # a frontier of no choice would say nothing
        why = "no bias follows the training: none within the bounds raises the worst class."
        return replace(plain, flags=(Flag(code="no_bias", message=why),))
    return replace(plain, bias=chosen.chosen.bias, choice=chosen)


def stand(
    run: Run, how: Bargain, places: IntArray, face: Face, *, trusted: Callable[..., tuple[Flag, ...]] = trust_flags
) -> Standing:
    """Which images of a run a network stands: clean, by midpoint radii, and under the attack that is asked for."""
    stored = measured(run, Logits(), face.bar(run.name, LOGITS))
    samples = run.read(stored.path)
    radius = FirstOrder(norm=how.norm or "", eps=how.eps, seed=how.seed)
    local = score_first_order(run, samples, radius, gradients=Gradients.YES, progress=face.bar(run.name, RADII))
    everything = np.arange(samples.n_samples)
    held = {
        "clean": np.asarray(samples.logits.argmax(axis=1) == samples.labels),
        MIDPOINT: np.asarray(local.values > (how.eps or 0.0)),
    }
    looked = dict.fromkeys(held, everything)
    remarks = tuple[str, ...]()
    if how.attack is not None:
        name = how.attack.attack.value
        nothing, bar = np.zeros(samples.n_classes), face.bar(run.name, name)
        held[name], remarks = how.attack.stand(run, places, held["clean"][places], nothing, bar)
        looked[name] = places
    return Standing(held=held, places=looked, flags=trusted(run, samples, local, radius), remarks=remarks)
