"""Certificates, and radii that are brought along."""

import numpy as np

from bad_inputs.making import LABELS, LOGITS, case, npz, text_file


def given_radii(folder, name, text, *options):
    logits = npz(folder, sample_ids=["a", "b", "c", "d"])[1]
    return ["certify", logits, "--method", "given", "--radii", text_file(folder, name, text), *options]


@case("Missing option '--method'. Choose from: smoothing, lipschitz, given. See gfscore certify --help.")
def certificate_without_a_method(folder):
    return ["certify", *npz(folder)[1:]]


@case("there is nothing to audit. Name logits files, a --model and --data, or a --config that does.")
def certificate_of_nothing(folder):
    return ["certify", "--method", "smoothing"]


@case("{folder}/m.npz: smoothing runs the model on noisy images. Give --model and --data, not logits.")
def smoothing_of_logits(folder):
    return ["certify", *npz(folder)[1:], "--method", "smoothing"]


@case("--data is given without --model. Running a model takes both.")
def certificate_of_data_without_a_model(folder):
    return ["certify", "--method", "smoothing", "--data", "zoo:digits"]


@case("sigma -1 is not a positive number. 0.25 is a quarter of a pixel's range.")
def smoothing_with_negative_noise(folder):
    return ["certify", "--method", "smoothing", "--sigma", "-1", "--model", "zoo:noise", "--data", "zoo:digits"]


@case(
    "n = 5 noise samples certify nothing at alpha 0.001, however they vote. Give at least 10; 1000 or more are usual."
)
def smoothing_with_too_few_noise_samples(folder):
    return ["certify", "--method", "smoothing", "--n", "5", "--model", "zoo:noise", "--data", "zoo:digits"]


@case("n0 is 0 and n is 1000; both must be at least 1. 100 and 1000 are usual.")
def smoothing_that_chooses_no_class(folder):
    return ["certify", "--method", "smoothing", "--n0", "0", "--model", "zoo:noise", "--data", "zoo:digits"]


@case("alpha 0.7 is not between 0 and 0.5. 0.001 makes one radius in a thousand too large.")
def smoothing_with_a_large_alpha(folder):
    return ["certify", "--method", "smoothing", "--alpha", "0.7", "--model", "zoo:noise", "--data", "zoo:digits"]


