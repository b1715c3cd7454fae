"""Any Python function as a model: the way in for JAX, TensorFlow, scikit-learn or a remote service."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gfscore.arrays import FloatArray
from gfscore.errors import naming
from gfscore.inputs.models.batches import as_logits, padded
from gfscore.inputs.models.suggested import SuggestedPreprocessing
from gfscore.inputs.protocols import Layout


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
        with naming(self.name):
            batch = padded(inputs, self.fixed_batch)
            return as_logits(self.function(batch), len(batch))[: len(inputs)]
