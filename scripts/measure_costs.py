"""What each measure costs on this machine, as a start and a rate, and whole runs beside what these predict.

Processor time of one process, as others may use the machine; trials and whole runs take turns, so that what slows one
down slows the other down as well. Part of docs/capacity.md: see scripts/capacity.py.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import gfscore
from gfscore.attacks.under_attack import attack_all
from gfscore.engines.local import measured, score_first_order, summed
from gfscore.inputs.data import load_data
from gfscore.inputs.data.base import some_rows
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.jobs import trials
from gfscore.jobs.attack_steps import attack_steps
from gfscore.jobs.options import Options
from gfscore.jobs.steps import logits_step, radii_step, radius_sums_step, sums_step, votes_step
from gfscore.jobs.trials import Step, Tried, try_out
from gfscore.measures import Assault, Logits, RadiusSums, Run, Sums, Votes
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder, Noise
from gfscore.storage.store import Store

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
CIFAR = Preprocessing(mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616))
NETWORKS = ("cifar_cnn_a_adv", "cifar_resnet20")
HOW = FirstOrder(norm="linf", eps=2 / 255)
NOISE = Noise(n0=10, n=100)
ASSAULT = Assault(norm="linf", eps=2 / 255)
ROUNDS = 1
TRIAL = 25.0  # seconds: processor time is what counts, and others have most of it


@dataclass
class Cost:
    """One measure of one network."""

    unit: str  # what the rate is of
    images: int  # of the whole run
    plan: Callable[[Run], Step]
    whole: Callable[[Run], object]
    pieces: list[Tried] = field(default_factory=list)
    taken: list[float] = field(default_factory=list)
    work: float = 0.0

    def fitted(self) -> tuple[float, float]:
        """Start and rate in seconds, by all trials together."""
        tried = Tried(pieces=tuple(piece for each in self.pieces for piece in each.pieces))
        start = tried.seconds(1e-9)[3]
        return start, (tried.seconds(1e6)[3] - start) / 1e6


def attack(run: Run) -> None:
    """AutoAttack on all images of a run that are classified correctly."""
    samples = run.read(measured(run, Logits()).path)
    attack_all(run, np.flatnonzero(samples.logits.argmax(axis=1) == samples.labels), ASSAULT, seed=0)


def planned_attack(run: Run) -> Step:
    """The same, as a dry run has it."""
    return attack_steps(run, Options(), None, ASSAULT, 20)[-1]


def radii(run: Run, choice: Gradients) -> None:
    """Radii of all images of a run, whose logits are stored."""
    score_first_order(run, run.read(measured(run, Logits()).path), HOW, gradients=choice)


def costs() -> dict[str, Cost]:
    """The measures, by what they are called on the page."""
    gradient_sums = RadiusSums(how=HOW, ladder=(2 / 255,), gradients=True)
    return {
        "logits, kept": Cost("pass", 8_000, logits_step, lambda run: measured(run, Logits())),
        "sums of the GREAT score": Cost(
            "pass", 8_000, lambda run: sums_step(run, Sums()), lambda run: summed(run, Sums())
        ),
        "radii by gradients, 3 rivals": Cost(
            "correct image",
            1_000,
            lambda run: radii_step(run, HOW, Gradients.YES),
            lambda run: radii(run, Gradients.YES),
        ),
        "radii by forward passes, 64 directions": Cost(
            "pass", 100, lambda run: radii_step(run, HOW, Gradients.NO), lambda run: radii(run, Gradients.NO)
        ),
        "sums of radii by gradients": Cost(
            "image and correct image",
            1_000,
            lambda run: radius_sums_step(run, gradient_sums),
            lambda run: summed(run, gradient_sums),
        ),
        "votes, 110 noisy copies": Cost(
            "pass", 200, lambda run: votes_step(run, NOISE), lambda run: measured(run, Votes.of(run, NOISE))
        ),
        "AutoAttack": Cost(
            "correct image", 10, lambda run: attack_steps(run, Options(), None, ASSAULT, 10)[-1], attack
        ),
    }


def opened(name: str, n: int, folder: str) -> Run:
    """A network on so many random images, checked and differentiated, so that neither is timed."""
    data = load_data(REALDATA / "cifar10_test.npz")
    rows = np.sort(np.random.default_rng(n).choice(len(data.labels), n, replace=False))
    model = load_model(REALDATA / "models" / f"{name}.onnx", threads=1)
    run = Run(model=model, data=some_rows(data, rows), preprocessing=CIFAR, store=Store(Path(folder)))
    run.check(), run.differentiable()
    return run


def measure_cost(name: str, what: str, cost: Cost) -> None:
    """Trials and whole runs of a measure of a network, in turns."""
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            run = opened(name, cost.images, folder)
            if "radii by" in what or what == "AutoAttack":
                measured(run, Logits())
            step = cost.plan(run)
            step = replace(step, together=min(step.together, max(8, cost.images // 2)))
            tried = try_out(run, step, TRIAL)
            cost.pieces.append(tried)
            cost.work = step.amount(tried).work
            begun = time.process_time()
            cost.whole(run)
            cost.taken.append(time.process_time() - begun)


def show_costs() -> None:
    """A row for each measure of each network, as soon as it is known."""
    print("\n| measure, on one core | network | unit | start, ms | microseconds a unit | ms an image |", end="")
    print(" whole run, images | predicted, s | measured, s | measured / predicted |")
    print("|---|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for name in NETWORKS:
        for what, cost in costs().items():
            if what == "AutoAttack" and name != NETWORKS[0]:
                continue  # it takes minutes for a larger one
            measure_cost(name, what, cost)
            start, rate = cost.fitted()
            expected, taken = start + rate * cost.work, min(cost.taken)
            print(f"| {what} | `{name}` | {cost.unit} | {1e3 * start:.0f} | {1e6 * rate:,.1f} |", end="")
            print(f" {1e3 * expected / cost.images:.3g} | {cost.images:,} | {expected:.2f} |", end="")
            print(f" {taken:.2f} | {taken / expected:.2f} |", flush=True)


def show_plans(n_per_class: int = 60) -> None:
    """What dry runs of whole audits say beside what the audits then took, in processor time."""
    trials.SECONDS = 6 * trials.SECONDS  # others have most of the machine
    what: dict[str, Any] = {
        "model": str(REALDATA / "models" / "cifar_resnet20.onnx"),
        "data": str(REALDATA / "cifar10_test.npz"),
        "preset": "cifar10",
        "threads": 1,
        "permutations": 0,
    }
    print(f"\n| audit of `cifar_resnet20`, {10 * n_per_class} images | planned, CPU s | taken | taken / planned |")
    print("|---|--:|--:|--:|")
    ways: dict[str, dict[str, Any]] = {
        "with radii by gradients": {},
        "the same as a stream": {"stream": True},
        "with radii by forward passes, 5 a class": {"gradients": "no", "radii": 5},
    }
    for title, words in ways.items():
        with tempfile.TemporaryDirectory() as folder:
            gfscore.audit(**what, **words, n_per_class=2, store=Path(folder) / "warm")  # imports
            about = {**what, **words, "n_per_class": n_per_class, "store": Path(folder) / "store"}
            planned = gfscore.audit(**about, dry_run=True).models[0].cpu_seconds
            begun = time.process_time()
            gfscore.audit(**about)
            taken = time.process_time() - begun
        print(f"| {title} | {planned:.2f} | {taken:.2f} | {taken / planned:.2f} |", flush=True)


if __name__ == "__main__":
    show_plans() if "--plans" in sys.argv else show_costs()