@case("{folder}/m.npz: logits do not show their network. Give --lipschitz for pixels, or --model and --data.")
def lipschitz_constant_of_logits(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz"]


@case("{folder}/m.npz: Lipschitz constant 0 is not a positive number. Give a proven upper bound.")
def lipschitz_constant_zero(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz", "--lipschitz", "0"]


@case(
    "noise: Lipschitz constant 0.5 is none: two images were found whose logits differ by 11 times their distance. Give a proven upper bound."
)
def lipschitz_constant_that_two_images_refute(folder):
    return ["certify", "--method", "lipschitz", "--lipschitz", "0.5", "--model", "zoo:noise", "--data", "zoo:digits"]


@case("--of-inputs says what --lipschitz is for, which is not given. Give it, or neither.")
def of_inputs_without_a_constant(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz", "--of-inputs"]


@case("--lipschitz and --of-inputs are for --method lipschitz. Leave them out.")
def lipschitz_constant_for_smoothing(folder):
    return ["certify", *npz(folder)[1:], "--method", "smoothing", "--lipschitz", "3"]


@case("--radii is given with --method lipschitz, which computes its own. Leave one out.")
def radii_for_another_method(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz", "--radii", "r.csv"]


@case("--norm linf is given with --method lipschitz, whose radii are in l2.")
def norm_for_another_method(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz", "--lipschitz", "3", "--norm", "linf"]


@case("--method given needs --radii, a file with a radius per sample.")
def given_without_radii(folder):
    return ["certify", *npz(folder)[1:], "--method", "given"]


@case("{folder}/r.csv: has sample_id 'a' twice. Keep one row per sample.")
def radii_with_an_id_twice(folder):
    return given_radii(folder, "r.csv", "sample_id,radius\na,0.1\na,0.2\nc,0\nd,0\n")


@case("{folder}/r.csv: has no radius for sample_id 'c', 'd'. Add a row for every sample.")
def radii_that_are_missing(folder):
    return given_radii(folder, "r.csv", "sample_id,radius\na,0.1\nb,0.2\n")


@case("{folder}/r.csv: radius -0.1 of sample 'b' is not a number of at least 0. Write 0 where none is proven.")
def radii_below_zero(folder):
    return given_radii(folder, "r.csv", "sample_id,radius\na,0.1\nb,-0.1\nc,0\nd,0\n")


@case("{folder}/r.csv: radius nan of sample 'c' is not a number of at least 0. Write 0 where none is proven.")
def radii_that_are_not_numbers(folder):
    return given_radii(folder, "r.csv", "radius\n0.1\n0.1\nnan\n0\n")


@case("{folder}/r.csv: line 3 has radius 'timeout', which is no number. Write 0 if none.")
def radii_of_words(folder):
    return given_radii(folder, "r.csv", "radius\n0.1\ntimeout\n0\n0\n")


@case("{folder}/r.csv: has 2 radii for 4 samples. Give one each, or their sample_id.")
def radii_too_few(folder):
    return given_radii(folder, "r.csv", "radius\n0.1\n0.2\n")


@case("{folder}/r.csv: has no column 'radius'; it has 'sample_id', 'eps'. Name the column of radii 'radius'.")
def radii_without_their_column(folder):
    return given_radii(folder, "r.csv", "sample_id,eps\na,0.1\n")


@case("{folder}/r.txt: has the ending '.txt'. Radii are .csv, .npz or .parquet.")
def radii_of_unknown_format(folder):
    return given_radii(folder, "r.txt", "0.1")


@case("--radii: {folder}/r.csv: does not exist. Check the path.")
def radii_file_missing(folder):
    return ["certify", *npz(folder)[1:], "--method", "given", "--radii", str(folder / "r.csv")]


@case("{folder}/r.npz: array 'radii' is float64 of shape (2, 2). Save one number per sample.")
def radii_of_two_dimensions(folder):
    np.savez(folder / "r.npz", radii=np.zeros((2, 2)))
    return ["certify", *npz(folder)[1:], "--method", "given", "--radii", str(folder / "r.npz")]


@case("{folder}/r.npz: has no 'radii'; it holds 'values'. Name the array of one radius per sample 'radii'.")
def radii_under_another_name(folder):
    np.savez(folder / "r.npz", values=np.zeros(4))
    return ["certify", *npz(folder)[1:], "--method", "given", "--radii", str(folder / "r.npz")]


@case("norm 'l1' is not known. Choose l2 or linf.")
def radii_of_an_unknown_norm(folder):
    return given_radii(folder, "r.csv", "radius\n0\n0\n0\n0\n", "--norm", "l1")


@case("cap 0 is not a positive number. Give the largest radius of interest, such as 1.")
def radii_with_no_room(folder):
    return given_radii(folder, "r.csv", "radius\n0\n0\n0\n0\n", "--cap", "0")


@case("--sigma is for --method smoothing. Leave it out.")
def noise_of_a_lipschitz_constant(folder):
    return ["certify", *npz(folder)[1:], "--method", "lipschitz", "--lipschitz", "3", "--alpha", "0.7", "--sigma", "-3"]


@case("--n0 is for --method smoothing. Leave it out.")
def votes_for_given_radii(folder):
    return given_radii(folder, "r.csv", "radius\n0\n0\n0\n0\n", "--n0", "10")


@case("--cap is for radii without a largest one, and smoothing has one. Leave it out.")
def cap_of_smoothing(folder):
    return ["certify", "--method", "smoothing", "--cap", "1", "--model", "zoo:noise", "--data", "zoo:digits"]


@case("--radii are those of one model. Call the command once for each.")
def radii_for_two_models(folder):
    command = given_radii(folder, "r.csv", "radius\n0.1\n0.2\n0.1\n0.1\n")
    np.savez(folder / "other.npz", logits=LOGITS, labels=LABELS)
    return [*command, str(folder / "other.npz")]
