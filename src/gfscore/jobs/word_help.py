"""The parameters of a job one by one, for ``help`` and for whoever hovers over it: made from its words."""

import inspect
import re
from collections.abc import Iterable
from enum import Enum
from textwrap import fill
from typing import Any, get_args

from gfscore.jobs.word_values import word_of

OPTION = re.compile(r"--([a-z][a-z-]*)")
LONGEST_TYPE = 40  # characters of a type that is shown
# What Python alone can say: it has no word.
ALONE = {
    "labels": "True classes (N,), where logits are an array.",
    "sample_ids": "A name per sample, where logits are an array.",
    "class_sizes": "Samples of each class in the fixed set that arrays are a random part of.",
    "finite": "With class_sizes: whether intervals are about that very set.",
    "name": "What the model is called in the result.",
    "names": "What the old and the new version are called in the result.",
    "seen": "Called with each model when it is done.",
    "face": "Who is told of progress: see gfscore.jobs.calling.Face.",
    "gpu": "Whether models run on the GPU of this process.",
    "folder": "Where pictures of witnesses are saved.",
    "data": "What models are run on, as in gfscore.audit.",
    "run": "How models are run: gfscore.RunOptions.",
}


def describe(parameters: Iterable[inspect.Parameter]) -> str:
    """An ``Args`` section: each parameter with what it is and what it is by default."""
    return "\n".join(["Args:", *map(_line, parameters)])


def _line(entry: inspect.Parameter) -> str:
    word = word_of(entry.annotation)
    told = ALONE.get(entry.name, "") if word is None else word.help
    said = OPTION.sub(lambda found: found[1].replace("-", "_"), " ".join(told.split()))
    default = entry.default.value if isinstance(entry.default, Enum) else entry.default
    if "[default:" not in said and isinstance(default, bool | int | float | str):
        said = f"{said}  [default: {default}]"
    return fill(f"{entry.name}: {said}", 116, initial_indent="    ", subsequent_indent="        ")


def shorten_types(signature: inspect.Signature) -> inspect.Signature:
    """The signature with types that a person can read: what a word says is in the help, and long unions are any."""
    return signature.replace(
        parameters=[entry.replace(annotation=_short(entry.annotation)) for entry in signature.parameters.values()]
    )


def _short(annotation: Any) -> Any:
    plain = annotation if word_of(annotation) is None else get_args(annotation)[0]
    return plain if len(inspect.formatannotation(plain)) <= LONGEST_TYPE else Any
