"""Options that several commands share, each written once."""

from pathlib import Path
from typing import Annotated

import typer

ModelSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="SPEC",
        help="A model to run: FILE.onnx, FILE.pt2, torch:module:factory, timm:NAME, hf:ORG/NAME, "
        "robustbench:DATASET/THREAT/NAME or zoo:NAME. May be given several times.",
    ),
]
DataSpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="SPEC",
        help="Labelled images: FILE.npz, FILE.parquet, an image folder, a CIFAR or MNIST folder, generator:FILE.onnx, "
        "zoo:digits or generator:zoo. May be given several times.",
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A number per model to rank beside: a CSV (model,value), a JSON object, or robustbench:cifar10/L2.",
    ),
]
TrustModel = Annotated[
    bool, typer.Option("--trust-model", help="Load model formats that hold code (.pt2, TorchScript).")
]
ModelFormat = Annotated[
    str | None, typer.Option("--format", help="torchscript, when the ending of the file does not say so.")
]
Output = Annotated[str | None, typer.Option(help="Name or position of the output that holds the logits.")]
ModelDir = Annotated[Path | None, typer.Option(help="Where RobustBench keeps its weights.")]
Preset = Annotated[
    str | None, typer.Option(help="Mean and std by name: imagenet, cifar10, cifar100, mnist or half (0.5).")
]
Mean = Annotated[str | None, typer.Option(help="Subtracted from [0, 1] pixels, such as 0.49,0.48,0.45.")]
Std = Annotated[str | None, typer.Option(help="Divides them then, such as 0.25,0.24,0.26.")]
Layout = Annotated[str | None, typer.Option(help="NHWC or NCHW, when the shape of the images does not tell.")]
Resize = Annotated[str | None, typer.Option(help="Shorter side in pixels, or height x width (224x224).")]
Crop = Annotated[str | None, typer.Option(help="Side of the middle that stays, in pixels.")]
ValueRange = Annotated[
    str | None, typer.Option("--range", help="What stands for black and white in float images, such as -1,1.")
]
BatchSize = Annotated[int, typer.Option(min=1, help="Images a forward pass; a model with a fixed batch keeps its own.")]
Interpolation = Annotated[str | None, typer.Option(help="nearest, bilinear, bicubic, lanczos or box.")]
Grey = Annotated[bool, typer.Option("--grey", help="One channel instead of three.")]
Split = Annotated[str | None, typer.Option(help="Which part of a data folder that has several: train or test.")]
Classes = Annotated[int | None, typer.Option("--classes", min=2, help="Classes of a generator that does not say so.")]
PerClass = Annotated[
    int | None,
    typer.Option(
        "--n-per-class",
        min=1,
        help="Images a generator draws of each class (100), or a random part of each class of other data (all).",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Of everything random.")]
StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="Where logits are kept.  [default: $GFSCORE_STORE or the user's cache]")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing.")]
