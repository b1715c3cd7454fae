"""Lipschitz constants in [0, 1] pixels: given, or the product of spectral norms; refused where one is refuted."""

import numpy as np

from gfscore.engines.local import gathered
from gfscore.errors import ModelError, OptionError
from gfscore.inputs.chains import chain_bound
from gfscore.measures import Run
from gfscore.measures.row_lists import SteepestOfRows
from gfscore.measures.slopes import PLACES
from gfscore.scores.lipschitz import check_constant, constant_in_pixels


def pixel_constant(run: Run, given: float | None, *, of_inputs: bool) -> tuple[float, str]:
    """A Lipschitz constant in [0, 1] pixels, and where it comes from: given, or the product of spectral norms.

    Refused when the model is seen to be steeper: then it is none, wherever it comes from.
    """
    rows = np.unique(np.linspace(0, run.n_samples - 1, PLACES).astype(np.int64))
    constant, how = given or 0.0, "given"
    if given is None:
        inputs = run.preprocessing.normalise(run.pixels(rows), run.model.layout)
        constant, how = chain_bound(run.model, inputs), "product of spectral norms"
    elif of_inputs:
        how = "given for inputs"
    if given is None or of_inputs:
        constant, how = constant_in_pixels(constant, run.preprocessing.std), f"{how}, divided by the smallest std"
    [[slope]] = np.concatenate(gathered(run, SteepestOfRows(), rows)).tolist()
    _refuse_refuted(check_constant(constant), slope, given=given is not None)
    return constant, how


def _refuse_refuted(constant: float, slope: float, *, given: bool) -> None:
    """Refuse a constant below a slope that was measured between two images."""
    if slope <= constant:
        return
    seen = f"two images were found whose logits differ by {slope:.3g} times their distance"
    if given:
        raise OptionError(f"Lipschitz constant {constant:.4g} is none: {seen}. Give a proven upper bound.")
    raise ModelError(
        f"has {constant:.4g} as the product of its spectral norms, but {seen}: one of the two cannot be, so nothing is "
        "certified. Look for what it does beside its layers, or give a proven constant with --lipschitz."
    )
