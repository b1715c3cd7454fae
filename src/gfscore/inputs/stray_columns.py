"""Columns of a table that are no classes, told by what they are called and by what they hold."""

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError
from gfscore.names import listing, shorten

LABEL = "label"
LABEL_NAMES = (
    LABEL, "labels", "y", "y_true", "true_label", "true_class", "target", "targets", "ground_truth", "gt",
)  # fmt: skip  # of the column of true classes
BOOKKEEPING = {
    "id", "ids", "idx", "index", "row", "row_id", "image_id", "img_id", "file_id", "sample", "sample_id", "pred",
    "preds", "predicted", "prediction", "predicted_label", "predicted_class", "pred_label", "pred_class", "y_pred",
    "y_hat", "yhat", "true", "truth", "fold", "split", "confidence", "conf", "max_prob", "score", "correct",
    "is_correct", "loss", "entropy", "margin", "epoch", "seed", "time", "timestamp", "weight", "group",
    *LABEL_NAMES,
}  # fmt: skip  # what tables of predictions hold beside their classes
SAME_SUM = 0.5  # of the largest sum of a row: what rounding leaves the sums of probabilities apart at most
MANY_ROWS = 8  # in which a column is not whole, or equal to what others say, by chance
HALF_A_CENT = 0.005  # what rounding to two decimals moves a value by at most
FEW_ROWS = 4096  # that are looked at where one row in thousands could not be otherwise


def plain_name(name: str) -> str:
    """A name without what people write differently."""
    return re.sub(r"[ .-]+", "_", name.strip().casefold())


def refuse_strangers(
    names: Sequence[str],
    written: Sequence[str],
    logits: NDArray[Any],
    labels: NDArray[Any],
    named: Collection[str],
    *,
    piece: bool,
) -> None:
    """Refuse columns that are probably no classes, all at once; those that a label names are.

    ``written`` are the ``names`` as the table has them, perhaps with a prefix.

    Of a ``piece`` of a stream other labels may be in other pieces, so that a column is not judged by its own.
    """
    single_letters = sum(len(name) == 1 for name in names) > 2
    present = np.bincount(labels[(labels >= 0) & (labels < len(names))], minlength=len(names)) > 0
    reasons = _reasons(logits, present | piece)
    found = dict[str, str]()
    for column, name in enumerate(names):
        if name in named:
            continue
        if plain_name(name) in BOOKKEEPING and not (len(name) == 1 and single_letters):
            found[written[column]] = "called like bookkeeping"
        elif column in reasons:
            found[written[column]] = reasons[column]
    if found:
        refuse_columns(found)


def refuse_columns(reasons: Mapping[str, str]) -> NoReturn:
    """The refusal of columns that look like no classes, each with the reason."""
    many = len(reasons) > 1
    found = ", ".join(f"{shorten(name)} ({why})" for name, why in reasons.items())
    raise FileError(
        f"has {'columns' if many else 'a column'} {found} that {'look' if many else 'looks'} like no class. "
        f"{way_out(list(reasons))}"
    )


def refuse_unnamed(unnamed: Sequence[str]) -> NoReturn:
    """The refusal of columns that no label names."""
    many = len(unnamed) > 1
    raise FileError(
        f"has {'columns' if many else 'a column'} {listing(unnamed)} that no label names: "
        f"{'classes' if many else 'a class'} without a sample, or {'no classes' if many else 'no class'}. "
        f"{way_out(unnamed)}"
    )


def way_out(names: Sequence[str], most: int = 6) -> str:
    """What to do about columns that may be no classes."""
    short = len(names) <= most and not any("," in name for name in names)
    said = shlex.quote(",".join(names)) if short else "NAME"
    return f"Say --ignore-columns {said} to leave out what is no class, or name the classes with --class-names."


def _reasons(logits: NDArray[Any], present: NDArray[np.bool_]) -> dict[int, str]:
    """Why columns look like no classes, from what they hold; ``present`` are those that are the label of a row."""
    if len(logits) < MANY_ROWS or logits.shape[1] < 3 or logits.dtype.kind != "f" or not np.isfinite(logits).all():
        return {}
    found = dict.fromkeys(_whole_among_fractions(logits), "whole numbers among fractions: an id, or a prediction")
    few = logits[:FEW_ROWS]
    for column in _beside_probabilities(few):
        found.setdefault(column, "without it the rows sum to 1")
    for column in _confidences(few):
        found.setdefault(column, "the largest confidence of the others")
    taken = np.bincount(logits.argmax(axis=1), minlength=logits.shape[1])
    for column in np.flatnonzero((2 * taken > len(logits)) & ~present).tolist():
        found.setdefault(column, "the largest of most rows, and the label of none")
    return found


def _beside_probabilities(logits: NDArray[Any]) -> list[int]:
    """Columns without which all rows sum to 1, where they do not with them."""
    sums, allowed = logits.sum(axis=1, dtype=np.float64), max(0.01, HALF_A_CENT * logits.shape[1])
    if np.abs(sums - 1).max() <= allowed:
        return []
    without = np.abs(sums[:, None] - logits - 1).max(axis=0) <= allowed
    return np.flatnonzero(without).tolist()


def _confidences(logits: NDArray[Any]) -> list[int]:
    """Columns that repeat the largest of the other columns, or of their softmax."""
    highest = np.partition(logits, -2, axis=1)[:, -2:]
    others = np.where(logits == highest[:, 1:], highest[:, :1], highest[:, 1:])
    found = np.flatnonzero((logits == others).all(axis=0)).tolist()
    if len(found) > 1:  # columns that are all the same
        return []
    unit = np.flatnonzero(((logits >= 0) & (logits <= 1)).all(axis=0))
    if found or 2 * len(unit) >= logits.shape[1]:
        return found
    for column in unit.tolist():
        rest = np.delete(logits, column, axis=1).astype(np.float64)
        rest -= rest.max(axis=1, keepdims=True)
        if np.abs(1 / np.exp(rest).sum(axis=1) - logits[:, column]).max() <= HALF_A_CENT:
            return [column]
    return []


def _whole_among_fractions(logits: NDArray[Any]) -> list[int]:
    """Columns that hold whole numbers, not all the same, where most others do not.

    Rounded probabilities do in good faith: a class that is never near is 0 or 1 throughout. Their rows all sum to about
    the same, which an id or a prediction among them would spoil.
    """
    sums = logits.sum(axis=1, dtype=np.float64)
    if logits.min() >= 0 and np.ptp(sums) <= SAME_SUM * sums.max():
        return []
    fractions = (logits != np.rint(logits)).any(axis=0)
    if 2 * fractions.sum() < logits.shape[1]:
        return []
    whole = ~fractions & (logits != logits[0]).any(axis=0)
    return np.flatnonzero(whole).tolist()
