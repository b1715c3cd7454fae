"""Images on their way to a model: read a bounded number at a time, and every one held against its range."""

from typing import Any

from numpy.typing import NDArray

from gfscore.arrays import IntArray
from gfscore.errors import naming
from gfscore.inputs.data import take
from gfscore.inputs.preprocessing import Pixels, Preprocessing
from gfscore.inputs.protocols import Dataset, Model

READ_ROWS = 256  # images that are read and preprocessed together, unless they are large
READ_BYTES = 1 << 28  # that these take at most as floats, unless one alone takes more


def rows_together(data: Dataset, wanted: int = READ_ROWS) -> int:
    """How many images may be in memory at once: as many as are wanted, unless they are large.

    Only the first is looked at: all images of a data set have one size.
    """
    values = data.images(slice(0, 1)).size
    return max(1, min(wanted, READ_BYTES // (4 * values)))


def read_images(data: Dataset, preprocessing: Preprocessing, rows: slice | IntArray) -> NDArray[Any]:
    """Images of some rows as they are stored; refused, with the rows, when values are outside their range."""
    images = data.images(rows) if isinstance(rows, slice) else take(data, rows)
    numbers = range(*rows.indices(len(data.labels))) if isinstance(rows, slice) else rows
    preprocessing.check_rows(images, numbers)
    return images


def read_inputs(model: Model, data: Dataset, preprocessing: Preprocessing, rows: slice | IntArray) -> Pixels:
    """Inputs of the model for some rows."""
    with naming(data.source):
        return preprocessing.apply(read_images(data, preprocessing, rows), data.layout, model.layout)
