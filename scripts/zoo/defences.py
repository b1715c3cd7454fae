"""The defence families: each is a loss of (network, images, labels), and one loop trains them all."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy as mean_cross_entropy
from torch.nn.functional import kl_div, log_softmax

from zoo import attack
from zoo.digits import N_CLASSES, Digits
from zoo.networks import Classifier

Loss = Callable[[nn.Module, Tensor, Tensor], Tensor]

PGD_STEPS = 7
BATCH = 64


def train(loss: Loss, data: Digits, *, seed: int, epochs: int, rate: float) -> Classifier:
    """A network trained with Adam, the learning rate going up and down once.

    Equal seeds give equal first weights, whatever the loss.
    """
    torch.manual_seed(seed)
    network = Classifier()
    images, labels = torch.from_numpy(data.images), torch.from_numpy(data.labels)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    batches = -(-len(labels) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, epochs=epochs, steps_per_epoch=batches)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(BATCH):
            optimiser.zero_grad()
            loss(network, images[rows], labels[rows]).backward()
            optimiser.step()
            schedule.step()
    return network.eval()


def standard() -> Loss:
    """Cross-entropy on the images as they are."""
    return lambda network, images, labels: mean_cross_entropy(network(images), labels)


def noise(sigma: float) -> Loss:
    """Cross-entropy on images with Gaussian noise, as randomized smoothing asks for. Cohen et al., ICML 2019."""

    def loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        return mean_cross_entropy(network(images + sigma * torch.randn_like(images)), labels)

    return loss


def adversarial(radius: float) -> Loss:
    """Cross-entropy on the worst images an attack finds. Madry et al., ICLR 2018."""
    return lambda network, images, labels: mean_cross_entropy(network(worst(network, images, labels, radius)), labels)


def trades(radius: float, weight: float) -> Loss:
    """Cross-entropy on clean images, plus how far an attack moves the confidences. Zhang et al., ICML 2019."""

    def loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        clean = network(images)
        target = log_softmax(clean.detach(), dim=1)
        moved = attack.pgd(network, images, lambda logits: divergence(logits, target), radius=radius, steps=PGD_STEPS)
        change = divergence(network(moved), log_softmax(clean, dim=1)).mean()
        return mean_cross_entropy(clean, labels) + weight * change

    return loss


def weight_perturbed(radius: float, strength: float) -> Loss:
    """Adversarial training at the worst weights nearby (AWP). Wu, Xia and Wang, NeurIPS 2020.

    Each tensor of weights moves up the loss by ``strength`` times its own norm. The gradient is taken there and
    applied to the weights themselves.
    """

    def loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        moved = worst(network, images, labels, radius)
        weights = dict(network.named_parameters())
        gradients = torch.autograd.grad(mean_cross_entropy(network(moved), labels), list(weights.values()))
        shifted = {
            name: weight + strength * weight.detach().norm() * gradient / gradient.norm().clamp_min(1e-30)
            for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
        }
        return mean_cross_entropy(torch.func.functional_call(network, shifted, moved), labels)

    return loss


def worst_class(radius: float, step: float) -> Loss:
    """Adversarial training in which a class weighs more, the larger its loss. Sagawa et al., ICLR 2020 (group DRO)."""
    weights = torch.ones(N_CLASSES) / N_CLASSES

    def loss(network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        losses = attack.cross_entropy(labels)(network(worst(network, images, labels, radius)))
        members = nn.functional.one_hot(labels, N_CLASSES).float()
        class_losses = (losses @ members) / members.sum(dim=0).clamp_min(1)  # 0 for a class not in the batch
        weights.mul_(torch.exp(step * class_losses.detach()))
        weights.div_(weights.sum())
        return weights @ class_losses

    return loss


def scale_logits(network: Classifier, factor: float) -> None:
    """Multiply all logits by ``factor``, in place; a power of two leaves every decision exactly as it is."""
    with torch.no_grad():
        for parameter in network[-1].parameters():
            parameter.mul_(factor)


def worst(network: nn.Module, images: Tensor, labels: Tensor, radius: float) -> Tensor:
    """Images that an attack of :data:`PGD_STEPS` steps finds within ``radius``."""
    return attack.pgd(network, images, attack.cross_entropy(labels), radius=radius, steps=PGD_STEPS)


def divergence(logits: Tensor, target: Tensor) -> Tensor:
    """KL divergence of each row of confidences from ``target``, given as logarithms."""
    return kl_div(log_softmax(logits, dim=1), target, reduction="none", log_target=True).sum(dim=1)
