"""Calibration and its references."""

from bad_inputs.making import case, npz, text_file


@case("objective 'best' is not known. Choose one of: models, classes, stability, given.")
def objective_unknown(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "best"]


@case("objective 'given' needs a reference, a number for each model. Give one (--reference; in Python reference=).")
def objective_given_without_a_reference(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "given"]


@case("--temperature-range 'cold' is not two numbers. Write the lowest and the highest, as 0.01,10.")
def calibration_range_of_words(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--temperature-range", "cold"]


@case("{folder}/r.csv: has the columns 'name', 'score'. Name them 'model' and 'value'.")
def reference_with_other_columns(folder):
    reference = text_file(folder, "r.csv", "name,score\nm,1\n")
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--reference", reference]


@case("{folder}/r.csv: has 'high' for model 'm', which is no number. Give a number each.")
def reference_of_words(folder):
    reference = text_file(folder, "r.csv", "model,value\nm,high\n")
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--reference", reference]


@case(
    "the RobustBench table has nothing about 'robustbench:mnist/L2'. It has 'cifar10/L2', 'cifar10/Linf', 'cifar10/corruptions', 'cifar100/Linf', 'cifar100/corruptions', 'imagenet/Linf' and 1 more."
)
def reference_unknown_to_robustbench(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--reference", "robustbench:mnist/L2"]


@case("no objective is given. Say what to maximise: models, classes, stability or given.")
def no_objective(folder):
    return ["calibrate", *npz(folder)[1:]]


@case("--range is about the values of images. Temperatures are searched in --temperature-range.")
def range_of_temperatures_by_the_name_of_pixels(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--range", "0.1,5"]
