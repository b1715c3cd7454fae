"""Arrays and names as callers hand them over, checked: a name can be shown and saved, and is nobody else's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.errors import OptionError, SamplesError, first_few, first_line

LONGEST_NAME = 4096  # characters: more is no name, and would be repeated in every table and message


def as_array(values: Any, what: str, dtype: type | None = None) -> NDArray[Any]:
    """Values as an array; what they are is for the message when they cannot be one.

    Tensors (of any device, with gradients, of 16 bits), data frames and lists of these are read too.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise SamplesError(f"{what} are a masked array, and a mask means nothing here. Drop what is masked.")
    try:
        return np.asanyarray(values if dtype is not None else _plain(values), dtype=dtype)  # a memory map stays one
    except Exception as error:  # ragged lists; whatever a class of somebody else raises when it is asked for an array
        raise SamplesError(
            f"{what} cannot be read as an array ({first_line(error)}). Give a NumPy array or equal lists."
        ) from error


def _plain(values: Any) -> Any:
    """What NumPy reads without help: tensors and tables as arrays of numbers, anything else as it is."""
    if hasattr(values, "detach") and hasattr(values, "cpu"):  # a tensor of torch, without a need to import it
        tensor = values.detach().cpu()
        try:
            return tensor.numpy()
        except (TypeError, RuntimeError):  # bfloat16, which NumPy has not; or a sparse one
            return (tensor.to_dense() if tensor.is_sparse else tensor).float().numpy()
    if isinstance(values, list | tuple) and any(hasattr(each, "detach") for each in values):
        return [_plain(each) for each in values]
    found = values.to_numpy() if hasattr(values, "to_numpy") else values
    if hasattr(found, "__array__") and not isinstance(found, np.ndarray):
        found = np.asarray(found)
    if not isinstance(found, np.ndarray):
        return found
    if found.dtype.kind == "V" and "float" in found.dtype.name:  # of the package ml_dtypes, as JAX has them
        return found.astype(np.float32)
    if found is not values and found.dtype.kind == "O":  # columns of pandas that can hold nothing, or of several types
        return np.array(found.tolist())
    return found


def name_texts(names: Sequence[object]) -> list[str]:
    """Names of classes as text, in the order they were given: what has no order, or is no name, is refused."""
    if isinstance(names, str | bytes):
        raise OptionError(f"class names are one string, {shorten(names)}. Give a list of names.")
    if not isinstance(names, Sequence) and not hasattr(names, "__array__"):  # a set has the order of its hashes
        raise OptionError(f"class names are a {type(names).__name__}, which has no fixed order. Give a list.")
    texts = []
    for index, name in enumerate(names):
        whole = isinstance(name, str | bytes | int | np.integer | np.bool_)
        if not whole and not (isinstance(name, float | np.floating) and np.isfinite(name)):
            raise SamplesError(f"class name of class {index} is {name!r}, which is no name. Give every class one.")
        texts.append(_text(name, f"class name of class {index}"))
    return texts


def check_class_names(names: Sequence[str] | None, n_classes: int) -> tuple[str, ...]:
    """A name per class, all different; their numbers where there are none."""
    if names is None:
        return tuple(str(index) for index in range(n_classes))
    checked = tuple(name_texts(names))
    if len(checked) != n_classes:
        raise SamplesError(f"there are {len(checked)} class names for {n_classes} classes. Give one name per column.")
    _refuse_empty_or_repeated(checked, "class name", "class")
    return checked


def check_ids(ids: Sequence[object] | NDArray[Any], n_samples: int) -> tuple[str, ...]:
    """A name per sample, all different."""
    checked = tuple(names_per_sample(ids, n_samples, "sample ids"))
    _refuse_empty_or_repeated(checked, "sample id", "row")
    return checked


def names_per_sample(values: ArrayLike | Sequence[object], n_samples: int, what: str) -> list[str]:
    """A name per sample, as text; ``what`` they are is for messages."""
    # names of a list stay objects: an array of text makes every name as wide as the longest
    array = as_array(values, what, dtype=None if isinstance(values, np.ndarray) else object)
    if array.shape != (n_samples,):
        raise SamplesError(f"{what} have shape {array.shape} for {n_samples} samples. Give one per sample.")
    if array.dtype.kind not in "iubUSO":
        raise SamplesError(f"{what} have type {array.dtype}; they must be names or whole numbers.")
    try:
        entries = array.tolist()
    except SystemError as error:  # numbers that are no characters, in a damaged file
        raise SamplesError(f"{what} hold characters that do not exist. The file is damaged: save it again.") from error
    names = []
    for row, value in enumerate(entries):
        if not isinstance(value, str | bytes | int | np.integer):  # None and NaN: how tables say "missing"
            raise SamplesError(f"{what} hold {value!r} in row {row}, which is no name. Give every sample one.")
        name = _text(value, f"{what}: row {row}")
        if not name.strip():
            raise SamplesError(f"{what} have an empty name in row {row}. Give every sample one.")
        names.append(name)
    return names


def _text(value: object, where: str) -> str:
    """A name as text that can be shown and saved."""
    try:
        text = value.decode() if isinstance(value, bytes) else str(value)
        text.encode()  # half of a surrogate pair is no text
    except UnicodeError as error:
        shown = shorten(value) if isinstance(value, str | bytes) else repr(value)
        raise SamplesError(f"{where} holds {shown}, which is no UTF-8 text. Save the names as UTF-8.") from error
    if len(text) > LONGEST_NAME:
        raise SamplesError(f"{where} has {len(text):,} characters. Give names of at most {LONGEST_NAME:,}.")
    return text


def _refuse_empty_or_repeated(names: tuple[str, ...], what: str, place: str) -> None:
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if not name.strip():
            raise SamplesError(f"{what} of {place} {index} is empty. Give every {place} a name.")
        if name in seen:
            raise SamplesError(
                f"{what} {shorten(name)} stands at {place} {seen[name]} and again at {place} {index}. Make them unique."
            )
        seen[name] = index


def shorten(name: str | bytes, most: int = 80) -> str:
    """A name for a message, in quotes, and only its beginning if it is long.

    >>> shorten("cat"), shorten("x" * 100, most=3)
    ("'cat'", "'xxx'... (100 characters)")
    """
    return repr(name) if len(name) <= most else f"{name[:most]!r}... ({len(name):,} characters)"


def listing(names: Sequence[str], most: int = 6) -> str:
    """Names for a message, not too many of them."""
    return first_few(list(map(shorten, names)), most) if names else "nothing"
