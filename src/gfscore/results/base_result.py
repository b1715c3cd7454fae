"""What every result is: frozen, to and from JSON; and where its numbers come from."""

import json
from html import escape
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gfscore.errors import FileError, MissingFileError, ResultError, naming
from gfscore.results.shown_by import function_for
from gfscore.storage import redact, to_read, to_write, write_text

Interval = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]
WeightedBy = Literal["samples", "class_sizes", "unequal_draws"]
Setting = float | int | str | bool | None


class Result(BaseModel):
    """Base of everything in a result file."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", validate_by_name=True, serialize_by_alias=True, allow_inf_nan=False
    )

    def __dir__(self) -> list[str]:
        """What belongs to results: names of pydantic work, but nobody looks for them."""
        of_pydantic = {name for name in dir(BaseModel) if not name.startswith("_")} - type(self).__annotations__.keys()
        return sorted(set(object.__dir__(self)) - of_pydantic - {"schema_"})


class Shown(Result):
    """Base of results that show themselves, and can be asked for more, in words and by jobs that are elsewhere."""

    def _ask(self, what: str, *given: Any, **words: Any) -> Any:
        found = function_for(type(self), what)
        if found is None:
            raise ResultError(f"{type(self).__name__} has nothing that makes its {what}.")
        return found(self, *given, **words)

    def __repr__(self) -> str:
        return str((function_for(type(self), "text") or BaseModel.__repr__)(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        found = function_for(type(self), "html")
        return f"<pre>{escape(repr(self))}</pre>" if found is None else str(found(self))


class Metric(Result):
    """A number of a model or class, and how far it may be from the truth."""

    value: float | None = Field(description="null when it does not exist, as the Gini coefficient of zeros")
    interval: Interval | None = Field(default=None, description="null when no bound was computed")


# Codes of flags
VOIDING = ("labels_shifted", "labels_permuted", "at_chance", "all_zero", "bounded_logits")  # nothing is left to judge
IMAGES_REARRANGED = "images_rearranged"  # another order of pixels fits: why little is right
COLOURS_SWAPPED = "colours_swapped"  # blue, green, red fits better than red, green, blue
PREPROCESSING_LIKELY = "preprocessing_likely"  # another normalisation fits: why little is right, where it is there
ONE_TAKES_ALL = "one_class_takes_all"
CAUSES = (IMAGES_REARRANGED, PREPROCESSING_LIKELY, COLOURS_SWAPPED)  # why images are not what they are taken for
MISTAKES = (*CAUSES, ONE_TAKES_ALL, *VOIDING)  # labels, images or logits are not what they are taken for


class Flag(Result):
    """Something that makes a number less trustworthy than it looks."""

    code: str
    message: str

    @property
    def voids(self) -> bool:
        """Whether it leaves nothing to judge: the numbers are about nothing."""
        return self.code in VOIDING

    @property
    def mistaken(self) -> bool:
        """Whether labels, images or logits are, by this flag, not what they are taken for."""
        return self.code in MISTAKES


class Provenance(Result):
    """What made the result."""

    gfscore: str
    python: str
    numpy: str
    scipy: str
    command: str | None = None
    created: str = Field(description="UTC, ISO 8601")
    inputs: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each input file")


class ResultFile(Shown):
    """Base of what is a file of its own, with the name of its schema in it."""

    schema_: str = Field(alias="schema")

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what :meth:`to_json` wrote; keys that this version does not know are ignored."""
        schema = cls.model_fields["schema_"].default
        name = schema.removeprefix("gfscore.").partition("/")[0]
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FileError(f"is not JSON ({error}). Give the {name}.json that gfscore wrote.") from error
        found = data.get("schema") if isinstance(data, dict) else None
        if found != schema:
            raise FileError(f"has schema {found!r}; this version reads {schema!r}. Run the {name} again.")
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise FileError(f"breaks the schema at {place}: {first['msg']}. Run the {name} again.") from error

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file that :meth:`save` wrote."""
        with naming(redact(path)):
            try:
                text = to_read(path).read_bytes()
            except FileNotFoundError as error:
                raise MissingFileError("does not exist. Check the path.") from error
            except OSError as error:
                raise FileError(f"cannot be read ({error.strerror}). Check the path.") from error
            return cls.from_json(text)

    def to_json(self) -> str:
        """The contents of the file, and what ``--json`` prints."""
        return self.model_dump_json(indent=1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write :meth:`to_json` to a file, whole or not at all."""
        write_text(to_write(path), self.to_json())


