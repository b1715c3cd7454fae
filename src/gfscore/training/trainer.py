"""The trainer, one for all methods: batches, attack, loss, average of the weights, and what held-out images say.

Everything random is drawn from the seed, the epoch and the step, so that a run which goes on from a checkpoint gives
the weights that it would have given. Choices (which epoch, when to stop) are made on held-out images alone.
"""

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import ModelError, RunError
from gfscore.inputs.models.shims import torch_for
from gfscore.training.checkpoints import read_checkpoint, write_checkpoint
from gfscore.training.class_statistics import ClassStatistics, Tally
from gfscore.training.inner_attack import InnerAttack
from gfscore.training.methods import Batch, Strategy
from gfscore.training.methods.strategy import worst_of
from gfscore.training.recipes import HELD_IMAGES, WATCHED_IMAGES, Recipe
from gfscore.training.resuming import pack_run, unpack_run
from gfscore.training.trained import Epoch, Trained, is_collapse

EXTRA, PURPOSE = "repair", "a repair by training"
NOT_ROBUST = 0.1  # mean held-out accuracy under attack below which attacks grow slowly: else training may learn nothing
Progress = Callable[[int, int], None]


class Pictures(Protocol):
    """Labelled images as [0, 1] pixels in the layout of the network."""

    @property
    def labels(self) -> IntArray:
        """True classes (n,)."""

    def take(self, rows: IntArray) -> Any:
        """Pixels of some rows, float32, in any order."""


