"""The generator: the decoder of a conditional variational autoencoder."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy

from zoo.digits import N_CLASSES, Digits
from zoo.networks import LATENT, Decoder, Encoder

BATCH = 64


def train_generator(data: Digits, *, seed: int, epochs: int, rate: float, divergence_weight: float) -> Decoder:
    """Decoder that turns ``z ~ N(0, I)`` and a class into an image. Sohn, Lee and Yan, NeurIPS 2015.

    A pixel is a share of ink, 0 to 1, so its reconstruction is judged by a cross-entropy.
    """
    torch.manual_seed(seed)
    encoder, decoder = Encoder(), Decoder()
    images, labels = torch.from_numpy(data.images), torch.from_numpy(data.labels)
    optimiser = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=rate)
    batches = -(-len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, epochs=epochs, steps_per_epoch=batches)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(BATCH):
            mean, log_variance = encoder(images[rows], labels[rows])
            z = mean + torch.exp(log_variance / 2) * torch.randn_like(mean)
            reconstruction = binary_cross_entropy(decoder(z, labels[rows]), images[rows], reduction="sum")
            divergence = (mean**2 + log_variance.exp() - log_variance - 1).sum() / 2
            optimiser.zero_grad()
            ((reconstruction + divergence_weight * divergence) / len(rows)).backward()
            optimiser.step()
            schedule.step()
    return decoder.eval()


def draw(per_class: int, *, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Inputs of the generator: ``z`` and ``label``, ``per_class`` of each class in order."""
    label = np.repeat(np.arange(N_CLASSES), per_class)
    return np.random.default_rng(seed).standard_normal((len(label), LATENT), dtype=np.float32), label
