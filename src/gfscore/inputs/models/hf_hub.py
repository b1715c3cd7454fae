"""Image classifiers of transformers, from the hub or from a folder, with the preprocessing of their own processor."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gfscore.errors import FileError, ModelError, OptionError, first_line, require
from gfscore.inputs.models.fingerprints import of_module
from gfscore.inputs.models.shims import no_deprecations, torch_for
from gfscore.inputs.models.suggested import SuggestedPreprocessing
from gfscore.inputs.models.torch_model import TorchModel, wrap_module
from gfscore.names import listing

PURPOSE = "a Hugging Face model"
PROBE_SIZE = (64, 48)  # width and height: not square, so that the two cannot be mixed up unseen
PROBE_COLOUR = (10, 100, 200)
WARPED_FROM = 384  # ConvNeXt's processor crops below this size and warps from it on


def load_hf(target: str, *, name: str | None = None) -> TorchModel:
    """``ORG/NAME`` of the hub, or a folder saved by ``save_pretrained``. Code that a repository brings is never run."""
    place = _place(target)
    torch = torch_for(PURPOSE, extra="transformers")
    transformers = require("transformers", extra="transformers", purpose=PURPOSE)
    with no_deprecations(), _no_progress_bar(transformers):
        try:
            module, loaded = transformers.AutoModelForImageClassification.from_pretrained(
                place, trust_remote_code=False, output_loading_info=True
            )
            processor = transformers.AutoImageProcessor.from_pretrained(place, trust_remote_code=False)
        except Exception as error:  # network, cache, missing files, not an image classifier, code of its own
            raise ModelError(
                f"model 'hf:{target}' could not be loaded ({first_line(error)}). "
                "Check the name, connect, or give a folder with config, weights and preprocessor_config.json."
            ) from error
        if loaded["missing_keys"]:
            missing = listing(sorted(loaded["missing_keys"]), most=2)
            raise ModelError(
                f"model 'hf:{target}' has no weights for {missing}; they would be random. "
                "Name a model that was fine-tuned to classify images."
            )
        suggested = _suggested(processor, target)
    return wrap_module(
        module.eval(),
        name=name or (Path(target).resolve().name if Path(target).is_dir() else target),
        fingerprint=_fingerprint(module, torch),
        output="logits",
        suggested_preprocessing=suggested,
    )


def _fingerprint(module: Any, torch: Any) -> str:
    """That of the module, with its configuration and without the place it came from."""
    configuration = module.config.to_dict()
    configuration.pop("_name_or_path", None)
    for part in module.modules():
        if hasattr(part, "name_or_path"):
            part.name_or_path = ""
    return of_module(module, torch, also=(json.dumps(configuration, sort_keys=True, default=str),))


def _place(target: str) -> str:
    if Path(target).is_dir():
        return target
    if target.startswith((".", "/", "~")):
        raise FileError("is not a folder. Check the path, or write hf:ORG/NAME for the hub.").found_in(target)
    if not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", target):
        raise OptionError(f"model 'hf:{target}' is not understood. Write hf:ORG/NAME, or hf:./folder.")
    return target


def _suggested(processor: Any, target: str) -> SuggestedPreprocessing:
    """What a processor does to an image, found by giving it black, white and coloured ones.

    Processors scale, shift and normalise under a dozen names, some of them twice. Whatever they do to the values is
    one line per channel, which black and white determine; a third colour shows whether it is one.
    """
    black, white, coloured = (_processed(processor, colour) for colour in ((0, 0, 0), (255, 255, 255), PROBE_COLOUR))
    resize, crop = _sizes(processor)
    size = black.shape[1:]
    middle = (slice(None), size[0] // 2, size[1] // 2)
    scale = white[middle] - black[middle]
    predicted = black[middle] + scale * np.array(PROBE_COLOUR) / 255
    expected_size = crop or (resize if isinstance(resize, tuple) else None)
    if not np.allclose(coloured[middle], predicted, atol=1e-3) or expected_size not in (None, size):
        raise ModelError(
            f"model 'hf:{target}': its {type(processor).__name__} does more to images than resize, crop and normalise. "
            "Wrap the model in torch:module:factory and prepare the images."
        )
    return SuggestedPreprocessing(
        mean=tuple((-black[middle] / scale).round(6).tolist()),
        std=tuple((1 / scale).round(6).tolist()),
        resize=resize,
        crop=crop,
        interpolation=Image.Resampling(int(getattr(processor, "resample", None) or 0)).name.lower(),
    )


def _processed(processor: Any, colour: tuple[int, int, int]) -> Any:
    image = Image.new("RGB", PROBE_SIZE, colour)
    return np.asarray(processor(images=image, return_tensors="np")["pixel_values"][0], dtype=np.float64)


def _sizes(processor: Any) -> tuple[int | tuple[int, int] | None, tuple[int, int] | None]:
    """Size that images are resized to (an integer is the shorter edge), and the crop that follows."""
    resize: int | tuple[int, int] | None = None
    crop: tuple[int, int] | None = None
    if getattr(processor, "do_resize", False):
        size = dict(processor.size)
        edge = size.get("shortest_edge")
        resize = edge if edge is not None else (size["height"], size["width"])
        share = getattr(processor, "crop_pct", None)
        if edge is not None and share is not None:  # ConvNeXt's way to say it
            crop = (edge, edge)
            resize = int(edge / share) if edge < WARPED_FROM else crop
    if getattr(processor, "do_center_crop", False):
        crop = (processor.crop_size["height"], processor.crop_size["width"])
    return resize, crop


@contextmanager
def _no_progress_bar(transformers: Any) -> Iterator[None]:
    """Loading a local file needs none; downloads keep theirs, which the hub's library draws."""
    log = transformers.utils.logging
    shown = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            log.enable_progress_bar()
