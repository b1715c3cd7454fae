"""Models, images and logits in each other's place, and options whose file is missing."""

import numpy as np
from safetensors.numpy import save_file

from bad_inputs.making import LABELS, LOGITS, case, npz

IMAGES = np.zeros((4, 8, 8, 1), np.uint8)


def images(**arrays):
    np.savez("images.npz", **(arrays or {"images": IMAGES, "labels": LABELS}))
    return "images.npz"


def image_folder(folder):
    (folder / "pictures" / "cat").mkdir(parents=True)
    return "pictures"


def safetensors(folder):
    save_file({"logits": LOGITS, "labels": LABELS}, folder / "logits.safetensors")
    return "logits.safetensors"


@case("net.onnx is a model, and images.npz holds images. Did you mean --model net.onnx --data images.npz?")
def model_and_images_without_their_options(folder):
    return ["audit", "net.onnx", images()]


@case("images.npz holds images, and net.onnx is a model. Did you mean --model net.onnx --data images.npz?")
def images_before_the_model(folder):
    return ["audit", images(), "net.onnx"]


@case("net.onnx is a model, and images.npz holds images. Did you mean --model net.onnx --data images.npz?")
def gate_of_a_model_and_images_without_their_options(folder):
    return ["gate", "net.onnx", images(), "--wcr", "0.1"]


@case("timm:resnet18 is a model, and pictures holds images. Did you mean --model timm:resnet18 --data pictures?")
def model_and_a_folder_without_their_options(folder):
    return ["audit", "timm:resnet18", image_folder(folder)]


@case("net.onnx is a model. Did you mean --model net.onnx --data nowhere.npz?")
def model_and_a_missing_file_without_their_options(folder):
    return ["audit", "net.onnx", "nowhere.npz"]


@case("images.npz holds images, and net.onnx is a model. Did you mean --model net.onnx --data images.npz?")
def model_and_data_swapped(folder):
    return ["audit", "--model", images(), "--data", "net.onnx"]


@case("net.onnx is a model. Did you mean --model net.onnx --data IMAGES?")
def model_alone(folder):
    return ["audit", "net.onnx"]


@case("net.onnx is a model. Did you mean --model net.onnx --data IMAGES?")
def model_as_data(folder):
    return ["audit", "--data", "net.onnx"]


@case("images.npz holds images. Did you mean --model NET --data images.npz?")
def images_alone(folder):
    return ["audit", images()]


@case("images.npz holds images. Did you mean --model NET --data images.npz?")
def images_by_their_short_name_alone(folder):
    return ["audit", images(x=IMAGES, y=LABELS)]


@case("images.npz holds images, and net.onnx is a model. Did you mean --model net.onnx --data images.npz?")
def images_without_their_option(folder):
    return ["audit", images(), "--model", "net.onnx"]


@case("{folder}/m.npz holds logits. Did you mean gfscore audit {folder}/m.npz?")
def logits_as_a_model(folder):
    return ["audit", "--model", npz(folder)[1]]


@case(
    "net.onnx is a model, and {folder}/m.npz holds logits. Did you mean gfscore audit {folder}/m.npz, or --model net.onnx --data IMAGES?"
)
def logits_as_data(folder):
    return ["audit", "--model", "net.onnx", "--data", npz(folder)[1]]


@case("net.onnx is a model, and logits.safetensors holds logits. Did you mean --model net.onnx --data IMAGES?")
def logits_of_safetensors_as_data_of_a_check(folder):
    return ["check", "--model", "net.onnx", "--data", safetensors(folder)]


@case("images.npz holds images, and net.onnx is a model. Did you mean gfscore init net.onnx images.npz?")
def init_with_both_swapped(folder):
    return ["init", images(), "net.onnx"]


@case("net.onnx is a model, and images.npz holds images. Did you mean --model net.onnx --data images.npz?")
def calibration_of_a_model(folder):
    return ["calibrate", "net.onnx", images(), "--objective", "classes"]


@case(
    "Got unexpected extra argument(s) (net.onnx images.npz). Did you mean --model net.onnx --data images.npz? See gfscore check --help."
)
def check_of_a_model_and_images_without_their_options(folder):
    return ["check", "net.onnx", images()]


@case("a version is a model, without data. Give them: --data IMAGES (data=...).")
def comparison_of_models_without_data(folder):
    return ["compare", "old.onnx", "new.onnx"]


@case("--model: net.onnx: does not exist. Check the path.")
def model_file_missing(folder):
    return ["audit", "--model", "net.onnx?preset=cifar10", "--data", "zoo:digits", "--store", "store"]


@case("--data: nowhere.npz: does not exist. Check the path.")
def data_file_missing(folder):
    return ["audit", "--model", "zoo:standard", "--data", "nowhere.npz", "--store", "store"]


@case("--groups: groups.csv: does not exist. Check the path.")
def groups_file_missing(folder):
    return npz(folder, "--groups", "groups.csv")


@case(
    "--label-names: names.txt: does not exist. Give a file of names, or one of cifar10, cifar100, imagenet, mnist, fashion-mnist."
)
def label_names_file_missing(folder):
    return npz(folder, "--label-names", "names.txt")


@case("--reference: r.csv: does not exist. Check the path.")
def reference_file_missing(folder):
    return npz(folder, "--reference", "r.csv")


@case("--baseline: b.json: does not exist. Check the path.")
def baseline_audit_missing(folder):
    return ["gate", npz(folder)[1], "--change", "wcr=-0.1", "--baseline", "b.json"]


@case("--pilot: p.json: does not exist. Check the path.")
def pilot_missing(folder):
    return ["plan", "--pilot", "p.json", "--half-width", "0.1"]


@case(
    "--mean is about images that a model is run on, and an audit of logits files runs none. Leave it out, or say --model and --data."
)
def normalisation_of_logits(folder):
    return [*npz(folder), "--mean", "0.5", "--std", "0.5"]


@case(
    "--n-per-class is about images that a model is run on, and a gate on files runs none. Leave it out, or say --model and --data."
)
def part_of_the_images_of_logits(folder):
    return ["gate", *npz(folder)[1:], "--wcr", "0.1", "--n-per-class", "5"]


@case(
    "--preset is about images that a model is run on, and a comparison of files runs none. Leave it out, or say --model and --data."
)
def normalisation_of_two_versions_of_logits(folder):
    np.savez("old.npz", logits=LOGITS, labels=LABELS)
    return ["compare", "old.npz", *npz(folder)[1:], "--preset", "cifar10"]
