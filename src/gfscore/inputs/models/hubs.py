"""Models by name: of timm, of transformers, of RobustBench, with the preprocessing that they bring along."""

import argparse
import contextlib
import difflib
import json
import math
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from gfscore.errors import FileError, ModelError, OptionError, first_line, require
from gfscore.inputs.models.fingerprints import module_fingerprint
from gfscore.inputs.models.shims import no_deprecations, stand_in_for_autoattack, torch_for
from gfscore.inputs.models.torch_model import TorchModel, load_weights, pickle_refusal, wrap_module
from gfscore.inputs.protocols import SuggestedPreprocessing
from gfscore.names import listing
from gfscore.storage import to_read

PROBE_SIZE = (64, 48)  # width and height: not square, so that the two cannot be mixed up unseen
PROBE_COLOUR = (10, 100, 200)
WARPED_FROM = 384  # ConvNeXt's processor crops below this size and warps from it on
ROBUSTBENCH_FOLDER = Path("models")  # RobustBench's own default


def load_timm(target: str, *, name: str | None = None) -> TorchModel:
    """``NAME``, with the weights timm downloads for it, or ``NAME?checkpoint=FILE`` with weights from a file."""
    architecture, _, query = target.partition("?")
    key, _, file = query.partition("=")
    if not architecture or (query and (key != "checkpoint" or not file)):
        raise OptionError(f"model 'timm:{target}' is not understood. Write timm:NAME or timm:NAME?checkpoint=FILE.")
    torch_for("a timm model", extra="timm")
    with no_deprecations():
        timm = require("timm", extra="timm", purpose="a timm model")
        if not timm.is_model(architecture):
            similar = difflib.get_close_matches(architecture, timm.list_models(), n=3)
            hint = f"It has {listing(similar)}" if similar else "See timm.list_models()"
            raise OptionError(f"model 'timm:{architecture}': timm has no {architecture!r}. {hint}.")
        module = _with_checkpoint(timm, architecture, to_read(file)) if file else _pretrained(timm, architecture)
        suggested = _timm_preprocessing(timm.data.resolve_model_data_config(module), architecture)
    return wrap_module(module.eval(), name=name or architecture, suggested_preprocessing=suggested)


def _pretrained(timm: Any, architecture: str) -> Any:
    try:
        return timm.create_model(architecture, pretrained=True)  # timm itself loads weights only
    except Exception as error:  # from the network, the hub's cache, or for want of weights
        raise ModelError(
            f"model 'timm:{architecture}': its weights could not be had ({first_line(error)}). "
            f"Connect, or give a file: timm:{architecture}?checkpoint=FILE."
        ) from error


def _with_checkpoint(timm: Any, architecture: str, file: Path) -> Any:
    """The network with weights from a file, and with as many classes as the head there has, not timm's 1,000."""
    weights = load_weights(file)
    head = timm.get_pretrained_cfg(architecture).classifier
    weight = weights.get(f"{head if isinstance(head, str) else next(iter(head or ()), '')}.weight")
    classes = {} if weight is None else {"num_classes": len(weight)}
    module = timm.create_model(architecture, pretrained=False, **classes)
    try:
        module.load_state_dict(weights)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:200]
        message = f"does not fit timm's {architecture} ({told}). Name the architecture it was trained with."
        raise FileError(message).found_in(file) from error
    return module


def _timm_preprocessing(config: dict[str, Any], architecture: str) -> SuggestedPreprocessing:
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


def load_hf(target: str, *, name: str | None = None) -> TorchModel:
    """``ORG/NAME`` of the hub, or a folder saved by ``save_pretrained``. Code that a repository brings is never run."""
    folder = Path(target).is_dir()
    if not folder and target.startswith((".", "/", "~")):
        raise FileError("is not a folder. Check the path, or write hf:ORG/NAME for the hub.").found_in(target)
    if not folder and not re.fullmatch(r"[\w-][\w.-]*(/[\w-][\w.-]*)?", target):
        raise OptionError(f"model 'hf:{target}' is not understood. Write hf:ORG/NAME, or hf:./folder.")
    purpose = "a Hugging Face model"
    torch_for(purpose, extra="transformers")
    transformers = require("transformers", extra="transformers", purpose=purpose)
    with no_deprecations(), _no_progress_bar(transformers):
        try:
            module, loaded = transformers.AutoModelForImageClassification.from_pretrained(
                target, trust_remote_code=False, output_loading_info=True
            )
            processor = transformers.AutoImageProcessor.from_pretrained(target, trust_remote_code=False)
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
        suggested = processor_preprocessing(processor, target)
    return wrap_module(
        module.eval(),
        name=name or (Path(target).resolve().name if folder else target),
        fingerprint=_hf_fingerprint(module),
        output="logits",
        suggested_preprocessing=suggested,
    )


