"""From model and data specs to what can be run: the same on this machine and on every worker of a cluster."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gfscore.engines.handed import Handed, as_it_takes
from gfscore.errors import naming
from gfscore.inputs.data import load_data
from gfscore.inputs.data.data_objects import holds_pixels, open_pile
from gfscore.inputs.generators import GENERATOR
from gfscore.inputs.model_specs import NORMALISING, PREPROCESSING, over_general, split_spec
from gfscore.inputs.models import load_model
from gfscore.inputs.models.devices import AUTO, check_device, check_precision, in_precision, place
from gfscore.inputs.models.model_objects import Classifier, is_session, open_object
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import Dataset, Layout, Model
from gfscore.measures.run import DEFAULT_BATCH, Run
from gfscore.measures.sending import Engine
from gfscore.storage.store import Store
from gfscore.words import Panel, Word


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """How specs are understood: plain values, so that a worker elsewhere can be told all of it."""

    PANEL: ClassVar = Panel.MODEL

    trust_model: Annotated[
        bool, Word(help="Load a model file that holds code (.pt2, TorchScript), which then runs on this machine.")
    ] = False
    model_format: Annotated[
        str | None,
        Word(
            any_case=True,
            was="format",
            expert=True,
            help="Format of the model file where its ending does not tell: torchscript.  [default: by the ending]",
        ),
    ] = None
    output: Annotated[
        str | None,
        Word(
            expert=True,
            help="Which output of the model holds the logits: its name or position.  "
            "[default: the only one, or the one called logits]",
        ),
    ] = None
    model_dir: Annotated[
        Path | None, Word(expert=True, help="Folder where RobustBench keeps weights.  [default: models]")
    ] = None
    preset: Annotated[
        str | None,
        Word(
            help="Normalisation that the network was trained with, by name: imagenet, cifar10, cifar100, mnist, half "
            "(0.5) or bytes (pixels in 0 to 255).  [default: none]"
        ),
    ] = None
    mean: Annotated[
        str | None,
        Word(help="Mean of each channel, subtracted from pixels in [0, 1], such as 0.49,0.48,0.45.  [default: none]"),
    ] = None
    std: Annotated[
        str | None,
        Word(
            help="Standard deviation of each channel, by which pixels are divided after that, such as 0.25,0.24,0.26.  "
            "[default: none]"
        ),
    ] = None
    layout: Annotated[
        str | None, Word(help="Order of the axes of the images: NHWC or NCHW.  [default: told by their shape]")
    ] = None
    resize: Annotated[
        str | None,
        Word(
            help="Resize images: the shorter side in pixels (256), or height x width (224x224).  [default: as they are]"
        ),
    ] = None
    crop: Annotated[
        str | None, Word(help="Then keep the middle of the images: its side in pixels.  [default: all of it]")
    ] = None
    interpolation: Annotated[
        str | None,
        Word(
            expert=True,
            help="How images are resized: nearest, bilinear, bicubic, lanczos or box.  [default: bilinear]",
        ),
    ] = None
    grey: Annotated[bool, Word(help="Turn images to grey: one channel instead of three.")] = False
    range: Annotated[
        str | None, Word(help="Values of black and white in images that are floats, such as -1,1.  [default: 0,1]")
    ] = None
    batch_size: Annotated[
        int, Word(least=1, help="Images in one forward pass; a model with a fixed batch size keeps its own.")
    ] = DEFAULT_BATCH
    device: Annotated[
        str,
        Word(
            any_case=True,
            help="Where models and their gradients run: cpu, cuda (cuda:1 is the second GPU), mps (a Mac's GPU), "
            "directml (Windows, ONNX alone), or auto: the best there is.",
        ),
    ] = AUTO
    precision: Annotated[
        str,
        Word(
            any_case=True,
            expert=True,
            help="In what torch models compute: float32, or where torch allows it float16 or bfloat16, with a flag on "
            "how far logits are off.",
        ),
    ] = "float32"
    split: Annotated[
        str | None,
        Word(
            any_case=True,
            panel=Panel.INPUT,
            help="Which part of the data to use, where a folder has several: train or test.  [default: test]",
        ),
    ] = None
    n_per_class: Annotated[
        int | None,
        Word(
            least=1,
            panel=Panel.INPUT,
            help="Use this many images of each class, drawn at random.  [default: all; 100 of a generator]",
        ),
    ] = None
    classes: Annotated[
        int | None,
        Word(
            least=2,
            panel=Panel.INPUT,
            expert=True,
            help="Number of classes of a generator that does not say it.  [default: what it says]",
        ),
    ] = None
    threads: Annotated[
        int | None,
        Word(
            least=1,
            panel=Panel.CLUSTER,
            expert=True,
            help="Processor threads that an ONNX model may use.  [default: all cores; 1 a worker with --engine ray]",
        ),
    ] = None
    class_names: Any = None  # one for each class
    seed: Annotated[
        int,
        Word(
            least=0,
            panel=Panel.STATISTICS,
            help="Seed of everything that is drawn at random: the same seed gives the same result.",
        ),
    ] = 0
    gpu: bool = False  # of a worker that Ray gave one: then the device is that

    def __post_init__(self) -> None:
        object.__setattr__(self, "device", check_device(self.device))
        check_precision(self.precision)

    @property
    def preprocessing(self) -> dict[str, Any]:
        """What was said about preprocessing, as ``Preprocessing.from_options`` takes it."""
        said = {name: getattr(self, name) for name in PREPROCESSING}
        return over_general({}, {key: each for key, each in said.items() if each is not None and each is not False})


class Loader:
    """Opens models and data, and keeps the last few of each: what is asked for again is not opened again."""

    def __init__(
        self,
        how: Loading,
        store: Store | None = None,
        *,
        models: int = 1,
        data: int = 1,
        several: bool = False,
        engine: Callable[[str, str], Engine] | None = None,
    ) -> None:
        self.how, self.store, self.several = how, store or Store(), several  # several data sets: names tell them apart
        self._engine = engine  # of a run, by its specs; None: this process
        self._called = dict[str, tuple[str, str]]()  # which model spec on which data has a name
        self._run = lru_cache(maxsize=models)(self._open_run)
        self._model = lru_cache(maxsize=models)(self._open_model)
        self._data = lru_cache(maxsize=data)(self._open_data)

    def open(self, model_spec: Any, data_spec: Any) -> Run:
        """A model on data, preprocessed as the model or the user says; both by their specs, or handed over.

        What is measured of what was handed over is kept for as long as the run lives: nobody could find it again.
        """
        self._model(model_spec)  # so that the runs that are kept are of the models that are kept
        return self._run(model_spec, data_spec)

    def open_model(self, spec: Any) -> Model:
        """A model by itself."""
        return self._model(spec)

    def are_pixels(self, model_spec: Any, data_spec: Any) -> bool:
        """Whether data that were handed over are images in the unit of every radius; those of a spec must be."""
        if not isinstance(data_spec, Handed) or data_spec.is_open:
            return True
        model, said = self._preprocessed(model_spec)
        return not isinstance(model, Classifier) and holds_pixels(data_spec.pile(said), said)

    def _preprocessed(self, model_spec: Any) -> tuple[Model, Preprocessing]:
        """A model, and what happens to pixels before it sees them."""
        model, (spec, own) = self._model(model_spec), split_spec(model_spec)
        with naming(spec) if own else nullcontext():
            return model, _preprocessing(over_general(self.how.preprocessing, own), model)

    def _is_told(self, model_spec: Any) -> bool:
        """Whether mean and std of a model were said, by the user or by the model itself."""
        said = over_general(self.how.preprocessing, split_spec(model_spec)[1])
        suggested = getattr(self._model(model_spec), "suggested_preprocessing", None) or {}
        return bool((said.keys() | suggested.keys()) & set(NORMALISING))

    def _open_run(self, model_spec: Any, data_spec: Any) -> Run:
        model, preprocessing = self._preprocessed(model_spec)
        objects = [each for each in (model_spec, data_spec) if isinstance(each, Handed)]
        data = self._data(data_spec, preprocessing, model.layout if isinstance(data_spec, Handed) else "NCHW")
        if len(objects) == 2 and not data_spec.is_open and not is_session(model_spec.value):
            model = as_it_takes(model, data, data_spec.pile(preprocessing))
        source = data.source if isinstance(data_spec, Handed) else data_spec
        found = Run(
            name=self._name_of(model.name, model_spec, source),
            model=model,
            data=data,
            preprocessing=preprocessing,
            batch_size=self.how.batch_size,
            store=Store(Path(tempfile.mkdtemp(prefix="gfscore-"))) if objects else self.store,
            gpu=self.how.gpu,
            told=self._is_told(model_spec),
            engine=None if self._engine is None else self._engine(model_spec, data_spec),
        )
        if objects:
            weakref.finalize(found, shutil.rmtree, found.store.root, ignore_errors=True)
        return found

    def _name_of(self, model: str, model_spec: Any, data_spec: str) -> str:
        """What a run is called: by its model, and by more where another run is called so already."""
        name = f"{model} on {data_spec}" if self.several else model
        pair = (str(model_spec), data_spec)
        if self._called.setdefault(name, pair) == pair:
            return name
        _, _, query = str(model_spec).rpartition("?") if split_spec(model_spec)[1] else ("", "", "as it is")
        folder = Path(str(split_spec(model_spec)[0])).parent.name
        other = f"{folder}/{name}" if query == "as it is" and folder else f"{name} ({query})"
        return other if self._called.setdefault(other, pair) == pair else f"{name} ({model_spec})"

    def _open_model(self, spec: Any) -> Model:
        how = self.how
        if isinstance(spec, Handed):
            opened = open_object(spec.value, name=spec.name or "model", output=_position(how.output))
            return self._placed(opened, held=True)
        spec, own = split_spec(spec)
        model = load_model(
            spec,
            name=own.get("name"),
            trust=how.trust_model,
            output=_position(own.get("output", how.output)),
            format=own.get("format", how.model_format),
            model_dir=how.model_dir,
            threads=how.threads,
        )
        return self._placed(model)

    def _placed(self, model: Model, *, held: bool = False) -> Model:
        """A model where, and in the precision in which, it is to run."""
        how = self.how
        placed = place(model, "cuda" if how.gpu else how.device, held=held, threads=how.threads, on_ray=how.gpu)
        return in_precision(placed, check_precision(how.precision))

    def _open_data(self, spec: Any, preprocessing: Preprocessing, layout: Layout) -> Dataset:
        how = self.how
        drawn: dict[str, Any] = {"n_per_class": how.n_per_class, "seed": how.seed, "class_names": how.class_names}
        if isinstance(spec, Handed):
            opened: Dataset = spec.value
            return (
                opened if spec.is_open else open_pile(spec.pile(preprocessing), preprocessing, layout=layout, **drawn)
            )
        generated = spec.startswith(GENERATOR)
        return load_data(
            spec,
            preprocessing=preprocessing,
            split=None if generated else how.split,
            n_classes=how.classes if generated else None,
            **drawn,
        )


def _position(output: str | None) -> str | int | None:
    """A number is the position of an output, anything else its name."""
    return int(output) if output is not None and output.isdecimal() else output


def _preprocessing(said: Mapping[str, Any], model: Model) -> Preprocessing:
    """What the model brings along, and over it what the user said."""
    suggested = dict(getattr(model, "suggested_preprocessing", None) or {})
    if said.keys() & set(NORMALISING):
        suggested.pop("mean", None)
        suggested.pop("std", None)
    return Preprocessing.from_options(**suggested | dict(said))
