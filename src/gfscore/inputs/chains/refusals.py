"""What is said when a network is no chain of known layers."""

from gfscore.errors import ModelError


def refuse(what: str) -> ModelError:
    """The error that names what stands in the way."""
    return ModelError(f"{what}, so no Lipschitz constant is computed. Give a proven one with --lipschitz.")
