"""What is said when a network is no chain of known layers."""

from gfscore.errors import ModelError


def refuse(what: str, *, instead: str = "") -> ModelError:
    """The error that names what stands in the way, and what else there is to do than to prove a constant oneself."""
    advice = f"{instead}, or give" if instead else "Give"
    return ModelError(f"{what}, so no Lipschitz constant is computed. {advice} a proven one with --lipschitz.")
