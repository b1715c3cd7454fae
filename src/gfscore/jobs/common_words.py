"""The words that several jobs have as parameters of their own: what goes in, where it is kept, and the seed."""

from pathlib import Path
from typing import Annotated, Any

from gfscore.errors import OptionError
from gfscore.inputs.known_data import WITH_NAMES, names_or_text
from gfscore.words import Panel, Word

ALL_RADII, NO_RADII = "all", "none"
LOGITS, RADII, VOTES = "logits", "radii", "votes"  # what is being measured, for a bar


def read_number_of_radii(text: str) -> str | int:
    """Of how many samples of each class radii are measured, as it is written.

    >>> read_number_of_radii("200"), read_number_of_radii("all")
    (200, 'all')
    """
    if text in (ALL_RADII, NO_RADII):
        return text
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{text!r} is not a number of samples per class. Write 100, all or none.") from None


LogitsFiles = Annotated[
    Any,
    Word(
        kind=list[Path] | None,
        help="Logits files: .npz, .safetensors, .parquet, .csv or .tsv, one for each model.",
        is_argument=True,
    ),
]
ModelSpecs = Annotated[
    Any,
    Word(
        kind=list[str] | None,
        metavar="SPEC",
        help="A model to run: FILE.onnx, FILE.pt2, torch:module:factory, timm:NAME, hf:ORG/NAME, "
        "robustbench:DATASET/THREAT/NAME or zoo:NAME; with words of its own as FILE.onnx?preset=cifar10. May be given "
        "several times.",
    ),
]
DataSpecs = Annotated[
    Any,
    Word(
        kind=list[str] | None,
        metavar="SPEC",
        help="Labelled images: FILE.npz, FILE.parquet, an image folder, a CIFAR or MNIST folder, generator:FILE.onnx, "
        "zoo:digits or generator:zoo. May be given several times.",
    ),
]
Reference = Annotated[
    Any,
    Word(
        kind=str | None,
        metavar="FILE",
        help="What is known of each model's robustness, to see whether scores order the models alike: a CSV "
        "(model,value), a JSON object, or robustbench:cifar10/L2.  [default: none]",
    ),
]
Accuracies = Annotated[
    Any,
    Word(
        kind=str | None,
        metavar="FILE",
        help="Clean accuracies by model to calibrate with, as --reference; robustbench:cifar10/L2 takes its clean "
        "ones.  [default: from the data]",
    ),
]
ClassNames = Annotated[
    Any,
    Word(
        kind=Path | None,
        parse=names_or_text,
        panel=Panel.INPUT,
        help=f"Names of the classes: {', '.join(WITH_NAMES)}, or a file with one per line, "
        f"or a JSON list.  [default: those of the data, else numbers]",
    ),
]
Probabilities = Annotated[bool, Word(help="The files hold probabilities, so that softmax is not applied again.")]
Groups = Annotated[
    Any,
    Word(
        kind=Path | None,
        help="Audit these groups instead of the classes: a name per line, or a CSV "
        "with a column for each attribute.  [default: classes]",
    ),
]
Seed = Annotated[
    int,
    Word(
        least=0,
        panel=Panel.STATISTICS,
        help="Seed of everything that is drawn at random: the same seed gives the same result.",
    ),
]
StoreFolder = Annotated[
    Path | None,
    Word(
        panel=Panel.OUTPUT,
        help="Folder where logits are kept and found again.  [default: $GFSCORE_STORE or the user's cache]",
    ),
]
Radii = Annotated[
    Any,
    Word(
        kind=str | None,
        parse=read_number_of_radii,
        metavar="N",
        panel=Panel.SCORE,
        help="Of how many samples of each class, drawn at random, radii are measured for robust accuracy: a "
        "number, all or none.  [default: with a model, about 1,000 in all by gradients, 500 by forward passes]",
    ),
]
