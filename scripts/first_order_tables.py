"""Print the tables of ``docs/scores.md``: ``python scripts/first_order_tables.py FOLDER_OF_REAL_DATA [STORE]``.

The folder holds the CIFAR-10 test set, ten networks that others trained, and a manifest with their preprocessing and
their accuracy under PGD-20 at Linf 2/255 on the first images. Needs the extra ``gradients``. The forward-only radii of
two ResNets take most of the time; what was computed is kept in the store.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibration_tables import NETWORKS
from gfscore.engines.local import measured, score_first_order
from gfscore.inputs.data import Data, arrays_digest
from gfscore.inputs.models import load_model
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Model
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores
from gfscore.measures import Logits, Run
from gfscore.measures.slopes import Gradients
from gfscore.ranking import spearman
from gfscore.results import ModelAudit
from gfscore.samples import Samples
from gfscore.scores import FirstOrder, LocalScores, great_scores
from gfscore.storage.store import Store

EPS = 2 / 255  # of the PGD figures
TEN = (*NETWORKS, "cifar_vit_pgd_2_3_16", "cifar_ehanw_resnet20_pgd")
ROBUST = 0.05  # accuracy under PGD above which the order of the classes is more than noise


@dataclass(frozen=True, kw_only=True, eq=False)
class Network:
    """A network, the images of its PGD figures, and the figures."""

    name: str
    model: Model
    preprocessing: Preprocessing
    data: Data
    pgd: float
    pgd_classes: tuple[float, ...]

    def run(self, store: Store) -> Run:
        """The network on those images."""
        return Run(model=self.model, data=self.data, preprocessing=self.preprocessing, store=store)

    def samples(self, store: Store) -> Samples:
        """Its logits."""
        run = self.run(store)
        return run.read(measured(run, Logits()).path)

    def radii(
        self,
        store: Store,
        *,
        gradients: Gradients,
        norm: str = "linf",
        eps: float = EPS,
        decide: bool = False,
        refine: int = 0,
    ) -> LocalScores:
        """Its first-order radii; with ``decide``, no more directions than it takes to know the side of eps."""
        how = FirstOrder(norm=norm, eps=eps, decide=(eps,) if decide else (), refine=refine)
        return score_first_order(self.run(store), self.samples(store), how, gradients=gradients)

    def audit(self, local: LocalScores, store: Store) -> ModelAudit:
        """The audit of some scores of it."""
        return audit_scores(self.samples(store), local, Options(permutations=0), name=self.name)


def networks(folder: Path, names: Sequence[str] = NETWORKS, *, first: int | None = None) -> list[Network]:
    """The networks of the ``names``, on exactly those images (or the ``first`` of them)."""
    with np.load(folder / "cifar10_test.npz") as file:
        images, labels = file["images"], file["labels"].astype(np.int64)
    found = []
    for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8")):
        name = Path(entry["file"]).stem
        if name not in names:
            continue
        figures = entry["pgd20_linf_2_255"]
        n = min(figures["first_n"], first or figures["first_n"])
        data = Data(
            source=f"the first {n} test images of CIFAR-10",
            labels=labels[:n],
            layout="NHWC",
            digest=arrays_digest(lambda n=n: (images[:n], labels[:n])),
            read=images[:n].__getitem__,
        )
        preprocessing = Preprocessing(mean=tuple(entry["mean"]), std=tuple(entry["std"]))
        found.append(
            Network(
                name=name.removeprefix("cifar_"),
                model=load_model(
                    folder / entry["file"], threads=1
                ),  # busy waiting costs more than a second thread gains
                preprocessing=preprocessing,
                data=data,
                pgd=figures["accuracy"],
                pgd_classes=tuple(figures["per_class"]),
            )
        )
    return found


def share(audit: ModelAudit) -> float:
    """Share of radii above eps."""
    assert audit.robust_accuracy is not None
    return float(audit.robust_accuracy.value or 0)


def class_shares(audit: ModelAudit) -> list[float]:
    """The same per class."""
    return [float(entry.robust_accuracy.value or 0) for entry in audit.classes if entry.robust_accuracy is not None]


def disordered(estimates: Sequence[float], truths: Sequence[float], *, apart: float) -> int:
    """Pairs whose truths are more than ``apart`` from each other and whose estimates are in the other order."""
    first, second = np.asarray(estimates), np.asarray(truths)
    far = second[:, None] - second[None, :] > apart
    return int((far & (first[:, None] <= first[None, :])).sum())


def share_table(nets: Sequence[Network], store: Store) -> str:
    """A row per network: accuracy under PGD beside the share of radii above 2/255, from gradients and forward-only."""
    headings = (
        "network",
        "images",
        "clean",
        "PGD-20",
        "share above 2/255, gradients",
        "forward-only (± standard error)",
    )
    headings += ("forward passes an image", "before", "Spearman over classes")
    lines = [f"| {' | '.join(headings)} |", "|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    exact, estimated, truths = [], [], [net.pgd for net in nets]
    for net in nets:
        by_gradients = net.audit(net.radii(store, gradients=Gradients.YES), store)
        forward = net.audit(net.radii(store, gradients=Gradients.NO, decide=True), store)
        exact.append(share(by_gradients))
        estimated.append(share(forward))
        settings = forward.score.settings or {}
        rho = spearman(class_shares(by_gradients), net.pgd_classes) if net.pgd > ROBUST else None
        lines.append(
            f"| `{net.name}` | {forward.samples.n:,} | {_percent(forward.accuracy)} | {_percent(net.pgd)} "
            f"| {_percent(exact[-1])} | {_percent(estimated[-1])} ± {100 * settings['share_error']:.1f} "
            f"| {settings['forward_passes'] / forward.samples.n:.0f} "
            f"| {1 + 128 * (forward.accuracy + 64 / forward.samples.n):.0f} | {'–' if rho is None else f'{rho:.2f}'} |"
        )
    lines.append("")
    for name, estimates in (("Gradients", exact), ("Forward-only", estimated)):
        off, wrong = np.abs(np.subtract(estimates, truths)), disordered(estimates, truths, apart=0.02)
        lines.append(
            f"{name}: off by {100 * off.mean():.2f} points on average, {100 * off.max():.2f} at most; Spearman over "
            f"networks {spearman(estimates, truths):.3f}; {wrong} pairs more than 2 points apart in the wrong order.  "
        )
    return "\n".join(lines)


def score_table(nets: Sequence[Network], store: Store) -> str:
    """A row per score: how well it orders the classes of a network, and the networks, by accuracy under PGD."""
    scores = {
        "GREAT, softmax": lambda net: net.audit(great_scores(net.samples(store)), store),
        "GREAT, sigmoid": lambda net: net.audit(great_scores(net.samples(store), activation="sigmoid"), store),
        "clean accuracy": None,
        "first-order, mean radius (Linf)": lambda net: net.audit(net.radii(store, gradients=Gradients.YES), store),
        "first-order, share above 2/255": None,
        "the same, forward-only": lambda net: net.audit(net.radii(store, gradients=Gradients.NO, decide=True), store),
    }
    audits = {name: [make(net) for net in nets] for name, make in scores.items() if make is not None}
    great, radius = audits["GREAT, softmax"], audits["first-order, mean radius (Linf)"]
    numbers = {
        "clean accuracy": [(audit.accuracy, [entry.accuracy for entry in audit.classes]) for audit in great],
        "first-order, share above 2/255": [(share(audit), class_shares(audit)) for audit in radius],
        "the same, forward-only": [(share(audit), class_shares(audit)) for audit in audits["the same, forward-only"]],
    }
    for name in ("GREAT, softmax", "GREAT, sigmoid", "first-order, mean radius (Linf)"):
        numbers[name] = [(audit.aggregate, [entry.score for entry in audit.classes]) for audit in audits[name]]
    lines = [
        "| score | over classes within a network: median (lowest to highest) | over the networks |",
        "|---|--:|--:|",
    ]
    truths = [net.pgd for net in nets]
    for name in scores:
        within = [
            spearman(classes, net.pgd_classes)
            for net, (_, classes) in zip(nets, numbers[name], strict=True)
            if net.pgd > ROBUST
        ]
        across = spearman([whole for whole, _ in numbers[name]], truths)
        lines.append(f"| {name} | {np.median(within):.2f} ({min(within):.2f} to {max(within):.2f}) | {across:.2f} |")
    return "\n".join(lines)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def forward_table(nets: Sequence[Network], store: Store) -> None:
    """Print a row per network: what forward passes alone say of the side of 2/255, and how many they took."""
    headings = ("network", "images", "PGD-20", "forward-only (± standard error)", "off by", "passes an image", "before")
    print(f"| {' | '.join(headings)} |\n|---|--:|--:|--:|--:|--:|--:|")
    off, parts = [], []
    for net in nets:
        found = net.audit(net.radii(store, gradients=Gradients.NO, decide=True), store)
        settings, n = found.score.settings or {}, found.samples.n
        passes, before = settings["forward_passes"] / n, 1 + 128 * (found.accuracy + 64 / n * found.accuracy)
        off.append(abs(share(found) - net.pgd))
        parts.append(passes / before)
        print(
            f"| `{net.name}` | {n:,} | {_percent(net.pgd)} | {_percent(share(found))} "
            f"± {100 * settings['share_error']:.1f} | {100 * off[-1]:.1f} | {passes:.0f} | {before:.0f} |",
            flush=True,
        )
    print(
        f"\nOff by {100 * np.mean(off):.2f} points on average, {100 * max(off):.2f} at most, with "
        f"{100 * np.mean(parts):.0f} % of the passes ({100 * max(parts):.0f} % at most)."
    )


def main() -> None:
    """Print all tables, or with ``forward`` as a third word the one about forward passes alone."""
    nets = networks(Path(sys.argv[1]), TEN)
    store = Store(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    if "forward" in sys.argv[3:]:
        forward_table(nets, store)
        return
    print(share_table(nets, store), end="\n\n")
    print(score_table(nets, store))


if __name__ == "__main__":
    main()
