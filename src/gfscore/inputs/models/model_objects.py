"""Models that Python holds: torch modules, sessions of onnxruntime, classifiers of scikit-learn, and functions."""

import copy
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gfscore.arrays import FloatArray
from gfscore.errors import ModelError, OptionError, SamplesError, first_line
from gfscore.inputs.models import AMBIGUOUS, ENDINGS, KINDS, CallableModel, wrap_module
from gfscore.inputs.models.devices import session_device
from gfscore.inputs.models.forward_passes import run_batch
from gfscore.inputs.protocols import Layout, Model
from gfscore.names import as_array

RESPONSES = ("decision_function", "predict_proba")  # of scikit-learn, the one that is preferred first
KINDS_OF_MODELS = (
    "a path or spec such as 'net.onnx' or 'timm:resnet18', a torch module, an onnxruntime session, a scikit-learn "
    "classifier, or a function of inputs"
)


def names_model(text: str | Path) -> bool:
    """Whether a text is what a model is called by: a kind and a name, or a file of a model.

    >>> [names_model(text) for text in ("zoo:trades", "s3://bucket/net.onnx", "logits.npz", "zoo:digits")]
    [True, True, False, False]
    """
    written = str(text)
    parts = {written, written.partition("?")[0]}  # behind which a spec says how its images are preprocessed
    kind, colon, name = written.partition(":")
    is_spec = bool(colon) and kind in KINDS and (kind, name) != ("zoo", "digits")  # which are data
    return is_spec or any(Path(part).suffix.lower() in (*ENDINGS, *AMBIGUOUS) for part in parts)


def is_model(given: Any) -> bool:
    """Whether something can only be meant as a model, or as several of them by name or in a list."""
    if isinstance(given, str | Path):
        return names_model(given)
    if isinstance(given, Mapping | list | tuple):
        several = list(given.values() if isinstance(given, Mapping) else given)
        return bool(several) and all(map(is_model, several))
    return is_session(given) or any(hasattr(given, name) for name in RESPONSES) or callable(given)


def open_object(model: Any, *, name: str, output: str | int | None = None) -> Model:
    """A model in memory, behind the call that all models have.

    A torch module runs in evaluation mode, on a copy if it is in training mode: the module itself is left as it is.
    """
    torch = sys.modules.get("torch")  # whoever has a module has imported it
    if torch is not None and isinstance(model, torch.nn.Module):
        return wrap_module(_evaluated(model, name), name=name, output=output)
    if isinstance(model, type):
        raise OptionError(f"the model is the class {model.__name__}. Give an instance: {model.__name__}(...).")
    if is_session(model):
        return _open_session(model, name, output)
    if any(hasattr(model, response) for response in RESPONSES):
        return Classifier(estimator=model, name=name)
    if not callable(model):
        raise OptionError(f"the model is {type(model).__name__}. Give {KINDS_OF_MODELS}.")
    return CallableModel(model, name=name)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Classifier:
    """A fitted classifier of scikit-learn: its decision function as logits, or else its probabilities.

    It is given rows as they came, and knows its classes by their labels.
    """

    estimator: Any
    name: str
    fingerprint: str | None = None
    layout: Layout = "NCHW"
    fixed_batch: int | None = None
    frame: Any = None  # a data frame, of which inputs are the numbers of rows

    @property
    def gives_probabilities(self) -> bool:
        """Whether its numbers are probabilities."""
        return not hasattr(self.estimator, RESPONSES[0])

    @property
    def classes(self) -> NDArray[Any]:
        """The labels of its classes, in the order of its outputs."""
        found = getattr(self.estimator, "classes_", None)
        if found is None:
            kind = type(self.estimator).__name__
            raise ModelError(f"{kind} has no classes yet. Call its fit first.").found_in(self.name)
        return np.asarray(found)

    def positions(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Labels as positions among its classes."""
        places = {label: place for place, label in enumerate(self.classes.tolist())}
        for row, label in enumerate(labels.tolist()):
            if label not in places:
                raise SamplesError(f"label {label!r} in row {row} is no class that {self.name} was fitted on.")
        return np.array([places[label] for label in labels.tolist()], dtype=np.int64)

    def __call__(self, inputs: FloatArray) -> FloatArray:
        """Logits or probabilities (n, K) of a batch."""
        return run_batch(self, inputs, self._respond)

    def _respond(self, batch: Any) -> Any:
        rows = batch.reshape(len(batch), -1) if self.frame is None else self.frame.iloc[batch]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            values = as_array(getattr(self.estimator, RESPONSES[self.gives_probabilities])(rows), "its outputs")
        if values.ndim == 1:  # of two classes it gives one column: the logit of the second against the first
            values = np.column_stack([np.zeros_like(values), values])
        if values.ndim == 2 and values.shape[1] != len(self.classes):
            raise ModelError(
                f"gives {values.shape[1]} columns for {len(self.classes)} classes. Set decision_function_shape='ovr'."
            )
        return values


def _evaluated(module: Any, name: str) -> Any:
    """The module, or a copy of it in evaluation mode where any part of it is in training mode."""
    if not any(part.training for part in module.modules()):
        return module
    try:
        return copy.deepcopy(module).eval()
    except Exception as error:  # a module may hold anything, and a device may have no room for two
        raise ModelError(
            f"is in training mode, and cannot be copied ({first_line(error)}). Call model.eval() before."
        ).found_in(name) from error


def is_session(model: Any) -> bool:
    """Whether this is a session of onnxruntime, or behaves as one."""
    return all(hasattr(model, name) for name in ("get_inputs", "get_outputs", "run")) and not isinstance(model, type)


def _open_session(session: Any, name: str, output: str | int | None) -> Model:
    """A session as it is; where its graph stands in a file, that file can also be asked for gradients."""
    from gfscore.inputs.models.onnx_model import FLOATS, chosen_output, declared_layout, load_onnx, only_input

    path = str(getattr(session, "_model_path", None) or "")
    if path and Path(path).is_file():
        opened = load_onnx(Path(path), name=name, output=output)
        return replace(opened, session=session, device=session_device(session))
    declared, chosen = only_input(session.get_inputs()), chosen_output(session.get_outputs(), output)
    batch, kind = (declared.shape[0] if declared.shape else None), FLOATS[declared.type]
    return CallableModel(
        lambda inputs: session.run([chosen.name], {declared.name: inputs.astype(kind, copy=False)})[0],
        name=name,
        fixed_batch=batch if isinstance(batch, int) and batch > 0 else None,
        layout=declared_layout(declared.shape),
    )
