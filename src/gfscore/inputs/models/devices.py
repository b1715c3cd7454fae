"""Where models run: the word for a device, what there is of it, and models that are moved there.

One word serves both runtimes. ``cuda`` and ``cuda:1`` are NVIDIA's (and AMD's, in torch's ROCm build); ``mps`` is the
GPU of a Mac, which onnxruntime reaches through CoreML; ``directml`` is a GPU under Windows, for onnxruntime alone.
``auto`` is the best that a runtime finds here. A device that was asked for and is not there is an error: work that
silently stays on the processor looks like a slow GPU.
"""

import copy
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gfscore.errors import ModelError, OptionError, first_line, naming
from gfscore.inputs.models.torch_model import TorchModel
from gfscore.inputs.protocols import Model

AUTO, CPU = "auto", "cpu"
PRECISIONS = ("float16", "bfloat16")  # beside float32, which is what is meant unless one is asked for
# What torch has beside the processor, the best first: whether it is there, and what would bring it.
TORCH_DEVICES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cuda": (lambda torch: bool(torch.cuda.is_available()), "Install torch with CUDA and a driver"),
    "mps": (lambda torch: bool(torch.backends.mps.is_available()), "Use a Mac with Apple silicon"),
}
SESSIONS = "onnxruntime"
# The provider of onnxruntime for each device, what it is told, and the package that has it; the best first.
PROVIDERS: dict[str, tuple[str, dict[str, str], str]] = {
    "cuda": ("CUDAExecutionProvider", {"use_tf32": "0"}, "Install onnxruntime-gpu"),
    "directml": ("DmlExecutionProvider", {}, "Install onnxruntime-directml"),
    "mps": (
        "CoreMLExecutionProvider",
        {"ModelFormat": "MLProgram", "MLComputeUnits": "CPUAndGPU"},  # its other format computes in float16
        "Use a Mac",
    ),
}
# CoreML is in every onnxruntime for a Mac, and takes a graph apart that it does not know whole: only where it is asked.
TAKEN_UNASKED = ("cuda", "directml")
ON_RAY = "leave --gpus-per-actor out"


def check_device(word: str) -> str:
    """The word for a device, in small letters; refused where it is none.

    >>> check_device("CUDA:1")
    'cuda:1'
    """
    kinds = dict.fromkeys((AUTO, CPU, *TORCH_DEVICES, *PROVIDERS))
    found = word.lower() if isinstance(word, str) else ""
    if found in kinds or re.fullmatch(r"cuda:\d+", found):
        return found
    raise OptionError(f"device {word!r} is not one. Choose {', '.join(kinds)}, or one of several GPUs: cuda:1.")


def check_precision(word: str | None) -> str | None:
    """The precision that is asked for beside float32, or None; refused where it is none."""
    if word is None or word == "float32":
        return None
    if word in PRECISIONS:
        return word
    raise OptionError(f"precision {word!r} is not known. Choose float32, {' or '.join(PRECISIONS)}.")


def device_of(model: Model) -> str:
    """Where a model runs; the processor, where it does not say."""
    return str(getattr(model, "device", CPU))


def session_device(session: Any) -> str:
    """Where a session of onnxruntime runs, or what behaves as one: the processor, where it does not say.

    >>> session_device(None)
    'cpu'
    """
    providers = session.get_providers() if hasattr(session, "get_providers") else []
    return next((kind for kind, (provider, _, _) in PROVIDERS.items() if provider in providers[:1]), CPU)


def place(
    model: Model, word: str = AUTO, *, held: bool = False, threads: int | None = None, on_ray: bool = False
) -> Model:
    """The model on a device.

    One that Python ``held`` before is left as it is: with ``auto`` it runs where it is, otherwise a copy is moved.
    ``on_ray`` says that Ray gave this process a GPU, which messages then speak of.
    """
    from gfscore.inputs.models.onnx_model import OnnxModel

    with naming(model.name):
        if isinstance(model, TorchModel):
            return _place_module(model, word, held=held, on_ray=on_ray)
        if isinstance(model, OnnxModel):
            moved: Model = _place_session(model, word, held=held, threads=threads, on_ray=on_ray)
            return moved
        if word not in (AUTO, CPU):
            where = "a GPU" if on_ray else word
            raise ModelError(f"runs where it likes: it cannot be put on {where}. {_instead(on_ray).capitalize()}.")
        return model


