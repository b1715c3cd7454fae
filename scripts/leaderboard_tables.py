"""Print the leaderboards of ``docs/leaderboard.md``: ``python scripts/leaderboard_tables.py FOLDER_OF_REAL_DATA``.

First the embedded zoo, then the ten CIFAR-10 networks of the folder, on the images that PGD attacked according to its
manifest. The leaderboard does not see what PGD left; it stands beside it, to compare.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import gfscore
from gfscore import zoo
from gfscore.outputs.leaderboard_text import ordinal, ranks_text
from gfscore.results import Leaderboard
from gfscore.views import share_text
from robust_gate_table import PGD, networks


def zoo_board() -> Leaderboard:
    """The eight networks of the package, on all of their test images."""
    names = [f"zoo:{model.name}" for model in zoo.models()]
    audits = gfscore.audit(model=names, data="zoo:digits", norm="l2", eps=0.5, radii="all", permutations=0)
    return gfscore.leaderboard(audits)


def real_board(folder: Path, radii: int | str = 50) -> tuple[Leaderboard, dict[str, float]]:
    """The ten networks, by radii of so many images of each class, and what PGD left of the worst class of each."""
    audits, attacked = list[gfscore.Audit](), dict[str, float]()
    with np.load(folder / "cifar10_test.npz") as file, tempfile.TemporaryDirectory() as place:
        data = Path(place) / "first_images.npz"
        first = slice(max(entry[PGD]["first_n"] for entry in networks(folder)))
        np.savez(data, images=file["images"][first], labels=file["labels"][first])
        for entry in networks(folder):
            name = Path(entry["file"]).stem
            how = {"mean": entry["mean"], "std": entry["std"], "class_names": "cifar10", "permutations": 0}
            audits.append(gfscore.audit(model=str(folder / entry["file"]), data=str(data), radii=radii, **how))
            attacked[name] = min(entry[PGD]["per_class"])
    return gfscore.leaderboard(audits, eps=2 / 255), attacked


def beside_pgd(board: Leaderboard, attacked: dict[str, float]) -> list[str]:
    """A Markdown table of the ranks that the leaderboard allows and the rank by PGD."""
    lines = [
        "| network | rank | worst class, estimated | PGD left of the worst class | rank by PGD |",
        "|---|---|---|--:|---|",
    ]
    for model in board.models:
        left = attacked[model.name]
        rank = 1 + sum(other > left for other in attacked.values())
        share = f"{model.worst_class}: {share_text(model.worst)}"
        lines.append(f"| `{model.name}` | {ranks_text(model)} | {share} | {100 * left:.1f} % | {ordinal(rank)} |")
    inside = sum(
        model.ranks[0] <= 1 + sum(other > attacked[model.name] for other in attacked.values()) <= model.ranks[1]
        for model in board.models
    )
    return [
        *lines,
        "",
        f"The rank by PGD lies within the ranks that are allowed for {inside} of {len(board.models)} networks.",
    ]


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--radii", type=lambda text: text if text == "all" else int(text), default=50)
    asked = parser.parse_args()
    print(zoo_board())
    if asked.folder is not None:
        board, attacked = real_board(asked.folder, asked.radii)
        print(f"\n{board}\n")
        print("\n".join(beside_pgd(board, attacked)))


if __name__ == "__main__":
    main()
