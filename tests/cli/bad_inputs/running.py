"""Models, data, the store, plans and reproductions."""

from pathlib import Path

import numpy as np
from PIL import Image

from bad_inputs.making import case


@case(
    "Invalid value for 'dataset': Value error, 'mnist' is not one of 'cifar10', 'imagenet'. See gfscore reproduce --help."
)
def dataset_unknown(folder):
    return ["reproduce", "mnist", "--from-published"]


@case("--mean 125,122,113 is in 0 to 255, and pixels are in 0 to 1 here. Divide by 255: --mean 0.490,0.478,0.443.")
def mean_of_bytes(folder):
    run = ["--model", "zoo:standard", "--data", "zoo:digits", "--store", str(folder / "store")]
    return ["audit", *run, "--mean", "125,122,113", "--std", "0.25"]


@case("--model is given without --data. Running a model takes both.")
def model_without_data(folder):
    return ["audit", "--model", "zoo:standard"]


@case("--data is given without --model. Running a model takes both.")
def data_without_model(folder):
    return ["audit", "--data", "zoo:digits"]


@case("{folder}/i.npz: label 9223372036854775813 in row 7 is no class index: they are below 16,777,216. Check it.")
def label_beyond_every_class(folder):
    labels = np.arange(20, dtype=np.uint64) % 10
    labels[7] = 2**63 + 5  # below zero as int64
    np.savez(folder / "i.npz", images=np.zeros((20, 8, 8), dtype=np.float32), labels=labels)
    return ["audit", "--model", "zoo:standard", "--data", str(folder / "i.npz"), "--store", str(folder / "store")]


@case("one --model and one --data make one logits file. Call the command once for each.")
def logits_of_two_models(folder):
    options = ["--model", "zoo:standard", "--model", "zoo:noise", "--data", "zoo:digits"]
    return ["logits", *options, "-o", str(folder / "m.safetensors")]


@case("--out {folder}/m.npz has the ending '.npz'. Logits are written as .safetensors.")
def logits_to_another_format(folder):
    return ["logits", "--model", "zoo:standard", "--data", "zoo:digits", "-o", str(folder / "m.npz")]


@case("say what to run on: --data (the test set, or generated images), or add --from-published.")
def reproduce_without_data(folder):
    return ["reproduce", "cifar10"]


@case("say what to delete: the key of an entry (gfscore store list), or --all.")
def store_clear_of_nothing(folder):
    return ["store", "clear", "--store", str(folder)]


@case("0 entries have a key that begins with 'abc'. See gfscore store list.")
def store_clear_of_an_unknown_key(folder):
    return ["store", "clear", "abc", "--store", str(folder)]


@case(
    "a half-width of 5 is more than that of the whole scale, 0.6267, which holds without a sample. Give a smaller one, such as 0.05."
)
def plan_of_a_half_width_off_the_scale(folder):
    return ["plan", "--classes", "4", "--half-width", "5"]


@case("say what is known: --half-width for the samples it needs, or --n for the half-width they buy.")
def plan_without_a_question(folder):
    return ["plan", "--classes", "10"]


@case("say how many classes there are (--classes), or give a first audit (--pilot).")
def plan_without_classes(folder):
    return ["plan", "--half-width", "0.1"]


@case(
    "{folder}/images/a/1.png: is 4100 x 4100 pixels, and an image for a model has at most 16,777,216. "
    "Give --resize, such as --resize 256 --crop 224."
)
def an_image_too_large_for_a_model(folder: Path) -> list[str]:
    for name in "ab":
        (folder / "images" / name).mkdir(parents=True)
        Image.new("1", (4100, 4100)).save(folder / "images" / name / "1.png")
    return ["audit", "--model", "zoo:standard", "--data", str(folder / "images"), "--store", str(folder / "store")]
