"""Models of every kind behind one call; each runtime is imported only when a model needs it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any, Literal

from gfscore import zoo
from gfscore.arrays import FloatArray
from gfscore.errors import FileError, OptionError, naming
from gfscore.inputs.models.forward_passes import run_batch
from gfscore.inputs.models.torch_model import PROGRAMS, TorchModel, load_factory, load_program, wrap_module
from gfscore.inputs.protocols import Layout, Model, SuggestedPreprocessing
from gfscore.names import listing
from gfscore.storage import is_address, refuse_unreadable, to_read

__all__ = ["CallableModel", "SuggestedPreprocessing", "TorchModel", "load_model", "wrap_module"]

KINDS = ("torch", "timm", "hf", "robustbench", "zoo")
Format = Literal["onnx", "torchscript", "pt2"]
FORMATS: tuple[Format, ...] = ("onnx", "torchscript", "pt2")
ENDINGS: dict[str, Format] = {".onnx": "onnx", ".pt2": "pt2", ".ts": "torchscript", ".torchscript": "torchscript"}
AMBIGUOUS = (".pt", ".pth", ".bin", ".ckpt")  # TorchScript or weights without an architecture


@dataclass(frozen=True, slots=True, eq=False)
class CallableModel:
    """A function from float32 inputs (n, ...) to logits (n, K).

    Without a ``fingerprint`` (any string that changes whenever the function does) its logits cannot be kept for a
    later run, because nothing else would tell that it has changed.

    >>> import numpy as np
    >>> model = CallableModel(lambda images: images.mean(axis=(2, 3)) @ np.eye(3), name="mean colour")
    >>> model(np.ones((2, 3, 8, 8), dtype=np.float32))
    array([[1., 1., 1.],
           [1., 1., 1.]], dtype=float32)
    """

    function: Callable[[Any], Any]
    name: str
    fingerprint: str | None = None
    layout: Layout = "NCHW"
    fixed_batch: int | None = None
    suggested_preprocessing: SuggestedPreprocessing | None = None

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits (n, K) of a batch."""
        return run_batch(self, inputs, self.function)


def load_model(
    spec: str | Path,
    *,
    trust: bool = False,
    output: str | int | None = None,
    format: str | None = None,  # noqa: A002 (the name of the option)
    model_dir: Path | None = None,
    layout: Layout | None = None,
    name: str | None = None,
    threads: int | None = None,
) -> Model:
    """The model that ``spec`` names.

    - ``net.onnx``: an ONNX graph; this and any other file may stand at an address, ``s3://bucket/net.onnx``
    - ``net.pt2``, ``net.torchscript``: torch.export and TorchScript; both hold code and need ``trust``
    - ``torch:package.module:factory``: what your own function returns
    - ``timm:NAME``: a timm model; ``timm:NAME?checkpoint=FILE`` takes weights from a file
    - ``hf:ORG/NAME``, ``hf:./folder``: an image classifier of transformers
    - ``robustbench:DATASET/THREAT/NAME``: a RobustBench model, kept in ``model_dir``
    - ``zoo:NAME``: an embedded model

    ``output`` names the logits (or gives their position) when a model has several outputs, ``format`` says what a file
    is when its ending does not, ``layout`` is the order of the axes when it is not found out, and ``threads`` is how
    many an ONNX graph may use.
    """
    kind, target = _parse(str(spec))
    as_torch: dict[str, Any] = {"name": name, "output": output, "layout": layout or "NCHW"}
    match kind:
        case "torch":
            return load_factory(target, **as_torch)
        case "timm":
            from gfscore.inputs.models.hubs import load_timm

            return load_timm(target, name=name)
        case "hf":
            from gfscore.inputs.models.hubs import load_hf

            return load_hf(str(to_read(target, folder=True)) if is_address(target) else target, name=name)
        case "robustbench":
            from gfscore.inputs.models.hubs import load_robustbench

            return load_robustbench(target, model_dir=model_dir, name=name)
        case "zoo":
            from gfscore.inputs.models.onnx_model import load_onnx

            return load_onnx(_zoo_file(target), name=name or target, threads=threads)
    path = to_read(target)
    with naming(target):
        refuse_unreadable(path)
    form = _format(path, format)
    if form == "onnx":
        from gfscore.inputs.models.onnx_model import load_onnx

        return load_onnx(path, name=name, output=output, layout=layout, threads=threads)
    if not trust:
        raise FileError(
            f"is {PROGRAMS[form][0]}, which can run code. Say --trust-model (trust=True) if you trust who made it, "
            "or give ONNX."
        ).found_in(path)
    return load_program(path, form, **as_torch)


def _parse(spec: str) -> tuple[str, str]:
    """Kind and target of a spec; the kind of a path is 'file'."""
    prefix, colon, target = spec.partition(":")
    if not spec:
        raise OptionError("the model is an empty text. Give a path or a spec such as timm:NAME.")
    has_drive = bool(PureWindowsPath(spec).drive)  # as in C:/nets/net.onnx: a letter is no kind
    if not colon or is_address(spec) or has_drive or (prefix not in KINDS and Path(spec).exists()):
        return "file", spec
    if prefix not in KINDS:
        kinds = ", ".join(f"{kind}:" for kind in KINDS)
        raise OptionError(f"model {spec!r} begins with no known kind. Give a path, or one of {kinds}.")
    if not target:
        raise OptionError(f"model {spec!r} names nothing. Write what follows {prefix}:, as in docs/models.md.")
    return prefix, target


def _format(path: Path, wanted: str | None) -> Format:
    for form in FORMATS:
        if wanted == form:
            return form
    if wanted is not None:
        raise OptionError(f"format {wanted!r} is not known. Choose {', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")
    ending = path.suffix.lower()
    if ending in ENDINGS:
        return ENDINGS[ending]
    if ending in AMBIGUOUS:
        raise FileError(
            f"has the ending {ending!r}, which does not say what it is. Say --model-format torchscript "
            "(format='torchscript') if it is that; weights alone need their network: torch:module:factory."
        ).found_in(path)
    raise FileError(
        f"has the ending {ending!r}. Models are .onnx, .pt2 or .torchscript; export others to ONNX."
    ).found_in(path)


def _zoo_file(name: str) -> Path:
    files = {model.name: model.path for model in zoo.models()}
    if name not in files:
        raise OptionError(f"model 'zoo:{name}' is not in the zoo. It has {listing(sorted(files), most=20)}.")
    return files[name]
