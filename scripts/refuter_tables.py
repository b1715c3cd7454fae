"""Print the tables of ``docs/refuters.md``: ``python scripts/refuter_tables.py FOLDER [PER_CLASS [NETWORK...]]``.

Needs the extra ``attacks``. The folder of real data holds the CIFAR-10 test set, eight networks that others
trained, and a manifest with their preprocessing and their accuracy under PGD. Each refuter sees the same random samples
of each class.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gfscore import zoo
from gfscore.attacks import Refuter, ScoredRun, refute
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset
from gfscore.measures import Run
from gfscore.samples import Samples
from gfscore.scores import great_scores

SCORED = 2000  # the first images, as in the manifest's figures under PGD
METHODS = (Refuter.BISECTION, Refuter.ATTACK, Refuter.PREMISE)


def subject(run: Run, n: int) -> ScoredRun:
    """A model and the GREAT scores of the first n images."""
    samples = Samples.of(run.logits_of(run.pixels(slice(0, n))), run.data.labels[:n])
    return ScoredRun(run=run, samples=samples, local=great_scores(samples))


def cifar(folder: Path) -> Iterator[tuple[str, ScoredRun, str]]:
    """Networks that others trained: name, subject, and accuracy under attack."""
    data = load_data(folder / "cifar10_test.npz")
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        if entry["file"].startswith("models/cifar"):
            yield (
                Path(entry["file"]).stem,
                cifar_subject(folder, entry, data),
                _percent(entry["pgd20_linf_2_255"]["accuracy"]),
            )


def cifar_subject(folder: Path, entry: dict[str, Any], data: Dataset, n: int = SCORED) -> ScoredRun:
    """One network of the manifest."""
    preprocessing = Preprocessing(mean=tuple(entry["mean"]), std=tuple(entry["std"]))
    return subject(Run(model=load_model(folder / entry["file"]), data=data, preprocessing=preprocessing), n)


def digits() -> Iterator[tuple[str, ScoredRun, str]]:
    """The networks of the zoo."""
    data = load_data("zoo:digits")
    for known in zoo.models():
        run = Run(model=load_model(f"zoo:{known.name}"), data=data)
        yield f"`{known.name}`", subject(run, run.n_samples), _percent(known.attack_accuracy)


def row(name: str, tested: ScoredRun, attacked: str, per_class: int) -> str:
    """What each refuter does to one network by itself."""
    shares = []
    for method in METHODS:
        found = refute(tested, [method], per_class=per_class)
        shares.append(found.violated if found.violated is not None else found.refuted)
    great = f"{tested.local.values.mean():.2f}"
    cells = [name, attacked, great, str(len(found.rows)), *(_percent(float(np.mean(each))) for each in shares)]
    return f"| {' | '.join(cells)} |"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def main() -> None:
    """Print both tables, a row as soon as it is known."""
    folder, per_class, *only = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20, *sys.argv[3:]
    head = "| network | accuracy attacked | GREAT | tried | refuted by bisection | by attacks | premise |"
    for title, networks in (("digits", digits()), ("CIFAR-10", cifar(folder))):
        print(f"\n{title}\n\n{head}\n|---|--:|--:|--:|--:|--:|--:|", flush=True)
        for name, tested, attacked in networks:
            if not only or name in only:
                print(row(name, tested, attacked, per_class), flush=True)


if __name__ == "__main__":
    main()
