"""Arrays as the bytes of a safetensors file: the same arrays and texts give the same bytes."""

import json
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray
from safetensors.numpy import save

LENGTH_BYTES = 8  # a safetensors file begins with the length of its JSON header
METADATA = "__metadata__"


def array_bytes(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> bytes:
    """A safetensors file that holds these arrays, and these texts in the order of their names.

    The library writes the texts in an order of the moment, so that two runs of the same would differ.

    >>> import numpy as np
    >>> content = array_bytes({"x": np.zeros(1)}, {"b": "2", "a": "1"})
    >>> content[8:42], len(content)
    (b'{"__metadata__":{"a":"1","b":"2"},', 104)
    """
    written = save(dict(arrays), metadata=dict(metadata))
    length = int.from_bytes(written[:LENGTH_BYTES], "little")
    header = json.loads(written[LENGTH_BYTES : LENGTH_BYTES + length])
    header[METADATA] = dict(sorted(metadata.items()))
    return begin_file(header) + written[LENGTH_BYTES + length :]


def begin_file(header: Mapping[str, Any]) -> bytes:
    """What stands before the numbers: the length of the header and the header, filled up with blanks."""
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # aligned, as the format asks
    return len(text).to_bytes(LENGTH_BYTES, "little") + text
