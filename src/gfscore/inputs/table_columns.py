"""What the columns of a table are: labels, ids, groups, classes, or none of these.

What may be read in two ways is refused, with the option that says which is meant; what is no class is named, and left
out once that is said.
"""

import difflib
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gfscore.errors import FileError, OptionError
from gfscore.inputs.stray_columns import BOOKKEEPING, LABEL, LABEL_NAMES, plain_name, refuse_columns
from gfscore.names import listing, name_texts, shorten
from gfscore.words import Word

SAMPLE_ID, GROUP = "sample_id", "group"
CLASS_PREFIX = re.compile(r"(logit|prob)(?:s|a|ability|abilities)?[_ .:-]+(.+)", re.IGNORECASE)
ONE_HOT_PREFIX = re.compile(
    r"(y_true|true_label|true_class|label|labels|targets?|ground_truth|gt|one_?hot|true|y)[_ .:-]+(.+)", re.IGNORECASE
)
PANDAS_INDEX = re.compile(r"|__index_level_\d+__|Unnamed: \d+.*")  # what pandas calls an index; or a column of no name


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingWords:
    """What is said of logits files beside what they hold."""

    label_column: Annotated[
        str | None,
        Word(metavar="NAME", help="Column of the true classes in a table.  [default: label, y, y_true, target, ...]"),
    ] = None
    ignore_columns: Annotated[
        Any,
        Word(
            kind=list[str] | None,
            metavar="NAME",
            help="A column of a table that is no class; several with commas, or by saying it several times.  "
            "[default: none]",
        ),
    ] = None
    labels_from: Annotated[
        int | None, Word(metavar="N", help="The number that labels have for the first class, such as 1.  [default: 0]")
    ] = None

    label_names: Annotated[
        Any,
        Word(
            kind=Path | None,
            help="Names of the classes in the order that the labels number them, where the model has another order: as "
            "--class-names, which then says that of the model.  [default: one order]",
        ),
    ] = None

    def indices(self, labels: NDArray[Any], class_names: Sequence[str] | None) -> NDArray[Any]:
        """Labels that are numbers as indices of the classes; what is no number is left for a check that says so."""
        if labels.ndim != 1 or labels.dtype.kind not in "iuf":
            return labels
        if self.labels_from is not None:
            labels = labels.astype(np.int64 if labels.dtype.kind in "iu" else labels.dtype) - self.labels_from
        return labels if self.label_names is None else self._in_order(labels, class_names)

    def _in_order(self, labels: NDArray[Any], class_names: Sequence[str] | None) -> NDArray[Any]:
        """Labels that number their own list of names, as indices of the classes of these names."""
        from gfscore.inputs.small_files import read_class_names  # which reads tables, and so imports this module

        given = read_class_names(self.label_names) if isinstance(self.label_names, Path) else self.label_names
        if class_names is None:
            raise OptionError("--label-names needs the names of the classes in the order of the model: --class-names.")
        names, place_of = name_texts(given), {name: place for place, name in enumerate(class_names)}
        for name in names:
            if name not in place_of:
                raise OptionError(
                    f"label name {shorten(name)} is no class; these are {listing(list(class_names))}. Give the same "
                    "names in another order."
                )
        outside = ~((labels >= 0) & (labels < len(names)) & (labels == np.rint(labels)))
        if outside.any():
            row = int(np.argmax(outside))
            raise OptionError(f"label {labels[row]:g} in row {row} is none of the {len(names)} of --label-names.")
        return np.array([place_of[name] for name in names], dtype=np.int64)[labels.astype(np.int64)]

    def refuse(self, what: str, *, labels_too: bool = False) -> None:
        """Refuse what is said of columns where there are none, and of labels where these are not read from a file."""
        said = {"label_column": self.label_column, "ignore_columns": self.ignore_columns}
        if labels_too:
            said |= {"labels_from": self.labels_from, "label_names": self.label_names}
        for name in (name for name, value in said.items() if value is not None):
            where = "logits files" if name.startswith(("labels", "label_names")) else "tables (.csv, .tsv or .parquet)"
            raise OptionError(f"--{name.replace('_', '-')} is about {where}, and {what}. Leave it out.")

    def ignored(self, header: Sequence[str]) -> set[str]:
        """The columns that are to be left out; refused where there is no such column."""
        given = [self.ignore_columns] if isinstance(self.ignore_columns, str) else list(self.ignore_columns or ())
        names = [name for text in given for name in ([text] if text in header else map(str.strip, text.split(",")))]
        for name in names:
            if name not in header:
                raise OptionError(f"has no column {shorten(name)} to ignore{_nearest(name, header)}")
        return set(names)


