"""Samples from whatever a test has at hand: logits, a function, a torch module, or the specs of the command line."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import OptionError, naming
from gfscore.inputs.data import load_data
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models import CallableModel, load_model, wrap_module
from gfscore.inputs.models.forward_passes import check_batch_independence
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Model
from gfscore.measures import Run
from gfscore.measures.logits import SHARD_ROWS, forward_rows
from gfscore.measures.run import DEFAULT_BATCH
from gfscore.results import RunInfo
from gfscore.samples import Samples

Subject = Samples | str | Path | Callable[[Any], Any] | ArrayLike
Data = str | Path | tuple[ArrayLike, ArrayLike] | ArrayLike | None


def samples_of(
    model: Subject,
    data: Data = None,
    *,
    class_names: Sequence[str] | None = None,
    probabilities: bool = False,
    preprocessing: Preprocessing | None = None,
    batch_size: int = DEFAULT_BATCH,
    name: str = "model",
) -> Samples:
    """What a model says about data.

    - ``samples_of(samples)`` or ``samples_of("logits.npz")``: what it has said already
    - ``samples_of(logits, labels)``: (N, K) and (N,)
    - ``samples_of(model, (inputs, labels))``: a function, a torch module or a model spec, on arrays as it takes them
    - ``samples_of(model, "zoo:digits")``: the same on a data spec, with ``preprocessing``

    >>> samples_of(lambda inputs: inputs @ np.eye(2), ([[3.0, 0.0], [1.0, 4.0]], [0, 1])).logits
    array([[3., 0.],
           [1., 4.]], dtype=float32)
    """
    samples, _ = samples_and_run(
        model,
        data,
        class_names=class_names,
        probabilities=probabilities,
        preprocessing=preprocessing,
        batch_size=batch_size,
        name=name,
    )
    return samples


def samples_and_run(
    model: Subject,
    data: Data = None,
    *,
    class_names: Sequence[str] | None = None,
    probabilities: bool = False,
    preprocessing: Preprocessing | None = None,
    batch_size: int = DEFAULT_BATCH,
    name: str = "model",
) -> tuple[Samples, RunInfo | None]:
    """What :func:`samples_of` returns, and what decided it where a model was run on a data spec; else None."""
    if isinstance(model, Samples):
        return model, None
    if data is None and isinstance(model, str | Path):
        return read_samples(model, probabilities=probabilities, class_names=class_names), None
    if data is None:
        raise OptionError(f"{name} comes without data. Give (inputs, labels), a data spec, or the labels of logits.")
    if not (callable(model) or isinstance(model, str | Path)):
        labels = _array(_labels(data))
        return Samples.of(_array(model), labels, class_names=class_names, probabilities=probabilities), None
    runnable = _model(model, name)
    if isinstance(data, str | Path):
        used = preprocessing or Preprocessing.from_options(**getattr(runnable, "suggested_preprocessing", None) or {})
        dataset = load_data(data, preprocessing=used, class_names=class_names)
        run = Run(model=runnable, data=dataset, preprocessing=used, batch_size=batch_size)
        return _samples_of_run(run, probabilities=probabilities), run.about
    inputs, labels = _pair(data)
    logits = _on_arrays(runnable, inputs, batch_size)
    return Samples.of(logits, labels, class_names=class_names, probabilities=probabilities), None


def _model(model: Any, name: str) -> Model:
    if isinstance(model, str | Path):
        return load_model(model)
    torch = sys.modules.get("torch")  # whoever has a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        return wrap_module(model, name=name)
    return CallableModel(model, name=name)


def _samples_of_run(run: Run, *, probabilities: bool) -> Samples:
    run.check()
    rows = np.arange(run.n_samples)
    parts = [
        forward_rows(run, rows[start : start + SHARD_ROWS])
        for start in range(0, len(rows), SHARD_ROWS)  # so that not all images are in memory at once
    ]
    run.refuse_changed()
    return Samples.of(
        np.concatenate(parts),
        run.data.labels,
        class_names=run.data.class_names,
        probabilities=probabilities,
        halved_batches=run.notes.take(),
    )


def _on_arrays(model: Model, inputs: NDArray[Any], batch_size: int) -> FloatArray:
    if inputs.dtype.kind in "iub" and not isinstance(model, CallableModel):
        raise OptionError(
            f"{model.name} takes floats and was given {inputs.dtype}. Scale the inputs as in training: / 255."
        )
    check_batch_independence(model, inputs)
    step = model.fixed_batch or batch_size
    return np.concatenate([model(inputs[start : start + step]) for start in range(0, len(inputs), step)])


def _pair(data: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if not (isinstance(data, tuple | list) and len(data) == 2):
        raise OptionError("data must be a pair (inputs, labels), or a data spec such as 'test.npz'.")
    inputs, labels = _array(data[0]), _array(data[1])
    if inputs.ndim == 0 or len(inputs) == 0:
        raise OptionError("data holds no input. Give at least one of each of two classes.")
    return (inputs.astype(np.float32) if inputs.dtype.kind == "f" else inputs), labels


def _labels(data: Any) -> Any:
    if isinstance(data, str | Path):
        with naming(data):
            raise OptionError("is a data spec, but the model is logits. Give their labels.")
    return data


def _array(values: Any) -> NDArray[Any]:
    """A tensor or anything like an array."""
    return np.asarray(values.detach().cpu().numpy() if hasattr(values, "detach") else values)
