"""From model and data specs to what can be run: the same on this machine and on every worker of a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from gfscore.errors import OptionError
from gfscore.inputs.data import load_data
from gfscore.inputs.generators import GENERATOR
from gfscore.inputs.models import load_model, on_gpu
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Model
from gfscore.measures.run import DEFAULT_BATCH, Run
from gfscore.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How specs are understood: plain values, so that a worker elsewhere can be told all of it."""

    trust_model: bool = False
    form: str | None = None
    output: str | None = None
    model_dir: str | None = None
    preprocessing: Mapping[str, Any] = field(default_factory=dict)  # as ``Preprocessing.from_options`` takes it
    batch_size: int = DEFAULT_BATCH
    split: str | None = None
    n_per_class: int | None = None
    classes: int | None = None
    class_names: Sequence[str] | None = None
    seed: int = 0
    threads: int | None = None  # that an ONNX graph may use; all cores by default
    gpu: bool = False


class Loader:
    """Opens models and data, and keeps the last few of each: what is asked for again is not opened again."""

    def __init__(
        self, how: Loading, store: Store | None = None, *, models: int = 1, data: int = 1, several: bool = False
    ) -> None:
        self.how, self.store, self.several = how, store or Store(), several  # several data sets: names tell them apart
        self._run = lru_cache(maxsize=models)(self._open_run)
        self._model = lru_cache(maxsize=models)(self._open_model)
        self._data = lru_cache(maxsize=data)(self._open_data)

    def open(self, model_spec: str, data_spec: str) -> Run:
        """A model on a data set, preprocessed as the model or the user says."""
        self._model(model_spec)  # so that the runs that are kept are of the models that are kept
        return self._run(model_spec, data_spec)

    def _open_run(self, model_spec: str, data_spec: str) -> Run:
        model = self._model(model_spec)
        preprocessing = _preprocessing(self.how.preprocessing, model)
        return Run(
            name=f"{model.name} on {data_spec}" if self.several else model.name,
            model=model,
            data=self._data(data_spec, preprocessing),
            preprocessing=preprocessing,
            batch_size=self.how.batch_size,
            store=self.store,
            gpu=self.how.gpu,
        )

    def _open_model(self, spec: str) -> Model:
        how = self.how
        model = load_model(
            spec,
            trust=how.trust_model,
            output=_position(how.output),
            format=how.form,
            model_dir=None if how.model_dir is None else Path(how.model_dir),
            threads=how.threads,
        )
        return on_gpu(model) if how.gpu else model

    def _open_data(self, spec: str, preprocessing: Preprocessing) -> Dataset:
        how, generated = self.how, spec.startswith(GENERATOR)
        return load_data(
            spec,
            preprocessing=preprocessing,
            split=None if generated else how.split,
            n_per_class=how.n_per_class,
            seed=how.seed,
            class_names=how.class_names,
            n_classes=how.classes if generated else None,
        )


def load(models: Sequence[str], data: Sequence[str], how: Loading, store: Store | None = None) -> Iterator[Run]:
    """Every model on every data set, one after the other."""
    loader = Loader(how, store, data=len(data), several=len(data) > 1)
    for model_spec, data_spec in pairs(models, data):
        yield loader.open(model_spec, data_spec)


def pairs(models: Sequence[str], data: Sequence[str]) -> list[tuple[str, str]]:
    """Each model's spec with each data set's; refused where there is only one kind."""
    if not models or not data:
        given, missing = ("--model", "--data") if models else ("--data", "--model")
        raise OptionError(f"{given} is given without {missing}. Running a model takes both.")
    return [(model, each) for model in models for each in data]


def _position(output: str | None) -> str | int | None:
    """A number is the position of an output, anything else its name."""
    return int(output) if output is not None and output.isdecimal() else output


def _preprocessing(said: Mapping[str, Any], model: Model) -> Preprocessing:
    """What the model brings along, and over it what the user said."""
    suggested = dict(getattr(model, "suggested_preprocessing", None) or {})
    if said.keys() & {"preset", "mean", "std"}:
        suggested.pop("mean", None)
        suggested.pop("std", None)
    return Preprocessing.from_options(**suggested | dict(said))
