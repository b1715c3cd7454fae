"""Networks whose radii deserve no trust, and which flags they raise: ``python scripts/masked_networks.py``.

Each is the standard network of the zoo with something around it that hides or bends its slopes, as defences that fail
do (Athalye, Carlini and Wagner, ICML 2018); for the table of ``docs/scores.md``. Flags are of the first 450 digits,
accuracies of the first 50. Needs the extras ``attacks`` and ``gradients``.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import gfscore
from gfscore.errors import ModelError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.measures import Run
from gfscore.measures.sized_attacks import autoattack
from gfscore.measures.targets import Targets

EPS, FIRST, ATTACKED = 0.1, 450, 50  # size in Linf, digits that are audited, and attacked
REFUSED = "zero_gradient"  # of more than 1 % of the correct samples: no radii at all
TRUST = ("margins_disagree", "boundary_not_there", "boundary_nearer", "slopes_in_few_pixels", REFUSED)

Wrap = Callable[[Any, Any], Any]  # logits from a network and pixels


class Masked(NamedTuple):
    """A network around another, and the flags that it must raise."""

    words: str
    wrap: Wrap
    flags: tuple[str, ...]


def directions(count: int, seed: int) -> Any:
    """Random directions among the 64 pixels, each pixel 1 or -1."""
    return np.sign(np.random.default_rng(seed).normal(size=(count, 64))).astype(np.float32)


def rounded(pixels: Any) -> Any:
    """To nine grey levels."""
    return (pixels * 8).round() / 8


def wrappings() -> dict[str, Masked]:
    """What is tried."""
    import torch

    shaking, hidden = torch.from_numpy(directions(10, 1)), torch.from_numpy(directions(1, 2))[0]
    seen = torch.zeros(64)
    seen[[19, 36, 44]] = 1  # pixels

    def tooth(pixels: Any) -> Any:
        """1 in narrow bands across a direction that no slope shows, else 0; every digit is near one."""
        place = (pixels.flatten(1) @ hidden) * (2 * math.pi / 8)
        return ((place.cos() - 0.995) / 0.004).clamp(0, 1)[:, None]

    def louder(pixels: Any) -> Any:
        return torch.exp(4 * torch.sin(37 * pixels.flatten(1).sum(1, keepdim=True))).detach()

    return {
        "as it is": Masked("nothing", lambda net, x: net(x), ()),
        "rounded": Masked("inputs rounded to nine levels", lambda net, x: net(rounded(x)), (REFUSED,)),
        "rounded, slopes passed": Masked(
            "the same, with the slopes of what is not rounded",
            lambda net, x: net(x + (rounded(x) - x).detach()),
            ("boundary_not_there",),
        ),
        "saturated": Masked(
            "logits times 100, cut at -1 and 1", lambda net, x: (100 * net(x)).clamp(-1, 1), (REFUSED,)
        ),
        "stairs": Masked(
            "logits rounded to halves, and a hundredth of them", lambda net, x: _stairs(net(x)), ("boundary_nearer",)
        ),
        "ripple": Masked(
            "a sine of each logit added, which turns slopes around",
            lambda net, x: net(x) + 0.4 * torch.sin(7 * net(x)),
            ("boundary_not_there",),
        ),
        "noise": Masked(
            "a fast sine of the pixels added to each logit",
            lambda net, x: net(x) + 0.3 * torch.sin(4 * x.flatten(1) @ shaking.T),
            ("boundary_not_there",),
        ),
        "loudness": Masked(
            "all logits times something else for each image", lambda net, x: net(x) * louder(x), ("margins_disagree",)
        ),
        "three pixels": Masked(
            "a very fast sine of three pixels added to each logit",
            lambda net, x: net(x) + 0.3 * torch.sin(1000 * (x.flatten(1) * seen) @ shaking.T),
            ("boundary_not_there", "slopes_in_few_pixels"),
        ),
        "hidden bands": Masked(
            "logits turned around in narrow bands across one direction", lambda net, x: net(x) * (1 - 2 * tooth(x)), ()
        ),
    }


def _stairs(logits: Any) -> Any:
    return (2 * logits).round() / 2 + 0.01 * logits


def module_of(masked: Masked, run: Run) -> Any:
    """The network as a module of pixels."""
    import torch

    inner = run.differentiable()

    class Around(torch.nn.Module):
        def forward(self, pixels: Any) -> Any:
            return masked.wrap(inner, pixels)

    return Around().eval()


def flags_of(module: Any, run: Run, first: int = FIRST) -> tuple[tuple[str, ...], float | None]:
    """The flags about trust that an audit of the first digits raises, and the robust accuracy that their radii say."""
    pixels, labels = run.pixels(slice(0, first)), run.data.labels[:first]
    try:
        audit = gfscore.audit(module, (pixels, labels), eps=EPS, radii="all", norm="linf")
    except ModelError as error:
        if "no slope towards a rival" not in str(error):
            raise
        return (REFUSED,), None
    found = audit.model
    value = None if found.robust_accuracy is None else found.robust_accuracy.value
    return tuple(flag.code for flag in found.flags if flag.code in TRUST), value


def under_attack(module: Any, run: Run) -> float:
    """Accuracy under AutoAttack of the first digits."""
    import torch

    pixels, labels = run.pixels(slice(0, ATTACKED)), run.data.labels[:ATTACKED]

    def classify(images: Any) -> Any:
        with torch.no_grad():
            return module(torch.from_numpy(np.ascontiguousarray(images))).numpy()

    right = np.flatnonzero(classify(pixels).argmax(axis=1) == labels)
    targets = Targets(
        classify=classify, pixels=pixels[right], labels=labels[right], radii=np.full(len(right), EPS), norm="linf"
    )
    module.register_buffer("scale", torch.ones(1))  # what attacks ask for the device
    witnesses, _ = autoattack(targets, module, "NCHW", n_classes=10)
    return float((~witnesses.found).sum() / ATTACKED)


def digits_run() -> Run:
    """The standard network of the zoo on the digits."""
    return Run(model=load_model("zoo:standard", threads=1), data=load_data("zoo:digits"))


def main() -> None:
    """Print the table."""
    import torch

    torch.set_num_threads(1)
    run = digits_run()
    print("| network | what was put around it | radii say | AutoAttack | flags |\n|---|---|--:|--:|---|")
    for name, masked in wrappings().items():
        module = module_of(masked, run)
        flags, value = flags_of(module, run)[0], flags_of(module, run, ATTACKED)[1]
        said = "refused" if value is None else f"{100 * value:.0f} %"
        raised = ", ".join(f"`{flag}`" for flag in flags) or "none"
        print(f"| {name} | {masked.words} | {said} | {100 * under_attack(module, run):.0f} % | {raised} |", flush=True)


if __name__ == "__main__":
    main()
