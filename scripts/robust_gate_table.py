"""Print the table of ``docs/gate.md`` on ten networks: ``python scripts/robust_gate_table.py FOLDER_OF_REAL_DATA``.

Each network is judged by the gate of the README, a rule on robust accuracy at one eps, and beside it by a rule on the
worst class of the GREAT score. The accuracy under PGD comes from the manifest of the folder; the gate does not see it,
and the images are those that PGD attacked.
"""

import argparse
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gfscore
from gfscore.results import Interval, Verdict

RULE, SHARE = "0.3@2/255", 0.3  # of the README; SHARE is the one in RULE
WCR = 0.3  # the rule on confidences beside it
PGD = "pgd20_linf_2_255"


@dataclass(frozen=True)
class Judged:
    """A network, what an attack leaves of it, and what both gates say."""

    name: str
    training: str
    accuracy: float
    attacked: float  # accuracy under PGD at the eps of the rule
    robust: float
    interval: Interval
    n: int  # samples with a radius
    verdict: Verdict
    wcr: float
    wcr_verdict: Verdict

    @property
    def said_by_attack(self) -> Verdict:
        """The verdict that the accuracy under attack gives."""
        return Verdict.PASS if self.attacked >= SHARE else Verdict.FAIL


def networks(folder: Path, only: Collection[str] = ()) -> Iterator[Any]:
    """The entries of the manifest that are CIFAR-10 networks, those that PGD hurts most first."""
    entries = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    found = [each for each in entries if each["file"].startswith("models/cifar") and PGD in each]
    for entry in sorted(found, key=lambda each: each[PGD]["accuracy"]):
        if not only or Path(entry["file"]).stem in only:
            yield entry


def judge(folder: Path, entry: Any, radii: int | str | None = None, images: int | None = None) -> Judged:
    """Judge one network by both gates, on the images that PGD attacked, or the first of them."""
    with np.load(folder / "cifar10_test.npz") as file:
        first = slice(images or entry[PGD]["first_n"])
        pixels, labels = file["images"][first], file["labels"][first]
    asked = {"mean": entry["mean"], "std": entry["std"], "class_names": "cifar10"}
    name = Path(entry["file"]).stem
    seen = []
    found = gfscore.gate(
        model={name: folder / entry["file"]},
        data=(pixels, labels),
        robust_accuracy=RULE,
        radii=radii,
        seen=seen.append,
        **asked,
    )
    (audit,) = seen
    (rule,) = found.models[0].rules
    old = gfscore.gate(audit, wcr=WCR)
    return Judged(
        name=name,
        training=entry["training"],
        accuracy=audit.accuracy,
        attacked=entry[PGD]["accuracy"],
        robust=rule.value,
        interval=rule.interval,
        n=audit.robustness.n,
        verdict=found.verdict,
        wcr=audit.wcr.value,
        wcr_verdict=old.verdict,
    )


def row(found: Judged) -> str:
    """A line of the table."""
    low, high = (f"{100 * end:.1f}" for end in found.interval)
    cells = (
        found.name,
        found.training,
        f"{100 * found.accuracy:.1f} %",
        f"{100 * found.attacked:.1f} %",
        f"{100 * found.robust:.1f} % [{low}, {high}]",
        f"**{found.verdict.value}**",
        f"{found.wcr:.3f}",
        found.wcr_verdict.value,
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, and how often each gate says what PGD says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="real data")
    parser.add_argument("--radii", default=None, type=lambda text: text if text == "all" else int(text))
    parser.add_argument("--only", nargs="*", default=())
    arguments = parser.parse_args()
    titles = ("network", "training", "clean", "under PGD-20", "robust accuracy, estimated", f"`{RULE}`")
    print(f"| {' | '.join(titles)} | WCR of GREAT | `--wcr {WCR}` |\n|---|---|--:|--:|--:|---|--:|---|", flush=True)
    done = []
    for entry in networks(arguments.folder, arguments.only):
        done.append(judge(arguments.folder, entry, arguments.radii))
        print(row(done[-1]), flush=True)
    robust, confident = (
        sum(getattr(each, field) is each.said_by_attack for each in done) for field in ("verdict", "wcr_verdict")
    )
    print(
        f"\nThe verdict that PGD gives: {robust} of {len(done)} by robust accuracy, {confident} by the GREAT score. ",
        end="",
    )
    print(f"Images: those that PGD attacked; radii: {done[0].n:,} a network.")


if __name__ == "__main__":
    main()
