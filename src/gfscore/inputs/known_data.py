"""What is known by name: mean and std of the pixels of public data sets, or of networks, and the names of classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gfscore.errors import OptionError

PRESETS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2471, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    "mnist": ((0.1307,), (0.3081,)),
    "half": ((0.5,), (0.5,)),
    "bytes": ((0.0,), (1 / 255,)),  # of networks that divide pixels by 255 themselves: they take 0 to 255
}
OF_ANY_CHANNELS = ("half", "bytes")
NAMES_FOLDER = Path(__file__).with_name("known_names")  # a file per data set, a class per line
LARGEST = 1.001  # mean or std of pixels in [0, 1]; a little more may come from rounding
N_CLASSES = {"cifar10": 10, "cifar100": 100, "imagenet": 1000, "mnist": 10, "fashion-mnist": 10}  # of each
WITH_NAMES = ("cifar10", "cifar100", "imagenet", "mnist", "fashion-mnist")


def preset_values(name: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and std by the name of a preset, in any case.

    >>> preset_values("MNIST")
    ((0.1307,), (0.3081,))
    """
    if str(name).lower() not in PRESETS:
        raise OptionError(f"preset is {name!r}; it must be one of {', '.join(PRESETS)}.")
    return PRESETS[str(name).lower()]


def known_class_names(name: Any) -> list[str] | None:
    """The classes of a data set by its name, in any case and in the order of its labels; None when it is not known.

    >>> known_class_names("CIFAR10")[:3], known_class_names("./cifar10")
    (['airplane', 'automobile', 'bird'], None)
    """
    called = str(name).lower().replace("_", "-")
    called = "fashion-mnist" if called in ("fashionmnist", "fmnist") else called
    if called not in WITH_NAMES:
        return None
    return (NAMES_FOLDER / f"{called}.txt").read_text(encoding="utf-8").splitlines()


def names_or_text(text: str) -> Any:
    """Class names that are known by this name; otherwise the text, which is a path."""
    return known_class_names(text) or text


def refuse_bytes(mean: Sequence[float], std: Sequence[float]) -> None:
    """Refuse what is in units of 0 to 255: no pixels in [0, 1] have such a mean, and none such a deviation.

    >>> refuse_bytes((0.49,), (63.0,))
    Traceback (most recent call last):
        ...
    gfscore.errors.OptionError: --std 63 is in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: --std 0.247.
    """
    wrong = {name: values for name, values in (("mean", mean), ("std", std)) if max(values) > LARGEST}
    if not wrong:
        return
    given = " ".join(f"--{name} {','.join(f'{value:g}' for value in values)}" for name, values in wrong.items())
    are = "are" if len(wrong) > 1 else "is"
    if max(map(max, wrong.values())) > 255:
        raise OptionError(f"{given} {are} above 255, and pixels are in 0 to 1 here. Divide by the largest pixel value.")
    by = " ".join(f"--{name} {','.join(f'{value / 255:.3f}' for value in values)}" for name, values in wrong.items())
    raise OptionError(f"{given} {are} in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: {by}.")
