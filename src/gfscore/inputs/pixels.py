"""A model as a function of [0, 1] pixels, the unit of every radius: whatever moves pixels works on this."""

from dataclasses import dataclass, field

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.engines.batches import forward_batches
from gfscore.errors import naming
from gfscore.inputs.layouts import moved
from gfscore.inputs.preprocessing import Pixels, Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.inputs.reading import read_images


@dataclass(frozen=True, slots=True, kw_only=True)
class PixelModel:
    """Mean and std put in front of a model; pixels are in the model's own layout.

    >>> from gfscore.inputs.models.callable_model import CallableModel
    >>> flat = CallableModel(lambda inputs: inputs.reshape(len(inputs), -1), name="identity")
    >>> centred = PixelModel(model=flat, preprocessing=Preprocessing(mean=(0.5,), std=(0.5,)))
    >>> centred(np.array([0, 1], np.float32).reshape(1, 1, 1, 2))
    array([[-1.,  1.]], dtype=float32)
    """

    model: Model
    preprocessing: Preprocessing
    batch_size: int = 128
    halved: list[int] = field(
        default_factory=list, compare=False
    )  # batches that were halved, in each call that had any

    def __call__(self, pixels: Pixels) -> FloatArray:
        """Logits (n, K) of any number of images, in batches that the model takes."""
        inputs = self.preprocessing.normalise(pixels, self.model.layout)
        done = forward_batches(self.model, inputs, self.batch_size)
        if done.halved:
            self.halved.append(done.halved)
        return done.values

    def pixels(self, data: Dataset, rows: slice) -> Pixels:
        """Images of some rows as [0, 1] pixels."""
        with naming(data.source):
            unit = self.preprocessing.to_unit(read_images(data, self.preprocessing, rows))
        return np.ascontiguousarray(moved(unit, data.layout, self.model.layout))

    def rows(self, data: Dataset, rows: IntArray) -> Pixels:
        """Images of any rows, in any order."""
        return np.concatenate([self.pixels(data, slice(row, row + 1)) for row in rows.tolist()])
