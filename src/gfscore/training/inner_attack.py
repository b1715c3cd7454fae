"""The attack inside training: one step from noise (N-FGSM), or several (PGD); of its own size for each image."""

import re
from dataclasses import dataclass
from typing import Any

from gfscore.errors import OptionError
from gfscore.scores import Norm

NOISE = 2.0  # N-FGSM: noise of so many times eps, which is not cut back (de Jorge and others 2022, arXiv:2202.01181)
REACH = 2.5  # times eps that the steps of PGD go together (Madry and others 2018, arXiv:1706.06083)
STEPS_OF_WALKS = 10  # where points along an attack are needed, and one step was asked for
TINY = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerAttack:
    """How training images are attacked; ``steps`` is None for N-FGSM."""

    norm: Norm
    steps: int | None = None

    @classmethod
    def named(cls, name: str, norm: Norm) -> "InnerAttack":
        """The attack of that name.

        >>> InnerAttack.named("pgd10", Norm.LINF).steps, InnerAttack.named("nfgsm", Norm.L2).steps
        (10, None)
        """
        found = re.fullmatch(r"nfgsm|pgd([1-9]\d?)", name)
        if found is None:
            raise OptionError(f"inner attack {name!r} is not known. Choose nfgsm, or pgd with its steps, as pgd10.")
        return cls(norm=norm, steps=None if found[1] is None else int(found[1]))

    @property
    def title(self) -> str:
        """For people."""
        return "N-FGSM" if self.steps is None else f"PGD-{self.steps}"

    @property
    def passes(self) -> int:
        """Forward and backward passes that it takes."""
        return self.steps or 1

    def in_steps(self) -> "InnerAttack":
        """The same in steps, for whoever needs the points between."""
        return self if self.steps is not None else InnerAttack(norm=self.norm, steps=STEPS_OF_WALKS)

    def move(self, torch: Any, module: Any, images: Any, labels: Any, eps: Any) -> Any:
        """Attacked images, for images (n, ...) in [0, 1] and sizes ``eps`` (n,)."""
        size = eps.reshape(-1, *[1] * (images.dim() - 1))
        if self.steps is None:
            noisy = images + NOISE * self._noise(torch, images, size)
            ascent = self._ascent(torch, module, noisy, labels)[0]
            return (noisy + size * ascent).clamp(0, 1)
        return self.walk(torch, module, images, labels, eps)["attacked"]

    def walk(self, torch: Any, module: Any, images: Any, labels: Any, eps: Any) -> dict[str, Any]:
        """PGD: the last point (attacked), the last one that is still right, and the first that is wrong.

        An image that is wrong from the start is itself the last right point, one that stays right has the last point
        as the first wrong one.
        """
        size = eps.reshape(-1, *[1] * (images.dim() - 1))
        steps = self.steps or STEPS_OF_WALKS
        point = (images + self._noise(torch, images, size)).clamp(0, 1)
        right, wrong = images.clone(), None
        stands = torch.ones(len(labels), dtype=torch.bool, device=images.device)
        for _ in range(steps):
            ascent, is_right = self._ascent(torch, module, point, labels)
            wrong = point.clone() if wrong is None else _where(torch, stands, point, wrong)
            stands = stands & is_right
            right = _where(torch, stands, point, right)
            point = self._inside(torch, images, point + REACH / steps * size * ascent, size)
        wrong = point if wrong is None else _where(torch, stands, point, wrong)
        return {"attacked": point, "right": right, "wrong": wrong}

    def _ascent(self, torch: Any, module: Any, point: Any, labels: Any) -> tuple[Any, Any]:
        """The direction in which the loss grows, of length 1 in the norm; and which images are right where they are."""
        inputs = point.detach().requires_grad_(requires_grad=True)
        logits = module(inputs)
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        slope = torch.autograd.grad(loss, inputs)[0]
        direction = slope.sign() if self.norm is Norm.LINF else slope / _lengths(slope).clamp_min(TINY)
        return direction, logits.detach().argmax(dim=1) == labels

    def _noise(self, torch: Any, images: Any, size: Any) -> Any:
        """Noise in the ball: uniform in the cube, or in a random direction of the full length."""
        if self.norm is Norm.LINF:
            return size * (2 * torch.rand_like(images) - 1)
        normal = torch.randn_like(images)
        return size * normal / _lengths(normal).clamp_min(TINY)

    def _inside(self, torch: Any, images: Any, point: Any, size: Any) -> Any:
        """The nearest point of the ball, as pixels."""
        moved = point - images
        if self.norm is Norm.LINF:
            moved = torch.maximum(torch.minimum(moved, size), -size)
        else:
            moved = moved * (size / _lengths(moved).clamp_min(TINY)).clamp_max(1.0)
        return (images + moved).clamp(0, 1)


def _lengths(images: Any) -> Any:
    return images.flatten(1).norm(dim=1).reshape(-1, *[1] * (images.dim() - 1))


def _where(torch: Any, chosen: Any, some: Any, others: Any) -> Any:
    return torch.where(chosen.reshape(-1, *[1] * (some.dim() - 1)), some, others)
