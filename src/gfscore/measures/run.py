"""A model on data, which everything that is asked of a model goes through; and what a measure must say."""

import uuid
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import ProbabilitiesError, naming
from gfscore.inputs.data import take
from gfscore.inputs.data.base import some_rows
from gfscore.inputs.logits_files import read_samples
from gfscore.inputs.models.devices import CPU, device_of
from gfscore.inputs.models.forward_passes import (
    Batched,
    check_batch_independence,
    check_class_count,
    forward_batches,
    in_batches,
    logits_of_few,
)
from gfscore.inputs.preprocessing import Pixels, Preprocessing
from gfscore.inputs.probes import NOISE, as_run, known_name, name_of, noise_inputs
from gfscore.inputs.protocols import Dataset, Model, change_layout
from gfscore.measures.changed_runs import Change
from gfscore.measures.sending import Engine, Sendable
from gfscore.results import DataInfo, ModelInfo, PreprocessingInfo, RunInfo
from gfscore.samples import Samples
from gfscore.storage import refuse_changed
from gfscore.storage.store import RUN, Recipe, Store

DEFAULT_BATCH = 128
READ_ROWS = 256  # images that are read and preprocessed together, unless they are large
READ_BYTES = 1 << 28  # that these take at most as floats, unless one alone takes more
Part = TypeVar("Part")  # what is computed for one shard
RowsDone = Callable[[int], None]  # called with the rows of a shard that are done


