"""Draw the figures of ``docs/figures.md``: ``python scripts/draw_figures.py``.

The zoo is run as in ``gfscore demo``; the paper's models are drawn from its published numbers.
"""

import math
import tempfile
from pathlib import Path

from PIL import Image

import gfscore.zoo
from gfscore import auditing
from gfscore.auditing import Options, rdi_radii
from gfscore.cli.running import RunOptions, run_models
from gfscore.inputs.logits_files import read_samples
from gfscore.outputs.figures import FIGURES, save
from gfscore.reproduction import published_audit
from gfscore.results import Audit, ModelAudit

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "figures"
TEMPERATURES = [round(0.05 * math.exp(step * math.log(200) / 40), 6) for step in range(41)]  # 0.05 to 10


def zoo_audit(store: Path) -> Audit:
    """The eight networks on the test images, with the scores of their classes by temperature."""
    specs = [f"zoo:{model.name}" for model in gfscore.zoo.models()]
    models = []
    for run in run_models(specs, ["zoo:digits"], RunOptions(store=store, quiet=True)):
        samples = read_samples(run.logits)
        local = auditing.score_samples(samples, Options())
        model = auditing.audit_scores(samples, local, Options(), name=run.name, source=run.source)
        models.append(model.model_copy(update={"curves": _curves(samples, model)}))
    return Audit(models=tuple(models), provenance=auditing.make_provenance())


def _curves(samples: gfscore.Samples, model: ModelAudit) -> dict[str, object]:
    scores: dict[str, list[float]] = {entry.name: [] for entry in model.classes}
    for temperature in TEMPERATURES:
        local = auditing.score_samples(samples, Options(temperature=temperature))
        for label, name in enumerate(samples.class_names):
            scores[name].append(float(local.values[samples.labels == label].mean()))
    return {"temperature": TEMPERATURES, "scores": scores}


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
        "calibration": (cifar10, {}),
        "temperature": (zoo["standard"], {}),
    }
    for name, (result, numbers) in pictures.items():
        path = FOLDER / f"{name}.png"
        save(FIGURES[name.removesuffix("-1000")].draw(result, **numbers), path, scale=1.5)
        Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)  # a sixth of the size
    total = sum(path.stat().st_size for path in FOLDER.glob("*.png"))
    print(f"{len(pictures)} figures in {FOLDER.name}/, {total / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
