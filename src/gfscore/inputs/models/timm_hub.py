"""Models of timm by name, with its pretrained weights or a checkpoint of one's own."""

import difflib
import math
from pathlib import Path
from typing import Any

from gfscore.errors import FileError, ModelError, OptionError, first_line, require
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.suggested import SuggestedPreprocessing
from gfscore.inputs.models.torch_files import load_weights
from gfscore.inputs.models.torch_model import TorchModel, wrap_module
from gfscore.names import listing
from gfscore.storage import to_read


def load_timm(target: str, *, name: str | None = None) -> TorchModel:
    """``NAME``, with the weights timm downloads for it, or ``NAME?checkpoint=FILE`` with weights from a file."""
    architecture, _, query = target.partition("?")
    key, _, file = query.partition("=")
    if not architecture or (query and (key != "checkpoint" or not file)):
        raise OptionError(f"model 'timm:{target}' is not understood. Write timm:NAME or timm:NAME?checkpoint=FILE.")
    torch_for("a timm model", extra="timm")
    with no_deprecations():
        timm = require("timm", extra="timm", purpose="a timm model")
        _refuse_unknown(timm, architecture)
        module = _with_checkpoint(timm, architecture, to_read(file)) if file else _pretrained(timm, architecture)
        suggested = _suggested(timm.data.resolve_model_data_config(module), architecture)
    return wrap_module(module.eval(), name=name or architecture, suggested_preprocessing=suggested)


def _refuse_unknown(timm: Any, architecture: str) -> None:
    if timm.is_model(architecture):
        return
    similar = difflib.get_close_matches(architecture, timm.list_models(), n=3)
    hint = f"It has {listing(similar)}" if similar else "See timm.list_models()"
    raise OptionError(f"model 'timm:{architecture}': timm has no {architecture!r}. {hint}.")


def _pretrained(timm: Any, architecture: str) -> Any:
    try:
        return timm.create_model(architecture, pretrained=True)  # timm itself loads weights only
    except Exception as error:  # from the network, the hub's cache, or for want of weights
        raise ModelError(
            f"model 'timm:{architecture}': its weights could not be had ({first_line(error)}). "
            f"Connect, or give a file: timm:{architecture}?checkpoint=FILE."
        ) from error


def _with_checkpoint(timm: Any, architecture: str, file: Path) -> Any:
    weights = load_weights(file)
    module = timm.create_model(architecture, pretrained=False, **_number_of_classes(timm, architecture, weights))
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:200]
        message = f"does not fit timm's {architecture} ({told}). Name the architecture it was trained with."
        raise FileError(message).found_in(file) from error
    return module


def _number_of_classes(timm: Any, architecture: str, weights: dict[str, Any]) -> dict[str, int]:
    """As many as the head in the file has, which need not be the 1,000 that timm would build."""
    head = timm.get_pretrained_cfg(architecture).classifier
    weight = weights.get(f"{head if isinstance(head, str) else next(iter(head or ()), '')}.weight")
    return {} if weight is None else {"num_classes": len(weight)}


def _suggested(config: dict[str, Any], architecture: str) -> SuggestedPreprocessing:
    height, width = config["input_size"][1:]
    scaled = (math.floor(height / config["crop_pct"]), math.floor(width / config["crop_pct"]))
    squashed = config["crop_mode"] == "squash"
    if not squashed and (config["crop_mode"] != "center" or height != width):
        raise ModelError(
            f"model 'timm:{architecture}' resizes images in a way gfscore does not (crop mode "
            f"{config['crop_mode']!r} to {height} x {width}). Wrap it in torch:module:factory and prepare the images."
        )
    return SuggestedPreprocessing(
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        resize=scaled if squashed else scaled[0],
        crop=(height, width),
        interpolation=config["interpolation"],
    )
