"""Which networks the zoo holds, and how each is trained."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from zoo import defences
from zoo.digits import Digits
from zoo.networks import Classifier

SEED = 0  # of every network: all start from the same weights


@dataclass(frozen=True)
class Recipe:
    """One network: a defence with its options, and what to do to the logits afterwards."""

    name: str
    family: str
    description: str
    defence: Callable[..., defences.Loss]
    options: dict[str, float] = field(default_factory=dict)
    epochs: int = 60
    rate: float = 2e-3
    logit_scale: float = 1.0

    def train(self, data: Digits) -> Classifier:
        """The trained network."""
        network = defences.train(self.defence(**self.options), data, seed=SEED, epochs=self.epochs, rate=self.rate)
        defences.scale_logits(network, self.logit_scale)
        return network

    @property
    def training(self) -> dict[str, Any]:
        """The hyperparameters, for the manifest."""
        return {
            "seed": SEED,
            "epochs": self.epochs,
            "batch": defences.BATCH,
            "rate": self.rate,
            "logit_scale": self.logit_scale,
            **self.options,
        }


RECIPES = (
    Recipe(
        name="standard",
        family="standard",
        description="Trained on the images as they are.",
        defence=defences.standard,
    ),
    Recipe(
        name="noise",
        family="noise augmentation",
        description="Trained on images with Gaussian noise (standard deviation 0.3).",
        defence=defences.noise,
        options={"sigma": 0.3},
        epochs=100,
    ),
    Recipe(
        name="pgd-small",
        family="adversarial training",
        description="Trained on images that an attack moved a little (L2 radius 0.25).",
        defence=defences.adversarial,
        options={"radius": 0.25},
    ),
    Recipe(
        name="pgd-large",
        family="adversarial training",
        description="Trained on images that an attack moved further (L2 radius 0.75).",
        defence=defences.adversarial,
        options={"radius": 0.75},
    ),
    Recipe(
        name="trades",
        family="TRADES",
        description="Trained to be right on the images and to say the same when an attack moves them (L2 radius 0.5).",
        defence=defences.trades,
        options={"radius": 0.5, "weight": 4.0},
    ),
    Recipe(
        name="awp",
        family="adversarial weight perturbation",
        description="Trained on attacked images (L2 radius 0.5), each step taken at the worst weights nearby.",
        defence=defences.weight_perturbed,
        options={"radius": 0.5, "strength": 0.01},
    ),
    Recipe(
        name="worst-class",
        family="class-reweighted adversarial training",
        description="Trained as pgd-large, with more weight on the classes that fare worst (L2 radius 0.75).",
        defence=defences.worst_class,
        options={"radius": 0.75, "step": 0.02},
    ),
    Recipe(
        name="scaled",
        family="logit scaling",
        description="The standard network with all logits times 64: the same decisions and no more robustness, but the "
        "highest GREAT score of all. It is here to fool the score.",
        defence=defences.standard,
        logit_scale=64.0,
    ),
)
