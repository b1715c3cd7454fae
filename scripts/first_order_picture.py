"""Draw ``docs/images/first_order.png``: ``python scripts/first_order_picture.py FOLDER_OF_REAL_DATA [STORE]``.

Share of first-order radii above eps, and accuracy under PGD-20 at eps, for eight networks that others trained, on the
first 200 test images of CIFAR-10 and eps from 0 to 8/255. The attack is our own few lines of torch: steps of eps / 8 up
the difference of the largest other logit and the true one, from a random point of the ball. Needs the extra
``gradients``. Prints how far the two are apart where there is an attack: at eps = 0 both are the clean accuracy.
"""

import sys
from pathlib import Path

import altair as alt
import numpy as np
import torch

from first_order_tables import Network, networks
from gfscore.inputs.models.gradients import differentiable
from gfscore.measures.slopes import Gradients
from gfscore.storage.store import Store

IMAGES, STEPS, LEVELS = 200, 20, range(9)
PICTURE = Path(__file__).parents[1] / "docs" / "images" / "first_order.png"
ESTIMATE, ATTACK = "share of first-order radii above eps", "accuracy under PGD-20"


def margins(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """True logit minus the largest other one, (n,)."""
    own = logits.gather(1, labels[:, None])
    others = logits.scatter(1, labels[:, None], -torch.inf).max(dim=1, keepdim=True).values
    return (own - others)[:, 0]


def survivors(module: torch.nn.Module, pixels: torch.Tensor, labels: torch.Tensor, eps: float) -> torch.Tensor:
    """Which images are classified as before at every step of PGD in Linf, (n,) bool."""
    generator = torch.Generator().manual_seed(0)
    moved = (pixels + eps * (2 * torch.rand(pixels.shape, generator=generator) - 1)).clamp(0, 1)
    alive = torch.ones(len(pixels), dtype=torch.bool)
    for _ in range(STEPS):
        moved.requires_grad_(True)
        found = margins(module(moved), labels)
        alive &= found.detach() > 0
        (slope,) = torch.autograd.grad(found.sum(), moved)
        with torch.no_grad():
            moved = moved - eps / 8 * slope.sign()
            moved = torch.maximum(torch.minimum(moved, pixels + eps), pixels - eps).clamp(0, 1)
    with torch.no_grad():
        return alive & (margins(module(moved), labels) > 0)


def attacked(net: Network) -> list[float]:
    """Accuracy under PGD at every level; an image that a smaller ball breaks is broken in a larger one."""
    pixels = net.run(Store()).pixels(slice(None))
    module = differentiable(net.model, net.preprocessing, pixels)
    images, labels = torch.from_numpy(pixels), torch.from_numpy(net.data.labels)
    with torch.no_grad():
        alive = margins(module(images), labels) > 0
    shares = [float(alive.float().mean())]
    for level in LEVELS[1:]:
        alive[alive.clone()] = survivors(module, images[alive], labels[alive], level / 255)
        shares.append(float(alive.float().mean()))
    return shares


def main() -> None:
    """Measure and draw."""
    store = Store(Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    rows, off = [], []
    for net in networks(Path(sys.argv[1]), first=IMAGES):
        radii = net.radii(store, gradients=Gradients.YES).values
        shares = [float((radii > level / 255).mean()) for level in LEVELS]
        found = attacked(net)
        apart = np.abs(np.subtract(shares, found))[1:]
        off += apart.tolist()
        print(f"{net.name}: {100 * apart.max():.1f} points apart at most, at {LEVELS[1:][apart.argmax()]}/255")
        for kind, values in ((ESTIMATE, shares), (ATTACK, found)):
            rows += [
                {"network": net.name, "eps": level, "share": value, "kind": kind}
                for level, value in zip(LEVELS, values, strict=True)
            ]
    print(f"all, eps > 0: {100 * np.mean(off):.2f} points apart on average, {100 * max(off):.1f} at most")
    draw(rows).save(PICTURE, ppi=144)


def draw(rows: list[dict[str, object]]) -> alt.FacetChart:
    """A panel per network, a line each for estimate and attack."""
    legend = alt.Legend(orient="top", labelLimit=400, symbolType="stroke")
    chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("eps:Q", title="eps in 1/255 (Linf)"),
            y=alt.Y("share:Q", title="share of images", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
            color=alt.Color("kind:N", title=None, scale=_two("#00796b", "#e65100"), legend=legend),
            strokeDash=alt.StrokeDash("kind:N", scale=_two([1, 0], [4, 2]), legend=None),
            shape=alt.Shape("kind:N", scale=_two("circle", "square"), legend=None),
        )
        .properties(width=150, height=130)
    )
    return chart.facet(facet=alt.Facet("network:N", title=None, sort=None), columns=4)


def _two(estimate: object, attack: object) -> alt.Scale:
    """How the two lines differ in one respect."""
    return alt.Scale(domain=[ESTIMATE, ATTACK], range=[estimate, attack])


if __name__ == "__main__":
    main()