def _hf_fingerprint(module: Any) -> str:
    """That of the module, with its configuration and without the place it came from."""
    configuration = module.config.to_dict()
    configuration.pop("_name_or_path", None)
    for part in module.modules():
        if hasattr(part, "name_or_path"):
            part.name_or_path = ""
    return module_fingerprint(module, json.dumps(configuration, sort_keys=True, default=str))


def processor_preprocessing(processor: Any, target: str) -> SuggestedPreprocessing:
    """What a processor of transformers does to an image, found by giving it black, white and coloured ones.

    Processors scale, shift and normalise under a dozen names, some of them twice. Whatever they do to the values is
    one line per channel, which black and white determine; a third colour shows whether it is one.
    """

    def process(colour: tuple[int, int, int]) -> Any:
        image = Image.new("RGB", PROBE_SIZE, colour)
        return np.asarray(processor(images=image, return_tensors="np")["pixel_values"][0], dtype=np.float64)

    black, white, coloured = process((0, 0, 0)), process((255, 255, 255)), process(PROBE_COLOUR)
    resize, crop = _processor_sizes(processor)
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


def _processor_sizes(processor: Any) -> tuple[int | tuple[int, int] | None, tuple[int, int] | None]:
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


@contextlib.contextmanager
def _no_progress_bar(transformers: Any) -> Iterator[None]:
    """Loading a local file needs none; downloads keep theirs, which the hub's library draws."""
    log = transformers.utils.logging
    enabled = log.is_progress_bar_enabled()
    log.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            log.enable_progress_bar()


def load_robustbench(target: str, *, model_dir: Path | None = None, name: str | None = None) -> TorchModel:
    """``DATASET/THREAT/NAME``, from ``<model_dir>/DATASET/THREAT/NAME.pt``, which RobustBench downloads if it must.

    These models normalise images themselves.
    """
    parts = target.split("/")
    if len(parts) != 3 or not all(parts):
        raise OptionError(
            f"model 'robustbench:{target}' is not understood. "
            "Write robustbench:DATASET/THREAT/NAME, such as robustbench:cifar10/L2/Engstrom2019Robustness."
        )
    dataset, threat, model_name = parts
    purpose = "a RobustBench model"
    torch = torch_for(purpose, extra="robustbench")
    stand_in_for_autoattack()
    with no_deprecations():
        zoo = require("robustbench.model_zoo", extra="robustbench", purpose=purpose)
        utils = require("robustbench.utils", extra="robustbench", purpose=purpose)
        _refuse_unknown(zoo, dataset, threat, model_name)
        folder = model_dir or ROBUSTBENCH_FOLDER
        file = folder / dataset / threat / f"{model_name}.pt"
        try:
            # What it prints about downloads must not get between our own results.
            with torch.serialization.safe_globals(_harmless()), contextlib.redirect_stdout(sys.stderr):
                module = utils.load_model(model_name, model_dir=folder, dataset=dataset, threat_model=threat)
        except pickle.UnpicklingError as error:
            raise pickle_refusal(file).found_in(file) from error
        except Exception as error:  # network, a checkpoint of another model, a damaged one
            message = f"cannot be loaded as {model_name} ({first_line(error)}). Download it again."
            if not any(file.parent.glob(f"{file.name}*")):  # an ensemble has several
                message = f"is not there and could not be downloaded ({first_line(error)}). Put the checkpoint there."
            raise FileError(message).found_in(file) from error
    return wrap_module(module.eval(), name=name or model_name)


def _refuse_unknown(zoo: Any, dataset: str, threat: str, model_name: str) -> None:
    known = {
        kind.value: {threat.value: sorted(models) for threat, models in by_threat.items()}
        for kind, by_threat in zoo.model_dicts.items()
    }
    spec = f"robustbench:{dataset}/{threat}/{model_name}"
    if dataset not in known:
        raise OptionError(f"model {spec!r}: RobustBench has no data set {dataset!r}. It has {listing(sorted(known))}.")
    if threat not in known[dataset]:
        threats = listing(sorted(known[dataset]))
        raise OptionError(f"model {spec!r}: RobustBench has no {threat!r} for {dataset}. It has {threats}.")
    if model_name not in known[dataset][threat]:
        similar = difflib.get_close_matches(model_name, known[dataset][threat], n=4, cutoff=0.5)
        names = listing(similar or known[dataset][threat], most=4)
        raise OptionError(f"model {spec!r}: RobustBench has no such model for {dataset}/{threat}. It has {names}.")


def _harmless() -> list[Any]:
    """What training scripts left in the checkpoints besides weights: numbers and options, which run no code."""
    scalar, array = np.float64(0).__reduce__()[0], np.zeros(1).__reduce__()[0]  # how numpy pickles the two
    kinds = {type(np.dtype(kind)) for kind in (np.float16, np.float32, np.float64, np.int32, np.int64, np.bool_)}
    before_numpy_2 = [(scalar, "numpy.core.multiarray.scalar"), (array, "numpy.core.multiarray._reconstruct")]
    return [argparse.Namespace, np.dtype, np.ndarray, scalar, array, *kinds, *before_numpy_2]
