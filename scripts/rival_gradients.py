"""Time three ways to the gradients of three margins: ``python scripts/rival_gradients.py FOLDER_OF_REAL_DATA``.

A backward pass for each rival (what the package does), one batched backward pass (``is_grads_batched``, by vmap), and
images repeated so that one plain backward pass does. Processor time an image, the best of five.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from first_order_tables import networks
from gfscore.inputs.models.gradients import margin_gradients
from gfscore.scores import strongest_rivals
from gfscore.storage.store import Store

NAMES = ("cifar_cnn_a_adv", "cifar_vit_pgd_2_3_16", "cifar_resnet20")
IMAGES = 21  # that are differentiated together


def main() -> None:
    """Print a row per network."""
    import torch

    torch.set_num_threads(1)
    print("| network | a pass each | batched | repeated |\n|---|--:|--:|--:|")
    for net in networks(Path(sys.argv[1]), NAMES, first=IMAGES):
        run = net.run(Store(Path(sys.argv[2])))
        module, pixels, labels = run.differentiable(), run.pixels(slice(0, IMAGES)), net.data.labels
        rivals = strongest_rivals(run.logits_of(pixels), labels, 3)
        own, others = torch.from_numpy(labels[:, None].copy()), torch.from_numpy(rivals.copy())

        def margins(images: Any, own: Any = own, others: Any = others, module: Any = module) -> Any:
            logits = module(images)
            return logits.gather(1, own) - logits.gather(1, others)

        def batched(pixels: Any = pixels, margins: Any = margins) -> Any:
            inputs = torch.from_numpy(pixels).requires_grad_(requires_grad=True)
            sums = margins(inputs).sum(dim=0)
            return torch.autograd.grad(sums, inputs, torch.eye(3), is_grads_batched=True)[0]

        def repeated(pixels: Any = pixels, own: Any = own, others: Any = others, module: Any = module) -> Any:
            inputs = torch.from_numpy(np.repeat(pixels, 3, axis=0)).requires_grad_(requires_grad=True)
            logits = module(inputs)
            found = logits.gather(1, own.repeat_interleave(3, dim=0)) - logits.gather(1, others.reshape(-1, 1))
            return torch.autograd.grad(found.sum(), inputs)[0]

        def each(module: Any = module, pixels: Any = pixels, labels: Any = labels, rivals: Any = rivals) -> Any:
            return margin_gradients(module, pixels, labels, rivals)

        cells = []
        for way in (each, batched, repeated):
            try:
                cells.append(f"{1000 * _best(way) / IMAGES:.2f} ms")
            except (RuntimeError, NotImplementedError) as error:
                cells.append(type(error).__name__)
        print(f"| `{net.name}` | {' | '.join(cells)} |", flush=True)


def _best(way: Callable[[], Any]) -> float:
    times = []
    for _ in range(5):
        started = time.process_time()
        way()
        times.append(time.process_time() - started)
    return min(times)


if __name__ == "__main__":
    main()
