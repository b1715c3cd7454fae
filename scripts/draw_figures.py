"""Draw the figures of ``docs/figures.md``: ``python scripts/draw_figures.py``.

The zoo is run as in ``gfscore demo``; the paper's models are drawn from its published numbers.
"""

import tempfile
from pathlib import Path

from PIL import Image

from gfscore.jobs.experiments import TEST, audit_zoo
from gfscore.jobs.options import RunOptions
from gfscore.jobs.plan import audit_radii
from gfscore.outputs.figures import FIGURES, save
from gfscore.paper import published_audit

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "figures"


def shrink(path: Path) -> None:
    """A picture of few colours needs no more of them: a sixth of the size."""
    Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


def main() -> None:
    """One picture of each kind, small enough for a page."""
    with tempfile.TemporaryDirectory() as store:
        zoo = audit_zoo([TEST], RunOptions(store=Path(store)))
    cifar10, imagenet = published_audit("cifar10"), published_audit("imagenet")
    pictures = {
        "robustness": (zoo["trades"], {}),
        "robustness-models": (zoo, {}),
        "forest": (zoo["trades"], {}),
        "forest-1000": (imagenet.models[0], {}),
        "heatmap": (cifar10, {}),
        "heatmap-1000": (imagenet, {}),
        "disparity": (zoo, {}),
        "robustness-rdi": (cifar10, {}),
        "reranking": (cifar10, {}),
        "lorenz": (imagenet, {}),
        "noise": (zoo, {}),
        "vulnerability": (cifar10, {}),
        "radar": (cifar10, {}),
        "concentration": (cifar10, {"radii": audit_radii(cifar10)}),
        "calibration": (zoo, {}),
        "temperature": (zoo["standard"], {"calibration": zoo.calibration}),
    }
    for name, (result, numbers) in pictures.items():
        path = FOLDER / f"{name}.png"
        save(FIGURES[name.removesuffix("-1000")].draw(result, **numbers), path, scale=1.5)
        shrink(path)
    total = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(pictures)} figures in {FOLDER.name}/, {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
