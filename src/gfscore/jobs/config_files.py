"""``gfscore.toml``: the words of a job that are not said where it is called, kept in a file beside models and data.

At the top stand words that all commands share, ``[[models]]`` with the preprocessing of each, and the tables of a
policy; under ``[audit]``, ``[check]`` and so on words for one command alone, which stand over those at the top.
"""

import difflib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from gfscore.errors import MissingFileError, OptionError, first_few, naming
from gfscore.inputs.generators import GENERATOR
from gfscore.inputs.known_data import known_class_names
from gfscore.inputs.model_specs import KEYS, PREPROCESSING, join_spec
from gfscore.inputs.models import KINDS
from gfscore.inputs.models.model_objects import is_model
from gfscore.inputs.small_files import read_toml
from gfscore.jobs.calling import CONFIGURED
from gfscore.jobs.given_words import FILES, kinds_of, takes_path, word_of
from gfscore.judge.policy import ALLOW, TABLES
from gfscore.score_titles import FIRST_ORDER
from gfscore.storage import is_address, to_read

MODELS, POLICY = "models", (*TABLES, ALLOW)
ALIKE = frozenset({"delta", "seed", "activation"})  # that mean the same in all commands, whatever their help says
GENERAL = ("audit", "gate")  # whose words stand at the top
SPECS = ("model", "data", "reference", "accuracies", "old", "new")  # texts that may be paths
NEVER = frozenset({"config", "out"})  # words of the call alone
Parameters = Mapping[str, inspect.Parameter]

read_now: ContextVar[tuple[Path, ...]] = ContextVar("read_now", default=())  # the file of the call under way, to hash


