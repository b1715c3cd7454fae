"""What is looked at before anything is scored: the mistakes that make a robustness number meaningless."""

import numpy as np

from gfscore.arrays import FloatArray
from gfscore.errors import InvalidInputError, ModelError
from gfscore.inputs.protocols import Model

ROWS = 12  # rows tried in another batch and order
TOLERANCE = 1e-4  # of the largest logit, or of 1


class BatchDependenceError(InvalidInputError):
    """The same image gives other logits in another batch."""


class ClassCountError(InvalidInputError):
    """Model and data do not agree on the number of classes."""


def check_batch_independence(model: Model, inputs: FloatArray) -> FloatArray:
    """Refuse a model whose logits for an image depend on the images beside it, as with batch norm in train mode.

    Returns the logits of the first images, (n, K).
    """
    rows = inputs[:ROWS]
    together = in_one_batch(model, rows)
    apart = _in_batches(model, rows[::-1], max(1, len(rows) // 3))[::-1]
    if not np.isfinite(together).all():
        raise ModelError("gives logits that are not finite for the first images. Look for an overflow in it.").found_in(
            model.name
        )
    scale = max(1.0, float(np.abs(together).max()))
    difference = float(np.abs(together - apart).max())
    if not difference <= TOLERANCE * scale:  # also when it is NaN, in the other batch
        raise BatchDependenceError(
            f"{model.name} gives other logits when the same images come in another batch (difference "
            f"{difference:.2g}). Put it in evaluation mode: model.eval()."
        )
    return together


def in_one_batch(model: Model, inputs: FloatArray) -> FloatArray:
    """Logits of a few inputs, together where the model takes any batch."""
    return _in_batches(model, inputs, len(inputs))


def _in_batches(model: Model, rows: FloatArray, size: int) -> FloatArray:
    size = model.fixed_batch or size
    parts = [model(np.ascontiguousarray(rows[start : start + size])) for start in range(0, len(rows), size)]
    return np.concatenate(parts)


def check_class_count(model: Model, n_classes: int, class_names: tuple[str, ...] | None, highest_label: int) -> None:
    """Refuse a model that does not have the classes of the data."""
    if class_names is not None and len(class_names) != n_classes:
        raise ClassCountError(
            f"{model.name} gives {n_classes:,} logits but the data names {len(class_names):,} classes. "
            "Use the data set the model was trained for, or give --class-names."
        )
    if highest_label >= n_classes:
        raise ClassCountError(
            f"{model.name} gives {n_classes:,} logits but the data has label {highest_label:,}. "
            "Use the data set the model was trained for."
        )
