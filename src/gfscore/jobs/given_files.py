"""Files that were given to a job: whether each stands where it belongs, and which option a missing one came from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safetensors import SafetensorError, safe_open

from gfscore.errors import FileError, MissingFileError, OptionError
from gfscore.inputs.array_files import PROBABILITY_KEYS, array_names, open_npz
from gfscore.inputs.models.model_objects import names_model
from gfscore.storage import is_address
from gfscore.words import Word

FILES = ("logits", "inputs")  # what is judged, where no model is run
MODEL, DATA, LOGITS = "model", "images", "logits"  # what files are, by what they hold
SOMETHING = {MODEL: "NET", DATA: "IMAGES"}  # what is still to be given
DATA_KINDS = ("generator:", "zoo:digits")
TABLES = (".csv", ".tsv")  # which only logits are read from
NOTES = (".json", ".toml")  # results, policies: none of the three


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