class Config:
    """A configuration that was read, and where its relative paths begin."""

    def __init__(self, tables: Mapping[str, Any], file: Path, folder: str | Path) -> None:
        self.tables, self.file, self.folder = tables, file, folder

    @classmethod
    def read(cls, place: str | Path) -> Self:
        """The configuration at a path or an address; its words are checked when they are asked for."""
        file = to_read(place)
        folder = str(place).rpartition("/")[0] if is_address(place) else Path(place).parent
        try:
            return cls(read_toml(file, 'Write a line such as data = "test.npz".'), file, folder)
        except MissingFileError as error:
            raise error.said_by("--config") from None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Let what is made in the block name this file among its inputs."""
        token = read_now.set((self.file,))
        try:
            yield
        finally:
            read_now.reset(token)

    def words(self, job: str, given: Sequence[str], first: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """What the file says to a job, as Python would; words that were ``given`` in the call stand over it.

        ``first`` are those without a name: a model may be the first of them, and its data the second.
        """
        if first and is_model(next(iter(first.values()))):
            given = ["model" if name in FILES else "data" if name == "labels" else name for name in given]
        with naming(self.file):
            own = self.tables.get(job, {})
            own = own if isinstance(own, Mapping) else {}
            self._check_names(job, own)
            parameters = words_of(job)
            shared = {name: value for name, value in self.tables.items() if name in _shared(job)}
            said = {**shared, **self._files(parameters), **own}
            taken = {name: self._value(name, value, parameters[name]) for name, value in said.items()}
            if "model" in parameters:
                taken |= self._models()
            taken = {name: value for name, value in taken.items() if name not in given}
        if "policy" in parameters and "policy" not in given:
            taken |= self._policy(taken)
        return _fitting(job, taken, given)

    def _models(self) -> dict[str, Any]:
        """The models, with what is said of each."""
        if MODELS in self.tables and "model" in self.tables:
            raise OptionError("has both model and models. Write one of them.")
        several = self.tables.get(MODELS, self.tables.get("model", []))
        found = [self._model(each) for each in (several if isinstance(several, list) else [several])]
        return {"model": found} if found else {}

    def _files(self, parameters: Parameters) -> dict[str, Any]:
        """Logits files, under the name that the job has for them."""
        files = self.tables.get("logits")
        return {name: files for name in FILES if name in parameters and files and not isinstance(files, Mapping)}

    def _model(self, entry: Any) -> str:
        """A model spec with its own words after a question mark."""
        if isinstance(entry, str):
            return str(self._place("model", entry))
        if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
            raise OptionError('has a model without its spec. Write [[models]], and below it model = "net.onnx".')
        for key in entry:
            if key not in ("model", *KEYS):
                where = f" Move {key} above the first [table]." if key in _top() else ""
                raise OptionError(f"{key} stands under [[models]], where it is {_no_word(key, KEYS)}{where}")
        own = {key: _text(key, value) for key, value in entry.items() if key != "model"}
        return join_spec(str(self._place("model", entry["model"])), own)

    def _policy(self, taken: Mapping[str, Any]) -> dict[str, Any]:
        """The tables of a policy that stand in the file itself."""
        tables = {name: self.tables[name] for name in POLICY if name in self.tables}
        if tables and "policy" in taken:
            with naming(self.file):
                raise OptionError(f"has both policy and [{next(iter(tables))}]. Write the rules in one place.")
        return {"policy": tables} if tables else {}

    def _check_names(self, job: str, own: Mapping[str, Any]) -> None:
        """Refuse what no command knows, with what was probably meant."""
        rules = _rule_words()
        for name, value in self.tables.items():
            if name in CONFIGURED and isinstance(value, Mapping):
                continue
            if name in rules and name not in POLICY:
                raise OptionError(f"{name} stands at the top, and is a rule. Write it under [rules].")
            if name not in _top():
                users = [each for each in CONFIGURED if name in words_of(each)]
                if users:
                    raise OptionError(
                        f"{name} stands at the top, and is a word of {users[0]}. Write it under [{users[0]}]."
                    )
                raise OptionError(f"{name} is {_no_word(name, [*_top(), *CONFIGURED])}")
        known = [name for name in words_of(job) if name not in rules]
        for name in own:
            if name in rules:
                raise OptionError(f"{name} stands under [{job}], and is a rule. Write it under [rules].")
            if name not in known:
                raise OptionError(f"{name} stands under [{job}], where it is {_no_word(name, known)}")

    def _value(self, name: str, value: Any, parameter: inspect.Parameter) -> Any:
        """A value of TOML as the job takes it, with its paths seen from the file."""
        kinds, word = kinds_of(parameter.annotation), word_of(parameter.annotation)
        several = [kind for kind in kinds if kind in (list[str], list[Path])]
        texts = isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
        if name == "class_names" and texts:
            return value
        if several and (texts or isinstance(value, str)):
            listed = [value] if isinstance(value, str) else value
            if list[Path] in kinds:
                return [path for each in listed for path in self._matching(self._place(name, each, path=True))]
            return [self._place(name, each) if name in SPECS else each for each in listed]
        if isinstance(value, str) and (takes_path(parameter.annotation) or name in SPECS):
            return self._place(name, value, path=takes_path(parameter.annotation))
        if isinstance(value, bool):
            fits = bool in kinds
        elif isinstance(value, str):
            readable = word is not None and word.parse is not None
            fits = (
                str in kinds or readable or any(isinstance(kind, type) and issubclass(kind, StrEnum) for kind in kinds)
            )
        elif isinstance(value, int | float):
            if str in kinds:
                return _text(name, value)
            fits = float in kinds or (int in kinds and isinstance(value, int))
        else:
            if str in kinds and isinstance(value, list):
                return _text(name, value)
            fits = False
        if not fits:
            raise OptionError(f"{name} is {value!r}. {_wanted(kinds)}")
        return value

    @staticmethod
    def _matching(place: str | Path) -> list[Any]:
        """The files that a pattern means, which no shell has read; any other place as it is."""
        if isinstance(place, str) or place.exists():
            return [place]
        return sorted(place.parent.glob(place.name)) or [place]

    def _place(self, name: str, text: str, *, path: bool = False) -> Any:
        """A path or spec as it is seen from the file; what is known by name, and addresses, as they are."""
        if name == "class_names" and known_class_names(text) is not None:
            return text
        if not path and text.startswith(GENERATOR):
            rest = text.removeprefix(GENERATOR)
            known = rest == "zoo" or rest.startswith("torch:")
            return text if known else f"{GENERATOR}{self._place(name, rest)}"
        kind = text.partition(":")[0]
        if is_address(text) or (not path and ":" in text and kind in (*KINDS, "store", "robustbench")):
            return text
        base, question, query = text.partition("?") if name == "model" else (text, "", "")
        placed = f"{self.folder}/{base}" if isinstance(self.folder, str) else self.folder / base
        return placed if path and not isinstance(placed, str) else f"{placed}{question}{query}"


def words_of(job: str) -> dict[str, inspect.Parameter]:
    """The words of a job that a file may say."""
    module = import_module(f"gfscore.jobs.{CONFIGURED[job]}")
    return {name: entry for name, entry in getattr(module, job).words().items() if name not in NEVER}


def reference() -> list[tuple[str, str, str]]:
    """Every key that a file may have: its name, the tables it may stand in, and what it says."""
    found = [(name, "top", _help(words_of(job)[name])) for job in GENERAL for name in _top() if name in words_of(job)]
    rows = {name: (name, where, text) for name, where, text in reversed(found) if name not in POLICY}
    top = [rows[name] for name in _top() if name in rows]
    top.insert(0, (MODELS, "top", "Models with words of their own: [[models]] tables, or specs in brackets."))
    top += [(name, "top", "Of the policy, as in policy.toml.") for name in POLICY]
    top += [(key, "[[models]]", "For this model alone.") for key in ("model", *KEYS)]
    rules = _rule_words()
    own = {
        job: [name for name in words_of(job) if name not in rules and name not in _shared(job)] for job in CONFIGURED
    }
    return top + [
        (name, f"[{job}]", _help(words_of(job)[name]))
        for job, names in own.items()
        for name in names
        if name not in ("model", *FILES) or name not in rows
    ]


def _help(entry: inspect.Parameter) -> str:
    word = word_of(entry.annotation)
    return "" if word is None else word.help


def _shared(job: str) -> set[str]:
    """Words at the top that a job takes: those that mean there what they mean to an audit or a gate."""
    own, inputs = words_of(job), {"model", *FILES, *POLICY}
    found = set[str]()
    for other in GENERAL:
        for name, entry in words_of(other).items():
            same = name in own and word_of(own[name].annotation) == word_of(entry.annotation)
            if same or (name in own and name in ALIKE):
                found.add(name)
    return found - inputs - _rule_words()


def _top() -> tuple[str, ...]:
    """What may stand at the top of a file."""
    words = {name: None for job in GENERAL for name in words_of(job) if name not in (*_rule_words(), "inputs")}
    return (MODELS, *words, *POLICY)


def _rule_words() -> set[str]:
    from gfscore.jobs.policy_words import PolicyWords

    return {field.name for field in fields(PolicyWords)}


def _fitting(job: str, taken: dict[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """Without what the call has replaced by something of another kind, and what is of no use to the job."""
    dropped = set[str]()
    if any(name in given for name in (*FILES, "labels")) and "model" not in given:
        dropped |= {"model", "data", "split", "n_per_class", *PREPROCESSING}  # the last are about images
    if "model" in given or "data" in given:
        dropped |= set(FILES)
    if job == "check" and not taken.get("autoattack") and taken.get("score") != FIRST_ORDER:
        dropped |= {"norm", "eps"}  # which would be those of an attack
    return {name: value for name, value in taken.items() if name not in dropped}


def _text(name: str, value: Any) -> Any:
    """Numbers as they are written on the command line: 256, or 0.49,0.48,0.45."""
    if isinstance(value, bool | str):
        return value
    numbers = value if isinstance(value, list) else [value]
    if not numbers or not all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers):
        raise OptionError(f"{name} is {value!r}. Give a text, a number, or numbers in brackets.")
    return ",".join(repr(each) for each in numbers)


def _no_word(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.replace("-", "_"), known, n=1)
    return "no word of gfscore. " + (
        f"Did you mean {near[0]!r}?" if near else f"There are {first_few(list(known), 12)}."
    )


def _wanted(kinds: Sequence[Any]) -> str:
    wanted = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "a text",
        list[str]: "texts in brackets",
    }
    wanted |= {Path: "a path", list[Path]: "paths in brackets"}
    return f"Write {' or '.join(wanted.get(kind, 'a text') for kind in kinds if kind is not type(None))}."