def in_precision(model: Model, precision: str | None) -> Model:
    """The model with forward passes in another precision than float32, where torch does the rest in it."""
    if precision is None:
        return model
    with naming(model.name):
        if not isinstance(model, TorchModel):
            raise ModelError(
                f"is no torch model, and --precision {precision} is for those alone. Leave it out, or export the "
                "model in that precision."
            )
        weights = str(model.dtype).removeprefix("torch.")
        if weights != "float32":
            raise ModelError(f"has weights in {weights}, and runs in that. Leave --precision out.")
        return replace(model, precision=precision)


def torch_device(torch: Any, word: str, *, on_ray: bool = False) -> Any:
    """The device of torch that a word names; ``auto`` is the best there is, and one that is not there an error."""
    there = [kind for kind, (is_there, _) in TORCH_DEVICES.items() if is_there(torch)]
    if word == AUTO:
        return torch.device(there[0] if there else CPU)
    kind, _, number = word.partition(":")
    if kind == CPU:
        return torch.device(CPU)
    if kind not in there:
        cure = TORCH_DEVICES[kind][1] if kind in TORCH_DEVICES else "Export the model to ONNX"
        raise _missing("torch", word, [*there, CPU], cure, on_ray=on_ray)
    if number and int(number) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise ModelError(
            f"cannot run on {word}: torch finds {count} CUDA devices here, numbered from 0. Choose another."
        )
    return torch.device(word)


def _place_module(model: TorchModel, word: str, *, held: bool, on_ray: bool) -> TorchModel:
    torch = sys.modules["torch"]  # the module could not exist without it
    if word == AUTO and (held or model.device.type != CPU):  # whoever made it has chosen
        return model
    device = torch_device(torch, word, on_ray=on_ray)
    if device == model.device:
        return model
    try:
        module = copy.deepcopy(model.module) if held else model.module
        return replace(model, module=module.to(device), device=device)
    except Exception as error:  # too large for it, a program that is bound to a device, or one that cannot be copied
        where = "a GPU" if on_ray else str(device)
        advice = _instead(on_ray).capitalize()
        raise ModelError(f"cannot be put on {where} ({first_line(error)}). {advice}.") from error


def _place_session(model: Any, word: str, *, held: bool, threads: int | None, on_ray: bool) -> Any:
    from gfscore.inputs.models.onnx_model import onnxruntime, open_session

    if held and word not in (AUTO, model.device):
        raise ModelError(f"is a session that runs on {model.device}. Open it for {word} yourself, or leave device out.")
    model = replace(model, gradients_on=AUTO if word == "directml" else word)  # which torch does not know
    if held or word == CPU:
        return model
    available = onnxruntime.get_available_providers()
    there = [kind for kind, (provider, _, _) in PROVIDERS.items() if provider in available]
    wanted = [kind for kind in there if kind in TAKEN_UNASKED] if word == AUTO else [word]
    if not wanted:
        return model
    kind, _, number = wanted[0].partition(":")
    if kind not in there:
        cure = PROVIDERS[kind][2] if kind in PROVIDERS else "Give a torch model"
        raise _missing(SESSIONS, word, [*there, CPU], cure, on_ray=on_ray)
    provider, told, _ = PROVIDERS[kind]
    said = told | ({"device_id": number} if number else {})
    try:
        session = open_session(model.path, threads, provider=(provider, said))
        started = provider in session.get_providers()
    except Exception as error:  # a build for CUDA on a machine without a driver
        if word != AUTO:
            raise ModelError(f"cannot run on {word} ({first_line(error)}). {_instead(on_ray).capitalize()}.") from error
        return model
    if not started and word != AUTO:
        raise ModelError(
            f"cannot run on {word}: onnxruntime has {provider} but could not start it. Check driver and libraries, or "
            f"{_instead(on_ray)}."
        )
    return replace(model, session=session, device=wanted[0]) if started else model


def _instead(on_ray: bool) -> str:
    return ON_RAY if on_ray else "say --device cpu"


def _missing(runtime: str, word: str, there: list[str], cure: str, *, on_ray: bool) -> ModelError:
    """A runtime does not have a device: which it has, and what to do."""
    if on_ray:
        return ModelError(f"was given a GPU that {runtime} cannot use here. {cure} on the nodes, or {ON_RAY}.")
    return ModelError(f"cannot run on {word}: {runtime} has {' and '.join(there)} here. {cure}, or say --device cpu.")