@dataclass(slots=True, kw_only=True, eq=False)
class Trainer:
    """One training run of a module of [0, 1] pixels, which is changed."""

    module: Any
    recipe: Recipe
    n_classes: int
    train: Pictures
    held: Pictures
    checkpoint: Path | None = None
    key: str = ""
    progress: Progress = lambda _done, _total: None
    torch: Any = field(init=False)
    strategy: Strategy = field(init=False)
    average: Any = field(init=False)
    optimizer: Any = field(init=False)

    def __post_init__(self) -> None:
        self.torch = torch_for(PURPOSE, extra=EXTRA)
        self.strategy = self.recipe.strategy(self.n_classes, self.recipe.beta)
        self.module.eval()
        trainable = [each for each in self.module.parameters() if each.is_floating_point()]
        if not trainable:
            raise ModelError("has no weights that can be trained: all of its numbers are constants of the graph.")
        for each in trainable:
            each.requires_grad_(requires_grad=True)
        self.average = copy.deepcopy(self.module)
        recipe = self.recipe
        self.optimizer = self.torch.optim.SGD(
            trainable, lr=recipe.lr, momentum=recipe.momentum, weight_decay=recipe.weight_decay
        )

    def run(self) -> Trained:
        """Train; goes on from the checkpoint, if there is one of the same recipe on the same images."""
        resumed = self._resume()
        if resumed is None:
            held = self._held(self.module, HELD_IMAGES)
            start = self._epoch(0, held, held, held, 0.0)
            found = Trained(
                weights={},
                best=_copied(self.module),
                epochs=[],
                chosen=0,
                start=start,
                is_ramped=_mean(held.robust_accuracy, held) < NOT_ROBUST,
            )
        else:
            found = resumed
        total = self.recipe.epochs * self.n_steps
        while not self._is_over(found):
            number = len(found.epochs) + 1
            self.progress((number - 1) * self.n_steps, total)
            trained = self._train_epoch(number, found)
            self._end_epoch(number, found, trained)
        self.progress(total, total)
        found.weights = _copied(self.module)
        return found

    def try_step(self) -> None:
        """One step on the first images, as a trial of what training takes."""
        with self._seeded(0, 0):
            rows = np.arange(min(self.recipe.batch, len(self.train.labels)))
            self._step(rows, 1.0, Tally.empty(self.n_classes))

    @property
    def n_steps(self) -> int:
        """Batches of an epoch."""
        return math.ceil(len(self.train.labels) / self.recipe.batch)

    def _is_over(self, found: Trained) -> bool:
        done = len(found.epochs)
        waits = done - found.chosen >= self.recipe.waits and not found.is_ramped
        return done >= self.recipe.epochs or found.collapsed is not None or waits

    def _scale(self, step: int, *, is_ramped: bool) -> float:
        """The share of eps that attacks have: all of it, or growing over the first half of the steps."""
        half = max(1, self.recipe.epochs * self.n_steps // 2)
        return min(1.0, (step + 1) / half) if is_ramped else 1.0

    def _train_epoch(self, number: int, found: Trained) -> ClassStatistics:
        recipe, n = self.recipe, len(self.train.labels)
        if self.strategy.needs.attack_before:
            self.strategy.before_epoch(self._attacked_training(number, found))
        order = np.random.default_rng([recipe.seed, number]).permutation(n)
        tally = Tally.empty(self.n_classes)
        total = recipe.epochs * self.n_steps
        for place in range(self.n_steps):
            step = (number - 1) * self.n_steps + place
            rows = order[place * recipe.batch : (place + 1) * recipe.batch]
            for group in self.optimizer.param_groups:
                group["lr"] = recipe.lr * 0.5 * (1 + math.cos(math.pi * step / total))
            with self._seeded(number, place):
                self._step(rows, self._scale(step, is_ramped=found.is_ramped), tally)
            if self.strategy.epoch_decay is None:
                self._move_average(min(recipe.decay, (1 + step) / (10 + step)))
            self.progress(step + 1, total)
        return tally.statistics()

    def _step(self, rows: IntArray, scale: float, tally: Tally) -> None:
        """One batch: attack in evaluation mode, loss in training mode, a step of the optimiser."""
        torch, strategy, labels = self.torch, self.strategy, self.train.labels[rows]
        images, target = self._tensors(self.train, rows)
        sizes = torch.from_numpy(self.recipe.eps * scale * strategy.radius[labels]).to(images)
        self.module.eval()
        points = self._points(images, target, sizes)
        self.module.train()
        logits = {name: self.module(point) for name, point in points.items()}
        numbers = {name: _numbers(each) for name, each in logits.items()}
        attacked = numbers["wrong" if strategy.needs.stop_points else "attacked"]
        batch = Batch(labels=labels, clean=numbers.get("clean"), attacked=attacked)
        astray = RunError(f"training by {strategy.name} went astray: its loss is not finite. Give a smaller --lr.")
        if not all(np.isfinite(each).all() for each in numbers.values()):
            raise astray
        loss = self._loss(batch, logits, target)
        if not bool(torch.isfinite(loss)):
            raise astray
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        tally.add(labels, numbers.get("clean", attacked), attacked)

    def _points(self, images: Any, target: Any, sizes: Any) -> dict[str, Any]:
        """Where the network is asked: the images where they are needed, and what the attack made of them."""
        attack, needs = self.recipe.attack, self.strategy.needs
        points = {"clean": images} if needs.clean_pass else {}
        if needs.stop_points:
            walked = attack.walk(self.torch, self.module, images, target, sizes)
            return points | {name: walked[name].detach() for name in ("right", "wrong")}
        return points | {"attacked": attack.move(self.torch, self.module, images, target, sizes).detach()}

    def _loss(self, batch: Batch, logits: dict[str, Any], target: Any) -> Any:
        """The common shape of all methods: see :mod:`~gfscore.training.methods.strategy`."""
        torch, strategy = self.torch, self.strategy
        terms, cross_entropy = strategy.terms(batch), torch.nn.functional.cross_entropy
        some = next(iter(logits.values()))

        def weights(each: FloatArray) -> Any:
            return torch.from_numpy(np.asarray(each)).to(some)

        loss = torch.zeros(len(target)).to(some) + strategy.extra_loss(torch, {**logits, "labels": target})
        if terms.clean.any():
            loss = loss + weights(terms.clean) * cross_entropy(logits["clean"], target, reduction="none")
        if terms.boundary.any():
            before, after = logits["clean"].log_softmax(dim=1), logits["attacked"].log_softmax(dim=1)
            divergence = (before.exp() * (before - after)).sum(dim=1)
            loss = loss + weights(terms.boundary * strategy.beta[batch.labels]) * divergence
        if terms.attacked.any():
            loss = loss + weights(terms.attacked) * cross_entropy(logits["attacked"], target, reduction="none")
        return loss.mean()

    def _end_epoch(self, number: int, found: Trained, trained: ClassStatistics) -> None:
        """What held-out images say: to the method, to the average, to the choice; and the checkpoint."""
        strategy = self.strategy
        asked = HELD_IMAGES if strategy.needs.held_attack or strategy.epoch_decay is not None else WATCHED_IMAGES
        watched = self._held(self.module, asked)
        if strategy.epoch_decay is not None and strategy.moves_average(watched):
            self._move_average(strategy.epoch_decay)
        strategy.after_epoch(trained, watched)
        held = self._held(self.average, HELD_IMAGES)
        eps = self.recipe.eps * self._scale(number * self.n_steps - 1, is_ramped=found.is_ramped)
        epoch = self._epoch(number, trained, held, watched, eps)
        best = found.epochs[found.chosen - 1].value if found.chosen else found.start.value
        if epoch.value > best and epoch.worst >= found.start.worst:  # what gives up the worst class is no repair
            found.chosen, found.best = number, _copied(self.average)
        if is_collapse(found.epochs, epoch):
            found.collapsed = number
        found.epochs.append(epoch)
        self._keep(found)

    def _epoch(
        self, number: int, trained: ClassStatistics, held: ClassStatistics, watched: ClassStatistics, eps: float
    ) -> Epoch:
        robust = held.robust_accuracy
        return Epoch(
            number=number,
            lr=float(self.optimizer.param_groups[0]["lr"]),
            eps=eps,
            trained=_shares(trained.robust_accuracy, trained),
            clean=_shares(held.clean_accuracy, held),
            robust=_shares(robust, held),
            watched=_mean(watched.robust_accuracy, watched),
            value=worst_of(robust, held.present) + _mean(robust, held),
        )

    def _held(self, module: Any, most: int) -> ClassStatistics:
        """Held-out images under PGD at the common eps; the same noise each time."""
        rows = np.arange(min(most, len(self.held.labels)))
        sizes = np.full(len(rows), self.recipe.eps)
        with self._seeded(0, 0):
            return self._statistics(module, self.held, rows, sizes, self.recipe.watch)

    def _attacked_training(self, number: int, found: Trained) -> ClassStatistics:
        """The training images under the attack of training, before an epoch."""
        labels = self.train.labels
        scale = self._scale((number - 1) * self.n_steps, is_ramped=found.is_ramped)
        sizes = self.recipe.eps * scale * self.strategy.radius[labels]
        with self._seeded(number, self.n_steps):
            return self._statistics(self.module, self.train, np.arange(len(labels)), sizes, self.recipe.attack)

    def _statistics(
        self, module: Any, pictures: Pictures, rows: IntArray, sizes: FloatArray, attack: InnerAttack
    ) -> ClassStatistics:
        torch, tally = self.torch, Tally.empty(self.n_classes)
        module.eval()
        for start in range(0, len(rows), self.recipe.batch):
            some = slice(start, start + self.recipe.batch)
            images, target = self._tensors(pictures, rows[some])
            moved = attack.move(torch, module, images, target, torch.from_numpy(sizes[some]).to(images))
            with torch.no_grad():
                clean, attacked = _numbers(module(images)), _numbers(module(moved))
            tally.add(pictures.labels[rows[some]], clean, attacked)
        return tally.statistics()

    def _tensors(self, pictures: Pictures, rows: IntArray) -> tuple[Any, Any]:
        """Images and labels where the network is."""
        device, torch = self.module.scale.device, self.torch
        images = torch.from_numpy(np.array(pictures.take(rows), dtype=np.float32, order="C")).to(device)
        return images, torch.from_numpy(np.array(pictures.labels[rows])).to(device)

    def _move_average(self, decay: float) -> None:
        """Let the average follow the weights; numbers that are no weights, as those of batch norms, are copied."""
        learnt = {name for name, each in self.module.named_parameters() if each.is_floating_point()}
        with self.torch.no_grad():
            for name, tensor in self.module.state_dict().items():
                kept = self.average.state_dict()[name]
                kept.copy_(kept * decay + tensor * (1 - decay) if name in learnt else tensor)

    @contextmanager
    def _seeded(self, epoch: int, step: int) -> Iterator[None]:
        """Everything that torch draws inside comes from the seed, the epoch and the step."""
        torch, device = self.torch, self.module.scale.device
        drawn = int(np.random.SeedSequence([self.recipe.seed, epoch, step]).generate_state(1, np.uint64)[0] >> 1)
        devices = [device] if device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(drawn)
            yield

    def _keep(self, found: Trained) -> None:
        if self.checkpoint is not None:
            write_checkpoint(self.checkpoint, *pack_run(self, found))

    def _resume(self) -> Trained | None:
        stored = None if self.checkpoint is None else read_checkpoint(self.checkpoint, self.key)
        return None if stored is None else unpack_run(self, *stored)


def _mean(shares: FloatArray, of: ClassStatistics) -> float:
    return float(shares[of.present].mean()) if of.present.any() else 0.0


def _shares(shares: FloatArray, of: ClassStatistics) -> tuple[float | None, ...]:
    return tuple(float(share) if there else None for share, there in zip(shares, of.present, strict=True))


def _numbers(logits: Any) -> FloatArray:
    return np.asarray(logits.detach().cpu().numpy(), dtype=np.float64)


def _copied(module: Any) -> dict[str, Any]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
