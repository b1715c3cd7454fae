"""What was given to a job, word by word: values as the job takes them, and files that stand where they belong."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np
from safetensors import SafetensorError, safe_open

from gfscore.errors import FileError, MissingFileError, OptionError
from gfscore.inputs.array_files import PROBABILITY_KEYS, array_names, open_npz
from gfscore.inputs.models.model_objects import names_model
from gfscore.storage import all_to_read, expand_pattern, is_address, local_folder, to_write
from gfscore.words import Word

HERE = frozenset({"store", "model_dir"})  # folders that are never fetched
WRITTEN = frozenset({"out", "folder", "per_sample", "junit", "sarif", "summary"})
MAY_BE_FOLDERS = ("stream", "pieces")  # words that let LOGITS be a folder
FILES = ("logits", "inputs")  # what is judged, where no model is run
MODEL, DATA, LOGITS = "model", "images", "logits"  # what files are, by what they hold
SOMETHING = {MODEL: "NET", DATA: "IMAGES"}  # what is still to be given
DATA_KINDS = ("generator:", "zoo:digits")
TABLES = (".csv", ".tsv")  # which only logits are read from
NOTES = (".json", ".toml")  # results, policies: none of the three


def plain_value(name: str, value: Any, annotation: Any) -> Any:
    """A value of the kind that the command line would give: a choice, a list, a number of Python's own."""
    word, kinds = word_of(annotation), kinds_of(annotation)
    if word is None or value is None:
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if word.any_case:
        value = _small(value)
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            value = _small(value)
            if value not in tuple(kind):
                raise OptionError(f"{name} {value!r} is not a choice. Choose {' or '.join(kind)}.")
            return kind(value)
    if isinstance(value, str) and list[str] in kinds:
        return [value]
    if isinstance(value, str) and word.parse is not None:
        return word.parse(value)
    if get_args(annotation)[0] is not Any and not _fits(value, kinds):
        raise OptionError(f"{name} is {type(value).__name__}. Give {_meant(kinds)}.")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if word.least is not None and value < word.least:
            raise OptionError(f"{name} is {value:g}. Give at least {word.least:g}.")
        if word.most is not None and value > word.most:
            raise OptionError(f"{name} is {value:g}. Give at most {word.most:g}.")
    return value


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is of a kind that a parameter takes; only plain kinds are looked at."""
    if bool in kinds:
        return isinstance(value, bool)
    if float in kinds:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if int in kinds:
        return isinstance(value, int) and not isinstance(value, bool)
    if list[str] in kinds:
        return isinstance(value, Mapping | list | tuple | set | frozenset)
    if str in kinds:  # numbers, or a list of them, may stand for their text: mean, resize
        return isinstance(value, str | Path | int | float | list | tuple | np.ndarray)
    return True


def _meant(kinds: tuple[Any, ...]) -> str:
    words = {bool: "True or False", float: "a number", int: "a whole number", list[str]: "a list of texts", str: "text"}
    return next((text for kind, text in words.items() if kind in kinds), "something else")


def _small(value: Any) -> Any:
    """A name, or several, in small letters; anything else as it is."""
    if isinstance(value, list | tuple):
        return [_small(each) for each in value]
    return value.lower() if isinstance(value, str) and not isinstance(value, StrEnum) else value


def kinds_of(annotation: Any) -> tuple[Any, ...]:
    """The types that a parameter takes on the command line, one by one."""
    word = word_of(annotation)
    kind = get_args(annotation)[0] if word is not None and word.kind is None else getattr(word, "kind", annotation)
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def local_path(name: str, value: Any, values: Mapping[str, Any], *, several: bool = False) -> Any:
    """Paths of this disk for what was given to a parameter of a path, or of ``several``; anything else as it is."""
    if isinstance(value, str | Path):
        if name in WRITTEN:
            return to_write(value)
        if name in HERE:
            return local_folder(value, f"--{name.replace('_', '-')}")
    if isinstance(value, str) and names_model(value):
        return value  # whoever opens the model finds it, with what stands beside it
    folder = name == "paths" or any(values.get(word) for word in MAY_BE_FOLDERS)
    if isinstance(value, str | Path):
        return all_to_read([value], folder=folder)[0]
    if several and isinstance(value, list | tuple) and all(isinstance(each, str | Path) for each in value):
        return all_to_read([each for given in value for each in expand_pattern(str(given))], folder=folder)
    return value


def word_of(annotation: Any) -> Word | None:
    """How a parameter is said on the command line, if it can be."""
    found = [note for note in get_args(annotation)[1:] if isinstance(note, Word)]
    return found[0] if get_origin(annotation) is Annotated and found else None


def takes_path(annotation: Any) -> bool:
    """Whether a parameter takes a path, or several."""
    word = word_of(annotation)
    if word is not None and word.kind is not None:
        return takes_path(word.kind)
    return annotation is Path or any(map(takes_path, get_args(annotation)))


def takes_paths(annotation: Any) -> bool:
    """Whether a parameter takes several paths."""
    word = word_of(annotation)
    kind = annotation if word is None else word.kind or annotation
    return kind == list[Path] or any(map(takes_paths, get_args(kind)))


def kind_of(spec: str) -> str | None:
    """What a path or spec is, as far as its name or the names of its arrays tell; None where they do not.

    >>> [kind_of(spec) for spec in ("net.onnx", "timm:resnet18", "zoo:digits", "generator:gan.onnx", "logits.csv")]
    ['model', 'model', 'images', 'images', 'logits']
    """
    if spec.startswith(DATA_KINDS):
        return DATA
    if names_model(spec):
        return MODEL
    if is_address(spec):
        return None  # nothing is fetched for a hint
    path = Path(spec)
    if path.is_dir():
        return DATA
    from gfscore.inputs.data.image_arrays import IMAGES  # which takes a while to import, with all that reads images

    ending, names = path.suffix.lower(), set[str]()
    with suppress(FileError, SafetensorError, OSError, ValueError):  # whoever reads the file says what is wrong with it
        if ending == ".npz" and path.is_file():
            with open_npz(path) as archive:
                names = set(array_names(archive))
        elif ending == ".safetensors":
            with safe_open(path, framework="numpy") as file:
                names = set(file.keys())
    found = {LOGITS: ending in TABLES or names & set(PROBABILITY_KEYS), DATA: names & set(IMAGES)}
    kinds = [kind for kind, is_so in found.items() if is_so]
    return kinds[0] if len(kinds) == 1 else None  # a file of both may stand for either


def refuse_misplaced(job: str, given: Mapping[str, Any], words: Mapping[str, Word]) -> None:
    """Refuse a model, images or logits where another of them belongs, and say the options that were likely meant.

    ``given`` is what a job was called with, ``words`` is what it can be called with on the command line.
    """
    slots = {LOGITS: next((given[name] for name in FILES if name in given), None)}
    slots |= {MODEL: given.get("model"), DATA: given.get("data")}
    if not all(each is None or _are_texts(each) for each in slots.values()):
        return  # in memory: whoever takes it says what it should be
    specs = [(slot, spec) for slot, several in slots.items() for spec in _texts(several)]
    kinds = [kind_of(spec) for _, spec in specs]
    if any(slot == LOGITS and Path(spec).suffix.lower() in NOTES for slot, spec in specs):
        return
    files = [kind for (slot, _), kind in zip(specs, kinds, strict=True) if slot == LOGITS]
    if files and all(kind == MODEL for kind in files):  # a model may stand without its name, where its data come too
        beside = [given.get(name) for name in ("data", "labels", "policy")]
        if any(each is not None for each in beside):
            specs = [(MODEL if slot == LOGITS else slot, spec) for slot, spec in specs]
    folders = any(given.get(word) for word in ("stream", "pieces"))  # words that let logits be a folder
    lone = MODEL not in kinds
    wrong = [
        (slot, spec)
        for (slot, spec), kind in zip(specs, kinds, strict=True)
        if kind not in (None, slot) and not (slot == LOGITS and Path(spec).is_dir() and (folders or lone))
    ]
    if not wrong:
        return
    known = {spec: kind or (DATA if slot == LOGITS else slot) for (slot, spec), kind in zip(specs, kinds, strict=True)}
    told = ", and ".join(_tell(spec, kind) for (_, spec), kind in zip(specs, kinds, strict=True) if kind is not None)
    raise OptionError(f"{told}. {_advise(job, known, words)}")


def likely_options(specs: Iterable[str]) -> str | None:
    """What was likely meant by specs that a command takes only as --model and --data; None where nobody can tell."""
    known = {spec: kind_of(spec) or DATA for spec in specs}
    return f"Did you mean {_say(known, {})}?" if MODEL in known.values() else None


def _advise(job: str, known: Mapping[str, str], words: Mapping[str, Word]) -> str:
    logits = [spec for spec, kind in known.items() if kind == LOGITS]
    takes_logits = any(name in words for name in FILES)
    if "data" not in words:  # a job of logits alone
        how = _say({spec: kind for spec, kind in known.items() if kind != LOGITS}, {})
        return f"{job} takes logits files: gfscore logits {how} -o FILE.safetensors makes one."
    alone = f"gfscore {job} {' '.join(logits)}" if logits and takes_logits else ""
    if alone and len(logits) == len(known):
        return f"Did you mean {alone}?"
    before = f"gfscore {job} " if words["data"].is_argument else ""
    either = f"{alone}, or " if alone and DATA not in known.values() else ""
    return f"Did you mean {either}{before}{_say(known, words)}?"


def _say(known: Mapping[str, str], words: Mapping[str, Word]) -> str:
    """The options for a model and its images, with what is still to be given in capital letters."""
    found = list[str]()
    for kind, name in ((MODEL, "model"), (DATA, "data")):
        specs = [spec for spec, what in known.items() if what == kind] or [SOMETHING[kind]]
        option = "" if name in words and words[name].is_argument else f"--{name} "
        found += [f"{option}{spec}" for spec in specs]
    return " ".join(found)


def _tell(spec: str, kind: str) -> str:
    return f"{spec} {'is a model' if kind == MODEL else f'holds {kind}'}"


def _are_texts(given: Any) -> bool:
    several = given if isinstance(given, list | tuple) else [given]
    return all(isinstance(each, str | Path) for each in several)


def _texts(given: Any) -> Sequence[str]:
    if given is None:
        return ()
    return [str(each) for each in (given if isinstance(given, list | tuple) else [given])]


@contextmanager
def naming_option(
    given: Mapping[str, Any], words: Mapping[str, Word], config: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Let the error on a missing file say which option it was given to, or which word of a ``config`` names it.

    What is said without an option needs none, and an error that names the option already is left as it is.
    """
    try:
        yield
    except MissingFileError as error:
        found = [name for name in words if _names(given.get(name), error.source)]
        if len(found) == 1 and not words[found[0]].is_argument:
            error.said_by(config.get(found[0], option_name(found[0])))
        raise


def option_name(word: str) -> str:
    """How a word is written on the command line."""
    return f"--{word.strip('_').replace('_', '-')}"


def _names(given: Any, source: str | None) -> bool:
    """Whether a file is what was given: as a path, in a spec, or before its own words."""
    if source is None or given is None or not _are_texts(given):
        return False
    return any(
        source in (spec, str(Path(spec)), spec.partition("?")[0], spec.partition(":")[2]) for spec in _texts(given)
    )