def rows_together(data: Dataset, wanted: int = READ_ROWS) -> int:
    """How many images may be in memory at once: as many as are wanted, unless they are large.

    Only the first is looked at: all images of a data set have one size.
    """
    values = data.images(slice(0, 1)).size
    return max(1, min(wanted, READ_BYTES // (4 * values)))


class Checked(NamedTuple):
    """What is known of a model on data before it is run."""

    n_classes: int
    probe: FloatArray  # its logits on the first images and on noise, which tell it from other models


def facts_of(data: Dataset, made_by: RunInfo) -> dict[str, Any]:
    """What samples know beside logits and labels: names, which part of which set they are, and what made them."""
    sizes = data.class_sizes
    return {
        "class_names": data.class_names,
        "sample_ids": data.sample_ids,
        "class_sizes": None if sizes is None else sizes.tolist(),
        "data": data.fingerprint,
        RUN: made_by.model_dump(mode="json"),
    }


@dataclass(slots=True)
class Notes:
    """What happened during forward passes that a reader of the numbers should know."""

    halved_batches: int = 0  # that did not fit into memory and were run in halves
    passes: int = 0  # images that went through the model, those of gradients aside

    def take(self) -> int:
        """How many batches were halved since this was last called."""
        taken, self.halved_batches = self.halved_batches, 0
        return taken


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """A model, the data it is run on, and how: preprocessing, batch size, device, and where results are kept.

    >>> from gfscore.inputs.data import load_data
    >>> from gfscore.inputs.models import load_model
    >>> run = Run(model=load_model("zoo:standard"), data=load_data("zoo:digits"))
    >>> run.logits_of(run.pixels(slice(0, 5))).shape
    (5, 10)
    """

    model: Model
    data: Dataset
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    name: str = ""  # the model's, unless said
    batch_size: int = DEFAULT_BATCH  # a model with a fixed batch keeps its own
    store: Store = field(default_factory=Store)
    gpu: bool = False  # workers of Ray run the model on a GPU; else it runs where it is
    told: bool = False  # whether somebody, or the model itself, said how pixels are normalised
    engine: Engine | None = None  # what computes elsewhere; None: this process
    changes: tuple[Change, ...] = ()  # that were made after it was opened, for an engine that opens it again
    notes: Notes = field(default_factory=Notes, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or self.model.name)
        object.__setattr__(self, "batch_size", self.model.fixed_batch or self.batch_size)

    @property
    def n_samples(self) -> int:
        """Size of the data set."""
        return len(self.data.labels)

    @property
    def about(self) -> RunInfo:
        """What decides the numbers, for the result."""
        model, data = self.model, self.data
        return RunInfo(
            model=ModelInfo(name=model.name, fingerprint=model.fingerprint),
            data=DataInfo(source=data.source, fingerprint=data.fingerprint, seed=data.seed),
            preprocessing=PreprocessingInfo.model_validate(self.preprocessing, from_attributes=True),
            batch_size=self.batch_size,
            device=None if self.device == CPU else self.device,
            precision=self.precision,
        )

    @property
    def device(self) -> str:
        """Where the model runs."""
        return "cuda" if self.gpu else device_of(self.model)

    @property
    def precision(self) -> str | None:
        """The precision of forward passes that was asked for; None: that of the weights."""
        return getattr(self.model, "precision", None)

    def check(self) -> Checked:
        """What the model makes of the first images, looked at once; refused where its numbers would mean nothing."""
        return self._checked

    @cached_property
    def _checked(self) -> Checked:
        model, data, preprocessing = self.model, self.data, self.preprocessing
        with naming(data.source):
            first = max(2, rows_together(data))  # a model whose images depend on each other shows it in two
            images = data.images(slice(0, min(first, self.n_samples)))
            preprocessing.check_range(images)
            inputs = preprocessing.apply(images, data.layout, model.layout)
        logits = check_batch_independence(model, inputs)
        check_class_count(model, logits.shape[1], data.class_names, int(data.labels.max()))
        together = [range(start, min(start + first, NOISE)) for start in range(0, NOISE, first)]
        noise = (noise_inputs(rows, inputs.shape[1:], preprocessing, model) for rows in together)
        return Checked(logits.shape[1], np.concatenate([logits, *(logits_of_few(model, few) for few in noise)]))

    def refuse_changed(self) -> None:
        """Stop before something is kept of a model or data whose files are no longer what was opened."""
        refuse_changed(self.model, self.data)

    def parts(self) -> dict[str, Any]:
        """Hashes of model and data, and the preprocessing: what a worker elsewhere must have alike.

        A model without a fingerprint gets one that is never found again.
        """
        fingerprint = self.model.fingerprint or f"unknown-{uuid.uuid4().hex}"
        return {
            "model": as_run(fingerprint, self.device, self.precision),
            "data": self.data.fingerprint,
            "preprocessing": self.preprocessing.describe(),
        }

    def identity(self) -> dict[str, Any]:
        """What the run is found by in its store: :meth:`parts`, and the name of the model's probe where it has one."""
        checked, parts = self.check(), self.parts()
        if self.model.fingerprint is None:
            return parts
        return {**parts, "probe": name_of(self.store.root, parts, checked.probe)}

    def recipe(self, measure: "Measure[Any]") -> Recipe:
        """Everything that decides the values of a measure; its hash is their name in the store."""
        return self._recipe(measure, self.identity())

    def stored_recipe(self, measure: "Measure[Any]") -> Recipe | None:
        """The recipe by which values of a measure are in the store, if any are; nothing is written to find out."""
        checked, parts = self.check(), self.parts()
        known = None if self.model.fingerprint is None else known_name(self.store.root, parts, checked.probe)
        return None if known is None else self._recipe(measure, {**parts, "probe": known})

    def on_rows(self, rows: IntArray, store: Store) -> "Run":
        """The model on a few rows of the data, ascending, and elsewhere: what was learnt of the model is not again."""
        few = replace(self, data=some_rows(self.data, rows), store=store, engine=None)
        few.__dict__.update({name: self.__dict__[name] for name in ("_checked", "_module") if name in self.__dict__})
        return few

    def _recipe(self, measure: "Measure[Any]", identity: Mapping[str, Any]) -> Recipe:
        settings = measure.settings
        return Recipe(
            **identity,
            n_samples=measure.n_rows(self),
            batch_size=self.batch_size,
            shard_rows=measure.rows_per_shard(self),
            measure=None if settings is None else {"name": measure.name, **settings, **self._elsewhere(measure)},
        )

    def _elsewhere(self, measure: "Measure[Any]") -> dict[str, str]:
        """Where the gradients of a measure are computed, unless that is where the model runs."""
        # of a graph: onnxruntime and torch may not find the same devices
        there = str(self.differentiable().scale.device.type) if getattr(measure, "gradients", False) else None
        return {} if there in (None, self.device.partition(":")[0]) else {"gradients_on": there}

    def read(self, logits: Path, *, probabilities: bool = False, groups: Path | None = None) -> Samples:
        """The model's logits on the data from a file: classes are named as here, whatever an earlier run said."""
        try:
            samples = read_samples(logits, probabilities=probabilities, groups=groups).named(self.data.class_names)
        except ProbabilitiesError as error:  # it is about what the model gives, not about the file that keeps it
            error.source = self.name
            raise
        return replace(samples, class_sizes=self.data.class_sizes, data=self.data.fingerprint)

    def inputs(self, rows: slice | IntArray) -> Pixels:
        """Inputs of the model for some rows, in any order."""
        with naming(self.data.source):
            return self.preprocessing.apply(self._images(rows), self.data.layout, self.model.layout)

    def pixels(self, rows: slice | IntArray) -> Pixels:
        """Images of some rows, in any order, as [0, 1] pixels in the model's layout: the unit of every radius."""
        with naming(self.data.source):
            unit = self.preprocessing.to_unit(self._images(rows))
        return np.ascontiguousarray(change_layout(unit, self.data.layout, self.model.layout))

    def _images(self, rows: slice | IntArray) -> NDArray[Any]:
        """Images as they are stored; refused, with their rows, when values are outside their range."""
        images = self.data.images(rows) if isinstance(rows, slice) else take(self.data, rows)
        numbers = range(*rows.indices(self.n_samples)) if isinstance(rows, slice) else rows
        self.preprocessing.check_rows(images, numbers)
        return images

    def logits_of(self, pixels: Pixels) -> FloatArray:
        """Logits (n, K) of any [0, 1] pixels (n, ...) in the model's layout."""
        return self.forward(self.preprocessing.normalise(pixels, self.model.layout))

    def forward(
        self, inputs: FloatArray, *, rows: range | IntArray | None = None, n_classes: int | None = None
    ) -> FloatArray:
        """Logits (n, K) of preprocessed inputs, in batches that the model takes; see :func:`forward_batches`."""
        self.notes.passes += len(inputs)
        return self._noted(forward_batches(self.model, inputs, self.batch_size, rows=rows, n_classes=n_classes))

    def in_batches(
        self, compute: Callable[[slice], FloatArray], n_rows: int, rows: range | IntArray | None = None
    ) -> FloatArray:
        """Anything else that is computed with the model from slices of ``n_rows`` rows, a batch at a time."""
        return self._noted(in_batches(compute, n_rows, self.batch_size, name=self.model.name, rows=rows))

    def differentiable(self) -> Any:
        """The model as a torch module of [0, 1] pixels, checked on the first images, once."""
        return self._module

    @cached_property
    def _module(self) -> Any:
        from gfscore.inputs.models.gradients import COMPARED, differentiable

        return differentiable(self.model, self.preprocessing, self.pixels(slice(0, COMPARED)))

    def _noted(self, done: Batched) -> FloatArray:
        self.notes.halved_batches += done.halved
        return done.values


class Measure(Sendable[Part]):
    """Something that is asked of a model on data, shard by shard."""

    name: ClassVar[str]  # of what is stored

    @property
    @abstractmethod
    def settings(self) -> Mapping[str, Any] | None:
        """What decides its values beside the run, for JSON; None for the logits, which the run alone decides."""

    def n_rows(self, run: Run) -> int:
        """Rows in all: one for each sample, unless a measure is about something else."""
        return run.n_samples

    @abstractmethod
    def rows_per_shard(self, run: Run) -> int:
        """Rows after which something is kept."""

    @abstractmethod
    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> Part:
        """Its values for some rows; what went on meanwhile is in the notes of the run."""


class RowMeasure(Measure[FloatArray]):
    """A measure with a row of float32 numbers for each sample."""

    @abstractmethod
    def columns(self, run: Run) -> int:
        """Numbers in a row."""

    def about(self, run: Run) -> dict[str, Any]:
        """What its entry in the store says to people."""
        return {"model": run.model.name, "data": run.data.source, "n": run.n_samples}

    def to_bytes(self, part: FloatArray) -> bytes:
        """The rows as a safetensors file."""
        return bytes(save({self.name: np.ascontiguousarray(part)}))

    def from_bytes(self, content: bytes) -> FloatArray:
        """What :meth:`to_bytes` gave."""
        return np.asarray(load(content)[self.name])