NOTHING_SAID = ReadingWords()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a reader of logits files is told."""

    probabilities: bool = False  # the file may hold probabilities
    class_names: Sequence[str] | None = None  # which columns are classes, and their names
    piece: bool = False  # one of several files of a model
    words: ReadingWords = NOTHING_SAID


class Columns(NamedTuple):
    """What the columns of a table are, by their places."""

    label: int | None = None  # None where labels are one-hot
    one_hot: tuple[int, ...] = ()  # a column for each class
    places: tuple[int, ...] = ()  # of the classes
    names: tuple[str, ...] = ()  # of the classes
    written: tuple[str, ...] = ()  # how the table calls them, with their prefix
    texts: Mapping[str, int] = {}  # sample_id and group, where they are
    left_out: tuple[str, ...] = ()
    given: bool = False  # somebody named the columns that are classes
    renamed: bool = False  # somebody named the classes otherwise than the columns are called


def find_columns(header: Sequence[str], how: Reading, index: Sequence[str] = ()) -> Columns:
    """Tell the columns of a table apart by their names; ``index`` are those that pandas notes as such."""
    ignored = how.words.ignored(header)
    kept = {name: place for place, name in reversed(list(enumerate(header))) if name not in ignored}
    label = _label_column(kept, how, header)
    texts = {name: kept[name] for name in (SAMPLE_ID, GROUP) if name in kept and name != label}
    noted = set(index) - {label}
    indices = {name for name in kept if PANDAS_INDEX.fullmatch(name) or name in noted}
    known = {label, *texts, *indices}
    others = [name for name in header if name in kept and name not in known]
    one_hot = {} if label is not None else _one_hot_group(others, header)
    truths = set(one_hot.values())
    classes = _classes([name for name in others if name not in truths], how)
    used = {*classes.values(), *truths, *texts, label}
    for name, times in Counter(header).items():
        if times > 1 and name in used:
            raise FileError(f"has the column {shorten(name)} twice. Make the names unique.")
    if one_hot:
        _refuse_unmatched(one_hot, classes)
    left_out = [name for name in header if name in kept and name not in used]
    wanted = set(how.class_names or ())
    return Columns(
        label=None if label is None else kept[label],
        one_hot=tuple(kept[one_hot[name]] for name in classes if one_hot),
        places=tuple(kept[name] for name in classes.values()),
        names=tuple(classes),
        written=tuple(classes.values()),
        texts=texts,
        left_out=tuple(dict.fromkeys(left_out)),
        given=bool(wanted) and wanted == set(classes),
        renamed=bool(wanted) and wanted != set(classes),
    )


def _label_column(kept: Mapping[str, int], how: Reading, header: Sequence[str]) -> str | None:
    """The column of the true classes; None where there is none, and labels may be one-hot."""
    said = how.words.label_column
    if said is not None:
        if said not in kept:
            raise OptionError(f"has no column {shorten(said)} for --label-column{_nearest(said, header)}")
        return said
    if LABEL in kept:
        return LABEL
    classes = set(how.class_names or ())
    for wanted in ((LABEL,), LABEL_NAMES):
        found = [name for name in kept if plain_name(name) in wanted and name not in classes]
        if len(found) > 1:
            found.sort(key=header.index)
            raise FileError(
                f"has several columns that may hold the labels, {listing(found)}. Say which with --label-column "
                f"{shlex.quote(found[0])}, and leave the others out with --ignore-columns."
            )
        if found:
            return found[0]
    return None


def _one_hot_group(others: Sequence[str], header: Sequence[str]) -> dict[str, str]:
    """Columns of one-hot labels by the name of their class: a prefix such as ``label_`` that several share."""
    groups: dict[str, dict[str, str]] = {}
    for name in others:
        if (found := ONE_HOT_PREFIX.fullmatch(name)) and plain_name(name) not in BOOKKEEPING:
            groups.setdefault(found[1].casefold(), {})[found[2]] = name
    groups = {prefix: members for prefix, members in groups.items() if len(members) > 1}
    if len(groups) != 1 and all(_is_number(name) for name in header):
        raise FileError(
            "begins with a line of numbers, where the names of the columns should be. Write them above it, such as "
            "label,cat,dog."
        )
    if len(groups) != 1:
        raise FileError(
            f"has no column 'label'; it has {listing([name for name in header if name.strip()] or header)}. Say which "
            "column holds the true classes with --label-column, or call it 'label'."
        )
    return next(iter(groups.values()))


def _classes(others: Sequence[str], how: Reading) -> dict[str, str]:
    """The class columns by the names of their classes: those that are named, else those of one prefix, else all."""
    groups: dict[str, dict[str, str]] = {}
    for name in others:
        if found := CLASS_PREFIX.fullmatch(name):
            groups.setdefault(found[1].casefold(), {})[found[2]] = name
    groups = {kind: members for kind, members in groups.items() if len(members) > 1}
    order = ("prob", "logit") if how.probabilities else ("logit", "prob")
    wanted = set(how.class_names or ())
    choices = [*(groups[kind] for kind in order if kind in groups), {name: name for name in others}]
    for members in choices:
        if wanted and wanted <= set(members):
            return {name: written for name, written in members.items() if name in wanted}
    if len(choices) == 1:
        return choices[0]
    in_groups = {written for members in groups.values() for written in members.values()}
    strangers = {
        name: "has not the prefix of the others" for name in others if name not in in_groups and name not in wanted
    }
    if strangers:
        refuse_columns(strangers)
    return choices[0]


def _refuse_unmatched(one_hot: Mapping[str, str], classes: Mapping[str, str]) -> None:
    """Refuse one-hot labels that are not of the classes."""
    if strangers := {name: "no one-hot column is of it" for key, name in classes.items() if key not in one_hot}:
        refuse_columns(strangers)
    if lost := [name for key, name in one_hot.items() if key not in classes]:
        raise FileError(
            f"has one-hot labels {listing(lost)} of classes that have no column of logits; these are "
            f"{listing(list(classes))}. Call both alike, or give one column 'label'."
        )


def one_hot_labels(values: NDArray[Any], place: str, first: int) -> NDArray[np.int64]:
    """The class of each row of one-hot labels; refused where it is not one."""
    wrong = ((values != 0) & (values != 1)).any(axis=1) | (values.sum(axis=1) != 1)
    if wrong.any():
        raise FileError(
            f"{place} {first + int(np.argmax(wrong))} has one-hot labels that are not one 1 among zeros. Name one "
            "class for every sample."
        )
    return np.asarray(values.argmax(axis=1), dtype=np.int64)


def _nearest(name: str, header: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, header, n=1)
    return f"; it has {listing(header)}." + (f" Did you mean {shorten(close[0])}?" if close else "")


def is_plain(text: str) -> bool:
    """Whether a number could be written like this in a table; Python reads 1_000 and digits of other scripts too.

    >>> is_plain("-1.5e3"), is_plain("1_000"), is_plain("\u0661\u0662")
    (True, False, False)
    """
    return text.isascii() and "_" not in text


def _is_number(text: str) -> bool:
    if not is_plain(text):
        return False
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True
