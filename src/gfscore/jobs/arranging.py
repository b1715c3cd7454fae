"""What was handed to a job, by what it is: a model and data, or logits and labels; in the order people write them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gfscore.engines.handed import Handed
from gfscore.errors import OptionError
from gfscore.inputs.data.data_objects import LABELS
from gfscore.inputs.models.model_objects import KINDS_OF_MODELS, is_model
from gfscore.inputs.table_columns import NOTHING_SAID, ReadingWords
from gfscore.judge.policy import Policy
from gfscore.names import as_array
from gfscore.results import Audit, Comparison, GateResult, ModelAudit
from gfscore.samples import Samples, refuse_other_rows

RESULTS = (Audit, ModelAudit, GateResult, Comparison)
MODEL_FIRST = "Give the model first, then its data."


class Asked(NamedTuple):
    """What a job is about."""

    logits: Any = None  # arrays, files, samples; or results, for whom these will do
    labels: Any = None
    model: Any = None
    data: Any = None

    def checked(
        self, class_names: Sequence[str] | None, words: ReadingWords = NOTHING_SAID, *, probabilities: bool = False
    ) -> tuple[Any, Any, Any]:
        """Logits, model and data; logits that came with labels as samples."""
        if self.labels is None:
            return self.logits, self.model, self.data
        labels = words.indices(self.labels, class_names)
        samples = Samples.of(self.logits, labels, class_names=class_names, probabilities=probabilities)
        return samples, self.model, self.data


def arrange(first: Any, second: Any, model: Any = None, data: Any = None) -> Asked:
    """The two things that were given without a name, and what was given by name.

    A model is a path or spec of one, or what can be called or asked for decisions; two arrays are logits and labels.
    """
    if isinstance(first, list | tuple) and not first:
        first = None
    if first is None:
        if second is not None:
            raise OptionError(f"labels are given without logits. Give both, or a model and data. {MODEL_FIRST}")
        return Asked(model=model, data=data)
    if is_model(first):
        if model is not None:
            raise OptionError("two models are given: one first, and one by the name model. Give several in a list.")
        if second is not None and data is not None:
            raise OptionError("data are given twice: after the model, and by the name data. Give them once.")
        return Asked(model=first, data=data if second is None else second)
    _refuse_among_models(first)
    if second is None:
        return Asked(logits=first, model=model, data=data)
    if is_model(second):
        raise OptionError(f"{_kind(first)} comes before the model. {MODEL_FIRST}")
    if isinstance(first, str | Path) or _are_files(first):
        raise OptionError(f"{_kind(first)} is a file of logits, which has its labels in it. Give no others beside it.")
    if isinstance(first, Samples | Mapping):
        raise OptionError(f"{_kind(first)} has labels of its own. Give no others beside it.")
    if isinstance(first, RESULTS):
        raise OptionError(f"{_kind(first)} is a result: it needs no labels. Give it alone.")
    if isinstance(second, str | Path):
        raise OptionError(f"{second} is a data spec, but the model is logits. Give their labels.")
    if model is not None:
        raise OptionError("arrays are given beside a model. Give them as its data: data=(images, labels).")
    refuse_other_rows(first, second)
    return Asked(logits=as_array(first, "logits"), labels=as_array(second, "labels"), model=model, data=data)


def refuse_unread(words: ReadingWords, *given: Any) -> None:
    """Refuse what is said of columns and labels where all that is given was read, or made, before."""
    parts = [list(each.values()) if isinstance(each, Mapping) else each for each in given if each is not None]
    several = [each for part in parts for each in (part if isinstance(part, list | tuple) else [part])]
    if several and all(_is_read(each) for each in several):
        what = "samples in memory have" if any(isinstance(each, Samples) for each in several) else "an audit has"
        words.refuse(f"{what} no columns")
        words.refuse(f"{what} classes already", labels_too=True)


def _is_read(given: Any) -> bool:
    of_audit = isinstance(given, str | Path) and Path(given).suffix.lower() == ".json"
    return of_audit or isinstance(given, (Samples, *RESULTS))


def _refuse_among_models(given: Any) -> None:
    """Refuse what is no model among models: the others show what is meant."""
    several = list(given.values()) if isinstance(given, Mapping) else given
    if not isinstance(several, list | tuple) or not any(callable(each) for each in several):
        return
    for each in (each for each in several if not is_model(each)):
        raise OptionError(f"one of several models is {_kind(each)}. Give {KINDS_OF_MODELS}.")


def listed_models(model: Any) -> list[Any]:
    """The models: specs, and what Python holds, by names where there are any."""
    if model is None:
        return []
    if isinstance(model, Mapping):
        return [each if isinstance(each, str | Path) else Handed(each, str(name)) for name, each in model.items()]
    several = list(model) if isinstance(model, list | tuple) else [model]
    for each in several:
        if not isinstance(each, str | Path | Handed) and not is_model(each):
            raise OptionError(f"the model is {_kind(each)}. Give {KINDS_OF_MODELS}.")
    handed = [each for each in several if not isinstance(each, str | Path | Handed)]
    names = ["model"] if len(handed) == 1 else [f"model {number}" for number in range(1, len(handed) + 1)]
    named = iter(names)
    return [each if isinstance(each, str | Path | Handed) else Handed(each, next(named)) for each in several]


def with_name(model: Any, name: str | None) -> tuple[Any, str | None]:
    """One model in memory by the name that was said; and the name, where it is still to be used."""
    models = listed_models(model)
    if name is None or len(models) != 1 or are_specs(models):
        return model, name
    return {name: models[0].value}, None


def split_policy(inputs: Any, policy: Any, labels: Any) -> tuple[Any, Any]:
    """The policy of a gate and its labels or data, where these were said second: ``gate(model, data, wcr=0.1)``."""
    said = isinstance(policy, Policy) or (isinstance(policy, Path) and policy.suffix.lower() == ".toml")
    if policy is None or said or (isinstance(policy, Path) and not is_model(inputs)):
        return policy, labels
    if isinstance(policy, Mapping) and not (is_model(inputs) and set(LABELS) & policy.keys()):
        return policy, labels
    if labels is not None:
        raise OptionError(f"the policy is {_kind(policy)}. Give a policy.toml or its tables.")
    return None, policy


def listed_data(data: Any) -> list[Any]:
    """The data: specs, or what Python holds, which is one set; a pair (images, labels) is one too."""
    if data is None:
        return []
    if isinstance(data, str | Path | Handed):
        return [data]
    if isinstance(data, list | tuple) and all(isinstance(each, str | Path | Handed) for each in data):
        return list(data)
    if isinstance(data, (Samples, *RESULTS)):
        raise OptionError(f"data is {_kind(data)}. Give images with their labels.")
    return [Handed(data)]


def are_specs(*given: Sequence[Any]) -> bool:
    """Whether nothing of it is in memory only."""
    return not any(isinstance(each, Handed) for several in given for each in several)


def _are_files(given: Any) -> bool:
    return isinstance(given, list | tuple) and all(isinstance(each, str | Path) for each in given)


def _kind(given: Any) -> str:
    return str(given) if isinstance(given, str | Path) else type(given).__name__
