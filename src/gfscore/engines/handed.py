"""Models and data that Python holds, where others are named by a spec."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gfscore.errors import OptionError
from gfscore.inputs.data.data_objects import read_pile
from gfscore.inputs.data.piles import Pile
from gfscore.inputs.models import CallableModel
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.inputs.protocols import CHANNEL_AXIS, Dataset, Model


class Handed:
    """A model or data that Python holds, where others are a spec; data are read once, whoever asks."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value, self.name = value, name  # of a model
        self._piles = dict[Any, Pile]()

    @property
    def is_open(self) -> bool:
        """Whether these are data that gfscore opened itself."""
        return hasattr(type(self.value), "class_sizes")

    def pile(self, shape: Preprocessing) -> Pile:
        """All that is in some data; Pillow images in the shape that is asked for."""
        key = (shape.resize, shape.crop, shape.interpolation, shape.grey)
        found = self._piles.get(key) or next((each for each in self._piles.values() if not each.fitted), None)
        if found is None:
            found = self._piles[key] = read_pile(self.value, shape)
        return found


def as_it_takes(model: Model, data: Dataset, pile: Pile) -> Model:
    """A model; one that is a function gets images in the order and with the axes they were handed over with."""
    if not isinstance(model, CallableModel):
        return model
    if len(pile.shape) == 3:
        return replace(model, layout=data.layout)
    function, axis = model.function, CHANNEL_AXIS[data.layout]  # of images without channels, which have one here
    return replace(model, layout=data.layout, function=lambda inputs: function(inputs.squeeze(axis)))


def pairs(models: Sequence[Any], data: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Each model's spec with each data set's; refused where there is only one kind."""
    if not models or not data:
        given, missing = ("--model", "--data") if models else ("--data", "--model")
        raise OptionError(f"{given} is given without {missing}. Running a model takes both.")
    return [(model, each if isinstance(each, Handed) else str(each)) for model in models for each in data]
