"""What an audit without attacks saves, on networks that others trained: written to ``benchmarks/attacks.md``.

Needs the extra ``attacks`` and the folder of real networks and data (``GFSCORE_REALDATA``).
"""

import argparse
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from run import machine, row, seconds, verdict

from gfscore import views
from gfscore.attacks import Assault, ScoredRun, with_cross_check
from gfscore.engines.local import score_first_order
from gfscore.inputs.data import draw_per_class, load_data
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores
from gfscore.measures import Run
from gfscore.outputs.verdicts import agreements
from gfscore.results import CrossCheck, ModelAudit
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, great_scores
from gfscore.storage.store import Store

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
NETWORKS = ("cifar_cnn_a_adv", "cifar_resnet20")
PER_CLASS = 10
EPS = 2 / 255
INTERVALS = (
    "Written by `make bench`. The intervals of a column hold together with probability 0.95 (AutoAttack) and 0.975 "
    "(first-order shares). Where the first of AutoAttack's four attacks breaks every sample, as on a standard network, "
    "AutoAttack ends after some hundred gradients of each. A first-order audit takes three, one for each rival, and "
    "two forward passes, so that forty times is about what is possible there."
)


def subject(name: str) -> ScoredRun:
    """A network, 100 random test images, and its GREAT scores."""
    entries = json.loads((REALDATA / "manifest.json").read_text(encoding="utf-8"))
    entry = next(entry for entry in entries if entry["file"] == f"models/{name}.onnx")
    preprocessing = Preprocessing(mean=tuple(entry["mean"]), std=tuple(entry["std"]))
    data = draw_per_class(load_data(REALDATA / "cifar10_test.npz"), PER_CLASS, seed=0)
    run = Run(model=load_model(REALDATA / entry["file"]), data=data, preprocessing=preprocessing)
    samples = _samples(run)
    return ScoredRun(run=run, samples=samples, local=great_scores(samples))


def _samples(run: Run) -> Samples:
    return Samples.of(run.logits_of(run.pixels(slice(None))), run.data.labels)


def first_order_audit(tested: ScoredRun, rivals: int = 3) -> ModelAudit:
    """All of it, from images: conversion to torch, logits, gradients, radii, intervals and noise floor."""
    samples = _samples(tested.run)
    with tempfile.TemporaryDirectory() as folder:  # a store that knows nothing yet
        local = score_first_order(
            replace(tested.run, store=Store(Path(folder))),
            samples,
            FirstOrder(norm="linf", eps=EPS, rivals=rivals),
            gradients="yes",
        )
    return audit_scores(samples, local, Options(), name="first-order")


def network(name: str) -> Iterable[str]:
    """Standard AutoAttack once, and beside it, best of several, what needs no attack."""
    tested = subject(name)
    audited = audit_scores(tested.samples, tested.local, Options(), name=name)
    assault = Assault(norm="linf", eps=EPS)
    attacked = with_cross_check(audited, tested, assault, per_class=None, delta=0.05)
    radii = first_order_audit(tested)
    nearest = first_order_audit(tested, rivals=1)
    first_order, one_rival, great = seconds(
        lambda: first_order_audit(tested),
        lambda: first_order_audit(tested, rivals=1),
        lambda: great_scores(tested.samples),
    )
    found = attacked.cross_check
    assert found is not None
    taken = found.seconds["autoattack"]
    yield f"## {name}, Linf 2/255, {found.n} images\n"
    yield row("", "time", "AutoAttack takes so many times as long")
    yield row("---", "--:", "--:")
    yield row("AutoAttack, standard", f"{taken:.1f} s", "1")
    yield row("first-order audit, from images", f"{first_order:.2f} s", verdict(taken / first_order, 50, least=True))
    yield row("the same with the strongest rival alone", f"{one_rival:.2f} s", f"{taken / one_rival:,.0f}")
    yield row("GREAT scores, from cached logits", f"{1000 * great:.2f} ms", verdict(taken / great, 10_000, least=True))
    yield ""
    yield f"Share of radii above eps: {_whole(radii)} with three rivals, {_whole(nearest)} with one.\n"
    yield from table(attacked, found, radii)


def table(attacked: ModelAudit, found: CrossCheck, radii: ModelAudit) -> Iterable[str]:
    """Both class profiles side by side, each with its intervals."""
    yield row("class", "AutoAttack accuracy", "share of first-order radii above eps", "GREAT", "clean accuracy")
    yield row("---", "--:", "--:", "--:", "--:")
    for broken, estimated in zip(attacked.classes, radii.classes, strict=True):
        yield row(
            broken.name,
            _share(broken.attacked.value, broken.attacked.interval),
            _share(estimated.robust_accuracy.value, estimated.robust_accuracy.interval),
            f"{broken.score:.3f}",
            f"{100 * broken.accuracy:.0f} %",
        )
    whole = radii.robust_accuracy
    yield row(
        "all",
        _share(found.accuracy.value, found.accuracy.interval),
        _share(whole.value, whole.interval),
        f"{attacked.aggregate:.3f}",
        f"{100 * attacked.accuracy:.0f} %",
    )
    rho = ", ".join(f"{name} {views.number(entry.spearman, 2)}" for name, entry in agreements(found).items())
    yield f"\nSpearman's correlation with AutoAttack over the classes: {rho}.\n"


def _whole(radii: ModelAudit) -> str:
    return _share(radii.robust_accuracy.value, radii.robust_accuracy.interval)


def _share(value: float, interval: tuple[float, float]) -> str:
    return f"{100 * value:.0f} % [{100 * interval[0]:.0f}, {100 * interval[1]:.0f}]"


def main() -> None:
    """Print the page while it is made, then write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "attacks.md")
    out = parser.parse_args().out
    if not REALDATA.is_dir():
        print("No real networks here: set GFSCORE_REALDATA to their folder to compare with AutoAttack.")
        return
    lines = [
        "# An audit without attacks beside AutoAttack\n",
        INTERVALS + "\n",
        machine() + "\n",
    ]
    print("\n".join(lines))
    for name in NETWORKS:
        for line in network(name):
            print(line, flush=True)
            lines.append(line)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