class ScoreInfo(Result):
    """Which local score was used, and how."""

    name: str = Field(description="great, or another local score")
    range: Interval = Field(description="smallest and largest value a sample can have")
    activation: Literal["softmax", "sigmoid"] | None = None
    temperature: float | None = None
    norm: str | None = None
    eps: float | None = None
    settings: dict[str, Setting] | None = Field(
        default=None, description="what else decides the score, such as rivals, directions or sigma"
    )
    probabilities: bool = Field(default=False, description="the input held probabilities, not logits")


class SamplesInfo(Result):
    """Where the samples came from."""

    source: str = Field(description="file, or 'arrays' when they were handed over in memory")
    n: int = Field(ge=1)
    seed: int | None = Field(default=None, description="of the generator that drew them, if one did")
    weighted_by: WeightedBy = Field(
        default="samples",
        description="what numbers of the whole (aggregate, accuracy, robust_accuracy, abstained) are means over: all "
        "samples alike; classes by their size, because they were not drawn in proportion to it; or unequal_draws: all "
        "samples alike although classes were not drawn in proportion, so that these numbers are about the draw only",
    )


class ModelInfo(Result):
    """A model that was run."""

    name: str
    fingerprint: str | None = Field(
        description="changes whenever its outputs may; null for a function in memory, of which nothing tells that"
    )


class DataInfo(Result):
    """Data that a model was run on."""

    source: str
    fingerprint: str = Field(description="changes whenever images or labels may")
    seed: int | None = Field(default=None, description="of the generator that drew them, if one did")


class PreprocessingInfo(Result):
    """What happened to the pixels before the model saw them; by default nothing."""

    mean: tuple[float, ...] = Field(default=(0.0,), description="taken off each channel, of pixels in [0, 1]")
    std: tuple[float, ...] = Field(default=(1.0,), description="that each channel is then divided by")
    resize: int | tuple[int, int] | None = Field(default=None, description="shorter side, or height and width")
    crop: int | tuple[int, int] | None = Field(default=None, description="of the middle: side, or height and width")
    interpolation: str = Field(default="bilinear", description="of resize")
    grey: bool = False
    value_range: Interval | None = Field(
        default=None, description="that is mapped to [0, 1]; null: 0 to 255 for whole numbers, else 0 to 1"
    )
    layout: str | None = Field(default=None, description="NCHW or NHWC, of the stored images, where it was said")


class RunInfo(Result):
    """How a model was run: all that decides its outputs."""

    model: ModelInfo
    data: DataInfo
    preprocessing: PreprocessingInfo
    batch_size: int | None = Field(default=None, description="null in files of versions that did not record it")
    device: str | None = Field(default=None, description="where the model ran, such as cuda; null: on the processor")
    precision: str | None = Field(
        default=None, description="of forward passes, float16 or bfloat16; null: that of the model's weights"
    )


class IntervalInfo(Result):
    """What all intervals of a model have in common: together they hold with probability 1 - delta."""

    method: str = Field(description="betting, kl, bernstein, hoeffding, blocks or mixture")
    delta: float = Field(gt=0, lt=1)
    target: Literal["population", "finite"] = Field(
        description="what is bounded: the distribution the samples come from, or the fixed set they were drawn from"
    )
    seed: int | None = Field(
        default=None,
        description="of the order in which betting takes the samples, or of the blocks that they were dealt to",
    )
    anytime: bool = Field(
        default=False, description="they hold together at every moment of a stream, whatever made one look or stop"
    )
    temperatures: Interval | None = Field(
        default=None,
        description="a band: they hold at every temperature of this range at once, so also at one that was chosen on "
        "the same samples; null: at the one temperature there is, if it was fixed beforehand",
    )
