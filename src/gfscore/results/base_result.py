"""What every result is made of: frozen models, numbers with intervals, remarks, and files with the name of a schema.

A number that does not exist is null, never 0. Readers ignore keys that they do not know.
"""

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gfscore.errors import FileError, naming
from gfscore.storage import redact, to_read, to_write, write_text

Interval = tuple[float, float]
Share = Annotated[float, Field(ge=0, le=1)]


class Result(BaseModel):
    """Base of everything in a result file."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", validate_by_name=True, serialize_by_alias=True, allow_inf_nan=False
    )


class Metric(Result):
    """A number of a model or class, and how far it may be from the truth."""

    value: float | None = Field(description="null when it does not exist, as the Gini coefficient of zeros")
    interval: Interval | None = Field(default=None, description="null when no bound was computed")


class Flag(Result):
    """Something that makes a number less trustworthy than it looks."""

    code: str
    message: str


class Provenance(Result):
    """What made the result."""

    gfscore: str
    python: str
    numpy: str
    scipy: str
    command: str | None = None
    created: str = Field(description="UTC, ISO 8601")
    inputs: dict[str, str] = Field(default_factory=dict, description="SHA-256 of each input file")


class ResultFile(Result):
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
            except OSError as error:
                raise FileError(f"cannot be read ({error.strerror}). Check the path.") from error
            return cls.from_json(text)

    def to_json(self) -> str:
        """The contents of the file, and what ``--json`` prints."""
        return self.model_dump_json(indent=1) + "\n"

    def save(self, path: str | Path) -> None:
        """Write :meth:`to_json` to a file, whole or not at all."""
        write_text(to_write(path), self.to_json())
