"""Draw the figures of ``docs/figures.md`` and of the gallery: ``python scripts/draw_figures.py [NAME...]``.

The zoo is run as in ``gfscore demo``; the paper's models are drawn from its published numbers. Neither has all that a
figure of 1,000 classes may need: what they lack is drawn from a result made of random numbers, and the gallery says so.
"""

import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

import gfscore
from gfscore.jobs.experiments import TEST, audit_zoo
from gfscore.jobs.options import RunOptions
from gfscore.jobs.plan import audit_radii
from gfscore.outputs import figures
from gfscore.outputs.figures import ALL_FIGURES, save
from gfscore.paper import published_audit
from gfscore.results import Audit, Leaderboard, Repair
from many_models import many_models, with_attack

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "figures"
ATTACKED = 100  # images
MADE = "random numbers, no networks"
SOURCES = {
    "zoo": "the eight networks of the zoo on their test images",
    "attacked": f"one of them after `gfscore check --autoattack --quick --budget {ATTACKED}`, which attacks by PGD",
    "cifar10": "17 networks, the numbers published with the GF-Score paper",
    "imagenet": "5 networks on 1,000 classes, the numbers published with the GF-Score paper",
    "made": f"5 models on 1,000 classes: {MADE}",
    "repaired": "a small network of the zoo, repaired by training (FAAL, 3 epochs) and a bias",
    "board": "a leaderboard of the networks of the zoo",
    "board_made": f"a leaderboard of 5 models on 1,000 classes: {MADE}",
}
LARGE = ("imagenet", "made", "board_made")  # of 1,000 classes


class Picture(NamedTuple):
    """A figure of the gallery: how it is drawn, and from what."""

    stem: str  # of its file; its kind, of many classes with the number of them
    source: str
    line: str  # of Python that draws it
    alt: str

    @property
    def kind(self) -> str:
        """The name by which the command knows the figure."""
        return self.stem.removesuffix("-1000").removesuffix("-10")

    @property
    def command(self) -> str:
        """What draws the picture outside of Python."""
        ending = ".json" if self.source.startswith("board") else ""
        return f"gfscore figures {self.source}{ending} --only {self.kind}"


PICTURES = (
    Picture(
        "robustness", "zoo", 'robust_curves(zoo["trades"])', "Ten lines fall as attacks grow; digit 8 is the lowest"
    ),
    Picture(
        "robustness-1000", "made", "robust_curves(made.models[0])", "A band of 1,000 classes, the whole and the worst"
    ),
    Picture("robustness-models", "zoo", "robust_models(zoo)", "Eight networks: standard and scaled fall fastest"),
    Picture("robustness-models-1000", "made", "robust_models(made)", "Five models, all samples and the worst class"),
    Picture("forest", "zoo", 'forest(zoo["trades"])', "Ten digits by score with intervals; three may be the worst"),
    Picture(
        "forest-1000", "imagenet", "forest(imagenet.models[0])", "A rising curve of 1,000 scores, both ends by name"
    ),
    Picture("heatmap", "cifar10", "class_heatmap(cifar10)", "Seventeen models by ten classes; cats are the darkest"),
    Picture("heatmap-1000", "imagenet", "class_heatmap(imagenet)", "Five models by 1,000 classes, both ends by name"),
    Picture("disparity", "zoo", "disparity_bars(zoo)", "Bars of five metrics of eight networks"),
    Picture("disparity-1000", "imagenet", "disparity_bars(imagenet)", "Bars of five metrics of five networks"),
    Picture("robustness-rdi", "cifar10", "robustness_disparity(cifar10)", "Seventeen points: RDI rises with the score"),
    Picture(
        "robustness-rdi-1000", "imagenet", "robustness_disparity(imagenet)", "Five points: RDI rises with the score"
    ),
    Picture("reranking", "cifar10", "reranking(cifar10)", "Places of 17 models by score and by FP-GREAT"),
    Picture("reranking-1000", "imagenet", "reranking(imagenet)", "Places of 5 models by score and by FP-GREAT"),
    Picture("lorenz-10", "cifar10", "lorenz(cifar10)", "Lorenz curves over ten classes below the diagonal"),
    Picture("lorenz", "imagenet", "lorenz(imagenet)", "Lorenz curves over 1,000 classes far below the diagonal"),
    Picture("noise", "zoo", "noise_floor(zoo)", "RDI and NRGC beside grey bars of what chance gives"),
    Picture("noise-1000", "made", "noise_floor(made)", "RDI and NRGC of five models beside what chance gives"),
    Picture("vulnerability", "cifar10", "class_vulnerability(cifar10)", "Cat is the worst of 13 models, dog of 4"),
    Picture(
        "vulnerability-1000", "imagenet", "class_vulnerability(imagenet)", "The classes that are an end of a model"
    ),
    Picture("radar", "cifar10", "radar(cifar10)", "Ten axes, three models as polygons"),
    Picture("radar-1000", "imagenet", "radar(imagenet)", "Six lowest and six highest classes of three models"),
    Picture(
        "concentration", "cifar10", "rdi_concentration(cifar10, audit_radii(cifar10))", "The bound falls with samples"
    ),
    Picture(
        "concentration-1000",
        "imagenet",
        "rdi_concentration(imagenet, audit_radii(imagenet))",
        "With 50 a class it is wide",
    ),
    Picture(
        "attacked", "attacked", "attack_agreement(attacked)", "Ten digits near the diagonal of prediction and attack"
    ),
    Picture(
        "attacked-1000", "made", "attack_agreement(made.models[0])", "1,000 points a tenth below the diagonal, as made"
    ),
    Picture("calibration", "zoo", "calibration_curve(zoo)", "The objective rises towards low temperatures"),
    Picture("calibration-1000", "made", "calibration_curve(made)", "The objective of a calibration over 1,000 classes"),
    Picture("temperature", "zoo", 'temperature_curves(zoo["standard"])', "Scores of ten digits fall with temperature"),
    Picture("temperature-1000", "made", "temperature_curves(made.models[0])", "The 20 lowest of 1,000 classes fall"),
    Picture("arrows", "repaired", "repair_arrows(repaired)", "An arrow for each of ten digits, with its interval"),
    Picture("frontier", "repaired", "repair_frontier(repaired)", "No bias and the chosen one, worst class and mean"),
    Picture("training", "repaired", "training_curves(repaired)", "Ten digits over three epochs, two of them by name"),
    Picture("ranks", "board", "rank_lines(board)", "Eight networks with the ranks that the data allow"),
    Picture("ranks-1000", "board_made", "rank_lines(board_made)", "Five models with the ranks that the data allow"),
)


