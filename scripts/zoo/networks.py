"""The networks: one small convolutional classifier for every defence, so that only the training differs."""

import torch
from torch import Tensor, nn

from zoo.digits import N_CLASSES

PIXELS = 64
LATENT = 8


class Classifier(nn.Sequential):
    """Images ``(n, 1, 8, 8)`` in [0, 1] to logits ``(n, 10)``; the shift to [-1, 1] is part of the network."""

    def __init__(self) -> None:
        super().__init__(
            Centre(),
            nn.Conv2d(1, 16, kernel_size=3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, kernel_size=3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 4 * 4, 48),
            nn.ReLU(),
            nn.Linear(48, N_CLASSES),
        )


class Centre(nn.Module):
    """Pixels from [0, 1] to [-1, 1]."""

    def forward(self, images: Tensor) -> Tensor:
        return 2.0 * images - 1.0


class Encoder(nn.Module):
    """Image and class to the mean and log variance of the latent ``z``; only needed while the decoder learns."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(PIXELS + N_CLASSES, 256), nn.ReLU(), nn.Linear(256, 2 * LATENT))

    def forward(self, images: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        one_hot = nn.functional.one_hot(label, N_CLASSES).float()
        mean, log_variance = self.body(torch.cat([images.flatten(1), one_hot], dim=1)).chunk(2, dim=1)
        return mean, log_variance


class Decoder(nn.Module):
    """Latent ``z`` ``(n, 8)`` and class ``label`` ``(n,)`` to images ``(n, 1, 8, 8)`` in [0, 1]: the generator."""

    def __init__(self) -> None:
        super().__init__()
        self.classes = nn.Embedding(N_CLASSES, 128)
        self.latent = nn.Linear(LATENT, 128)
        self.body = nn.Sequential(
            nn.ReLU(), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, PIXELS), nn.Sigmoid(), nn.Unflatten(1, (1, 8, 8))
        )

    def forward(self, z: Tensor, label: Tensor) -> Tensor:
        return self.body(self.latent(z) + self.classes(label))
