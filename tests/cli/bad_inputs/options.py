"""Options and arguments of an audit."""

from bad_inputs.making import case, npz, text_file


@case("temperature 0.0 is not a positive number. 1 leaves the logits as they are.")
def temperature_zero(folder):
    return npz(folder, "--temperature", "0")


@case("temperature nan is not a positive number. 1 leaves the logits as they are.")
def temperature_nan(folder):
    return npz(folder, "--temperature", "nan")


@case("Invalid value for '--temperature': {theirs}. See gfscore audit --help.")
def temperature_not_a_number(folder):
    return npz(folder, "--temperature", "hot")


@case("delta 1.0 is not between 0 and 1. 0.05 makes the intervals hold 95 % of the time.")
def delta_one(folder):
    return npz(folder, "--delta", "1")


@case("fairness weight -1.0 is not a number of at least 0. The paper uses 0.5.")
def fairness_weight_negative(folder):
    return npz(folder, "--fairness-weight", "-1")


@case("min_n 0 is not a number of samples. Give at least 1.")
def min_n_zero(folder):
    return npz(folder, "--min-n", "0")


@case("activation 'relu' is not known. Choose 'softmax' or 'sigmoid'.")
def activation_unknown(folder):
    return npz(folder, "--activation", "relu")


@case("No such option: --no-such-option. See gfscore audit --help.")
def option_unknown(folder):
    return npz(folder, "--no-such-option")


@case("No such command 'adit'. Did you mean 'audit'? See gfscore --help.")
def command_unknown(folder):
    return ["adit"]


@case("there is nothing to audit. Name logits files, a --model and --data, or a --config that does.")
def no_file_named(folder):
    return ["audit"]


@case("{folder}/m.npz is given twice. Name each file once.")
def file_given_twice(folder):
    return [*npz(folder), str(folder / "." / "m.npz")]


@case("--per-sample {folder}/rows.xlsx has the ending '.xlsx'. Use .csv or .parquet.")
def per_sample_of_unknown_format(folder):
    return npz(folder, "--per-sample", str(folder / "rows.xlsx"))


@case("{folder}/taken/audit.json: cannot be written: its folder is a file. Choose another place.")
def out_is_a_file(folder):
    return npz(folder, "--out", text_file(folder, "taken", "here"))


@case("expected accuracy 91.73 is not between 0 and 1. Write 0.9173 for 91.73 %.")
def expected_accuracy_in_percent(folder):
    return npz(folder, "--expect-accuracy", "91.73")


@case(
    "{folder}/m.npz: clean accuracy is 0.7500 on 4 samples, not the expected 0.0100 (sampling alone allows 0.0506 to 0.9999). Check preprocessing, label order and evaluation mode."
)
def accuracy_not_as_expected(folder):
    return npz(folder, "--expect-accuracy", "0.01")


@case("no interval is called 'normal'. Choose one of betting, kl, bernstein, hoeffding, blocks, mixture.")
def interval_unknown(folder):
    return npz(folder, "--interval", "normal")


@case(
    "{folder}/m.npz: the target finite is for classes of a data set that is run here, whole or a random part of each class (--n-per-class). Use --target population."
)
def finite_target_of_a_logits_file(folder):
    return npz(folder, "--target", "finite")
