"""``gfscore reproduce``: the paper's experiment, from its published numbers."""

from typing import Annotated

import typer


def reproduce_command(
    dataset: Annotated[str, typer.Argument(help="cifar10 or imagenet.")],
) -> None:
    """Recompute the tables and claims of the GF-Score paper."""
