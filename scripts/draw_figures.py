"""Draw the figures of ``docs/figures.md``: ``python scripts/draw_figures.py``.

The zoo is run as in ``gfscore demo``; the paper's models are drawn from its published numbers.
"""

import tempfile
from pathlib import Path

from PIL import Image

import gfscore.zoo
from gfscore import auditing, calibrating
from gfscore.auditing import Options, rdi_radii
from gfscore.cli.options import RunOptions
from gfscore.cli.running import audit_run, run_models
from gfscore.inputs.logits_files import read_samples
from gfscore.outputs.figures import FIGURES, save
from gfscore.reproduction import published_audit
from gfscore.results import Audit

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "figures"


def zoo_audit(store: Path) -> Audit:
    """The eight networks on the test images, with the scores of their classes by temperature."""
    specs = [f"zoo:{model.name}" for model in gfscore.zoo.models()]
    options, models, curves = Options(), [], {}
    for run in run_models(specs, ["zoo:digits"], RunOptions(store=store, quiet=True)):
        samples = read_samples(run.logits)
        curves[run.name] = calibrating.curve_of(samples, options)
        model = audit_run(run, options)
        models.append(calibrating.with_calibration(model, samples, curves[run.name], None, options))
    calibration = calibrating.calibration_of(curves, "classes")
    return Audit(models=tuple(models), calibration=calibration, provenance=auditing.make_provenance())


def main() -> None:
    """One picture of each kind, small enough for a page."""
    with tempfile.TemporaryDirectory() as store:
        zoo = zoo_audit(Path(store))
    cifar10, imagenet = published_audit("cifar10"), published_audit("imagenet")
    pictures = {
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
        "concentration": (cifar10, {"radii": rdi_radii(10)}),
        "calibration": (zoo, {}),
        "temperature": (zoo["standard"], {"calibration": zoo.calibration}),
    }
    for name, (result, numbers) in pictures.items():
        path = FOLDER / f"{name}.png"
        save(FIGURES[name.removesuffix("-1000")].draw(result, **numbers), path, scale=1.5)
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)  # a sixth of the size
    total = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(pictures)} figures in {FOLDER.name}/, {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