def draw(line: str, results: dict[str, Any]) -> Any:
    """The chart that a line of the gallery makes, which finds the figures and the results by their names."""
    return eval(line, {**vars(figures), "audit_radii": audit_radii, **results})


def page() -> str:
    """The gallery as a page in Markdown."""
    parts = [INTRODUCTION.format(sources="\n".join(f"- `{name}`: {text}." for name, text in SOURCES.items()))]
    for kind, figure in ALL_FIGURES.items():
        parts.append(f"## `{kind}`\n\nShows {figure.shows}.\n")
        for picture in PICTURES:
            if picture.kind == kind:
                made = f" Made: {MADE}." if MADE in SOURCES[picture.source] else ""
                parts.append(
                    f"![{picture.alt}](images/figures/{picture.stem}.png)\n\nFrom `{picture.source}`.{made}\n\n"
                    f"```console\n$ {picture.command}\n```\n\n```python\n{picture.line}\n```\n"
                )
    return "\n".join(parts)


INTRODUCTION = """\
# Gallery

Every kind of figure, of ten classes and (but for a repair) of 1,000, with the command that draws it and the line of
Python that does. What each means is in [Figures](figures.md). The lines need

```python
from gfscore.jobs.plan import audit_radii
from gfscore.outputs.figures import *
from gfscore.paper import published_audit
from gfscore.results import Audit, Leaderboard, Repair

zoo = Audit.load("zoo/audit.json")  # gfscore demo --out zoo
cifar10, imagenet = published_audit("cifar10"), published_audit("imagenet")
repaired = Repair.load("repaired/repair.json")
board = Leaderboard.load("board.json")  # gfscore leaderboard zoo --out board.json
```

and commands a folder with an `audit.json`, such as `imagenet.save("imagenet/audit.json")` fills; of a repair one with a
`repair.json`, and of a leaderboard its file. The results are

{sources}
"""


@cache
def source(name: str) -> Audit | Repair | Leaderboard:
    """The result that pictures are drawn from, by its name."""
    if name == "zoo":
        with tempfile.TemporaryDirectory() as store:
            return audit_zoo([TEST], RunOptions(store=Path(store)))
    if name == "attacked":
        return gfscore.check(
            "zoo:trades", "zoo:digits", autoattack=True, quick=True, norm="l2", eps=0.5, budget=ATTACKED
        )
    if name == "repaired":
        return gfscore.repair(
            "zoo:pgd-small", "generator:zoo", n_per_class=400, method="faal", norm="l2", eps=0.5, epochs=3, lr=0.01
        )
    if name.startswith("board"):
        return gfscore.leaderboard([source("made" if name == "board_made" else "zoo")])
    if name == "made":
        many = many_models(5, 1000, 8, weakest=2.5, permutations=99)
        models = tuple(map(with_attack, many.models))
        return many.model_copy(update={"models": models, "calibration": calibrated(1000).calibration})
    return published_audit(name)


def calibrated(k: int) -> Audit:
    """An audit of random logits with a calibration."""
    rng, labels = np.random.default_rng(3), np.repeat(np.arange(k), 5)
    strength = rng.uniform(0.5, 6, k)[labels, None] * np.eye(k)[labels]
    return gfscore.audit(rng.normal(0, 1, (len(labels), k)) + strength, labels, calibrate="classes")


def shrink(path: Path) -> None:
    """A picture of few colours needs no more of them: a sixth of the size."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


def main(names: list[str]) -> None:
    """One picture of each kind and size, small enough for a page; or those that are named."""
    wanted = [picture for picture in PICTURES if not names or picture.stem in names]
    for picture in wanted:
        path = FOLDER / f"{picture.stem}.png"
        save(draw(picture.line, {picture.source: source(picture.source)}), path, scale=1.5)
        shrink(path)
    total = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(wanted)} figures in {FOLDER.name}/, {total / 1e6:.2f} MB with the others")


if __name__ == "__main__":
    main(sys.argv[1:])
