"""``gfscore reproduce``: the paper's experiment, from its published numbers."""

import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from gfscore.errors import OptionError
from gfscore.outputs.reproduction import show
from gfscore.reproduction import reproduce


class Experiment(StrEnum):
    """The paper's two experiments."""

    CIFAR10 = "cifar10"
    IMAGENET = "imagenet"


def reproduce_command(
    dataset: Annotated[Experiment, typer.Argument(help="Which of the paper's two experiments.")],
    from_published: Annotated[
        bool, typer.Option("--from-published", help="Recompute from the numbers published with the paper.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print tables and claims as JSON.")] = False,
) -> None:
    """Recompute the tables and claims of the GF-Score paper, and say which of them hold."""
    if not from_published:
        raise OptionError("running the paper's models is not offered by this version. Add --from-published.")
    reproduction = reproduce(dataset.value)
    if as_json:
        sys.stdout.write(reproduction.to_json())
    else:
        show(reproduction, Console())
