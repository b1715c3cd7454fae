"""Print the tables of docs/repair.md: four robust networks repaired by a bias, judged under attack on other images.

    python scripts/repair_tables.py [--realdata FOLDER] [--cache FOLDER] [--only NAME] [--attack apgd] [--per-class 200]

What was attacked before is read from the cache, which is kept outside of the repository. What radii predict is counted
on the very images that were attacked. Times are those of the processor, in one process, as other work on the machine
would count otherwise.
"""

import argparse
import json
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import gfscore
import gfscore.jobs.repair as repair_job
from gfscore.jobs.repair_parts import RepairPart
from gfscore.jobs.repair_steps import Bargain, Outcome, _attacked_places
from gfscore.results import BeforeAfter, Repair

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))
NETWORKS = ("cifar_cnn_a_adv", "cifar_cnn_a_mix", "cifar_conv_small_pgd", "cifar_ehanw_resnet20_pgd")
PER_CLASS = 1000  # images: half of them choose, half judge
BOUNDS = {"keep_mean": 0.02, "max_loss": 0.05}  # the defaults
EPS = 2 / 255


def words_of(realdata: Path, network: str) -> dict:
    """How a network takes its images, as the manifest has it."""
    manifest = json.loads((realdata / "manifest.json").read_text(encoding="utf-8"))
    entry = next(each for each in manifest if Path(each["file"]).stem == network)
    norm = {name: ",".join(map(str, entry[name])) for name in ("mean", "std")}
    return {"model": str(realdata / entry["file"]), "data": str(realdata / entry["data"]), **norm}


def repaired(realdata: Path, cache: Path, network: str, attack: str, per_class: int, attacked: int | None) -> Repair:
    """The repair of a network, judged under attack."""
    return gfscore.repair(
        **words_of(realdata, network),
        n_per_class=per_class,
        samples=per_class,
        eps=EPS,
        attack=None if attack == "none" else attack,
        attacked=None if attack == "none" else attacked,
        store=cache / "store",
        **BOUNDS,
    )


def note_predictions() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Let every repair note what radii say of the images it attacks: their classes, who holds before, who holds after.

    An empty list is given back, which fills.
    """
    noted, steps = [], repair_job.choose_and_judge

    def watched(choosing: RepairPart, judging: RepairPart, how: Bargain, **more: object) -> Outcome:
        found = steps(choosing, judging, how, **more)
        places = _attacked_places(judging, how)
        radii = judging.contests(how.eps)[0].rows(places)
        noted.append((judging.codes[places], radii.holds(found.before.bias), radii.holds(found.chosen.bias)))
        return found

    repair_job.choose_and_judge = watched
    return noted


def predictions_off(found: Repair, noted: tuple[np.ndarray, np.ndarray, np.ndarray]) -> str:
    """What radii said of the worst class and the mean after the repair on the attacked images; how far off, in points.

    How far: the worst class, the mean, and the class that is furthest off; before or after, whichever is more.
    """
    attacked, (codes, *held) = found.decisive, noted
    ways = [[part.before.value for part in attacked.parts], [part.after.value for part in attacked.parts]]
    said = [np.array([side[codes == code].mean() for code in np.unique(codes)]) for side in held]
    off = [np.array(way) - radii for way, radii in zip(ways, said, strict=True)]
    worst = max(abs(min(way) - radii.min()) for way, radii in zip(ways, said, strict=True))
    mean, most = max(abs(each.mean()) for each in off), max(np.abs(each).max() for each in off)
    after = f"{100 * said[1].min():.1f} / {100 * said[1].mean():.1f}"
    return f"{after} | {100 * worst:.1f}, {100 * mean:.1f}, {100 * most:.1f}"


def seconds(realdata: Path, network: str, per_class: int) -> tuple[float, float]:
    """Processor time of an audit with the radii of all images, and of a repair without an attack on these images."""
    words, times = words_of(realdata, network), []
    with TemporaryDirectory() as folder:
        for job, said in (
            (gfscore.audit, {"radii": "all", "eps": EPS}),
            (gfscore.repair, {"samples": per_class, "eps": EPS, **BOUNDS}),
        ):
            started = time.process_time()
            job(**words, n_per_class=per_class, store=Path(folder) / job.name, **said)
            times.append(time.process_time() - started)
    return times[0], times[1]


def row(
    network: str, found: Repair, attacked: BeforeAfter, noted: tuple[np.ndarray, np.ndarray, np.ndarray] | None
) -> str:
    """A line of the table for one way of judging: before, after, the mean, and what radii predicted of an attack."""
    clean = next(each for each in found.judged if each.measure == "clean")
    named = {part.name: part for part in attacked.parts}
    weakest = named[found.choice.weakest]

    def worst(entry: object) -> str:
        return f"{100 * entry.value:.1f} [{100 * entry.interval[0]:.0f}, {100 * entry.interval[1]:.0f}] {entry.class_}"

    gain = 100 * (attacked.worst_after.value - attacked.worst_before.value)
    low, high = (100 * end for end in weakest.change.interval)
    cells = [
        network.removeprefix("cifar_"),
        f"{found.choice.n:,}",
        f"{attacked.measure}, {attacked.n:,}",
        worst(attacked.worst_before),
        worst(attacked.worst_after),
        f"{gain:+.1f}",
        f"{weakest.name} {100 * weakest.change.value:+.1f} [{low:+.1f}, {high:+.1f}]",
        f"{100 * attacked.before:.1f} -> {100 * attacked.after:.1f}",
        f"{100 * clean.before:.1f} -> {100 * clean.after:.1f}",
        "- | -" if noted is None else predictions_off(found, noted),
        ("yes" if found.gained else "no") if attacked is found.decisive else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def parts_table(network: str, found: Repair) -> str:
    """Every class of a network: what one gains others pay."""
    cells = " | ".join(
        f"{part.name} {100 * part.before.value:.0f} -> {100 * part.after.value:.0f}" for part in found.decisive.parts
    )
    return f"| {network.removeprefix('cifar_')} | {cells} |"


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--realdata", type=Path, default=REALDATA)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "gfscore-repair")
    parser.add_argument("--only", nargs="*", default=NETWORKS)
    parser.add_argument("--attack", default="apgd", help="apgd, autoattack, pgd, or none: by radii alone")
    parser.add_argument("--per-class", type=int, default=PER_CLASS)
    parser.add_argument("--attacked", type=int, help="images of each class that are attacked; else all that judge")
    parser.add_argument("--times", action="store_true", help="print processor times instead")
    said = parser.parse_args()
    said.cache.mkdir(parents=True, exist_ok=True)
    if said.times:
        print("| network | audit, s | repair, s | ratio |\n|---|---|---|---|")
        for network in said.only:
            audit, repair = seconds(said.realdata, network, said.per_class)
            name = network.removeprefix("cifar_")
            print(f"| {name} | {audit:.1f} | {repair:.1f} | {repair / audit:.2f} |", flush=True)
        return
    print(
        "| network | images that choose | judged by | worst before | worst after | gain | the weakest class | mean | "
        "clean mean | radii said: worst / mean after | off: worst, mean, most of any class | shown |\n"
        + "|---" * 12
        + "|"
    )
    found, noted = {}, note_predictions()
    for network in said.only:
        found[network] = repaired(said.realdata, said.cache, network, said.attack, said.per_class, said.attacked)
        for judged in found[network].judged[:-1]:  # the last is clean accuracy, which every line has
            print(
                row(network, found[network], judged, noted[-1] if judged.measure == said.attack else None), flush=True
            )
    print()
    for network, each in found.items():
        print(parts_table(network, each))


if __name__ == "__main__":
    main()
