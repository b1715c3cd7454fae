"""Bad inputs: what a user may hand over, each with its exact message, as a function that writes it."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors.numpy import save_file

from gfscore import Samples, audit_models

LOGITS = np.array([[3.0, 0.0, 1.0], [0.5, 2.0, -1.0], [0.0, 1.0, 4.0], [2.0, 0.0, 5.0]])
LABELS = np.array([0, 1, 2, 0])
PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.2, 0.2]])

Build = Callable[[Path], list[str]]
CASES: dict[str, tuple[Build, str]] = {}


def case(message: str) -> Callable[[Build], Build]:
    """Register a bad input with the message it must give; {folder} stands for the folder it is written to."""

    def register(build: Build) -> Build:
        CASES[build.__name__] = (build, message)
        return build

    return register


def npz(folder: Path, *options: str, **arrays: object) -> list[str]:
    arrays = {"logits": LOGITS, "labels": LABELS} | arrays
    np.savez(folder / "m.npz", **{name: array for name, array in arrays.items() if array is not None})
    return ["audit", str(folder / "m.npz"), *options]


def csv(folder: Path, text: str | bytes, *options: str) -> list[str]:
    path = folder / "m.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return ["audit", str(path), *options]


def changed(row: int, column: int, value: float) -> np.ndarray:
    logits = LOGITS.copy()
    logits[row, column] = value
    return logits


def npy_bytes(array: np.ndarray, shape: tuple[int, ...] | None = None) -> bytes:
    """An npy file, whose header may declare another shape."""
    buffer = io.BytesIO()
    header = np.lib.format.header_data_from_array_1_0(array)
    if shape is not None:
        header["shape"] = shape
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + array.tobytes()


def text_file(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)


# Values


@case(
    "{folder}/m.npz: logits hold nan at row 2, column 1. Drop that sample, or look for an overflow in the model that produced it."
)
def nan(folder):
    return npz(folder, logits=changed(2, 1, np.nan))


@case(
    "{folder}/m.npz: logits hold -inf at row 3, column 0. Drop that sample, or look for an overflow in the model that produced it."
)
def infinity(folder):
    return npz(folder, logits=changed(3, 0, -np.inf))


@case(
    "{folder}/m.npz: label 3 in row 2 is not one of the 3 classes (0 to 2). Check that labels and logits come from the same model and data."
)
def label_too_high(folder):
    return npz(folder, labels=[0, 1, 3, 0])


@case(
    "{folder}/m.npz: label -1 in row 1 is not one of the 3 classes (0 to 2). Check that labels and logits come from the same model and data."
)
def label_negative(folder):
    return npz(folder, labels=[0, -1, 2, 0])


@case("{folder}/m.npz: label 1.5 in row 2 is not a whole number. Labels are class indices.")
def label_not_whole(folder):
    return npz(folder, labels=[0, 1, 1.5, 0])


@case("{folder}/m.npz: labels have type <U1; they must be class indices, 0 to 2.")
def labels_as_text(folder):
    return npz(folder, labels=["a", "b", "c", "a"])


@case(
    "{folder}/m.npz: labels have shape (4, 3); they must be one class index per sample. If they are one-hot, give labels.argmax(axis=1)."
)
def labels_one_hot(folder):
    return npz(folder, labels=np.eye(3)[LABELS])


@case("{folder}/m.npz: logits have 4 rows but there are 2 labels. Each row needs one label.")
def labels_too_few(folder):
    return npz(folder, labels=[0, 1])


@case("{folder}/m.npz: logits have 3 rows but there are 4 labels. They look transposed: give logits.T.")
def logits_transposed(folder):
    return npz(folder, logits=LOGITS.T.copy())


@case("{folder}/m.npz: logits have shape (4,); they must be (samples, classes). Reshape them.")
def logits_of_one_dimension(folder):
    return npz(folder, logits=LOGITS[:, 0])


@case("{folder}/m.npz: logits have shape (1, 4, 3); they must be (samples, classes). Reshape them.")
def logits_of_three_dimensions(folder):
    return npz(folder, logits=LOGITS[None])


@case(
    "{folder}/m.npz: logits have 1 column(s); at least 2 classes are needed. A binary model with one output z has the logits (0, z)."
)
def logits_of_one_class(folder):
    return npz(folder, logits=LOGITS[:, :1], labels=[0, 0, 0, 0])


@case("{folder}/m.npz: logits have no rows. Give at least one sample of each of two classes.")
def logits_without_rows(folder):
    return npz(folder, logits=LOGITS[:0], labels=LABELS[:0])


@case("{folder}/m.npz: logits have type <U32; they must be numbers (float16, float32 or float64).")
def logits_as_text(folder):
    return npz(folder, logits=LOGITS.astype(str))


@case("{folder}/m.npz: logits have type complex128; they must be numbers (float16, float32 or float64).")
def logits_complex(folder):
    return npz(folder, logits=LOGITS.astype(complex))


@case("{folder}/m.npz: disparity needs at least two classes with samples; only '1' has. Give samples of more classes.")
def only_one_class_has_samples(folder):
    return npz(folder, labels=[1, 1, 1, 1])


@case("{folder}/m.npz: there are 2 class names for 3 classes. Give one name per column.")
def class_names_too_few(folder):
    return npz(folder, class_names=["cat", "dog"])


@case("{folder}/m.npz: class name 'cat' stands at class 0 and again at class 2. Make them unique.")
def class_names_repeated(folder):
    return npz(folder, class_names=["cat", "dog", "cat"])


@case("{folder}/m.npz: class name of class 1 is empty. Give every class a name.")
def class_name_empty(folder):
    return npz(folder, class_names=["cat", " ", "dog"])


@case("{folder}/m.npz: sample id 'b' stands at row 1 and again at row 3. Make them unique.")
def sample_ids_repeated(folder):
    return npz(folder, sample_ids=["a", "b", "c", "b"])


@case("{folder}/m.npz: sample ids have shape (2,) for 4 samples. Give one per sample.")
def sample_ids_too_few(folder):
    return npz(folder, sample_ids=["a", "b"])


@case("{folder}/m.npz: groups have shape (1,) for 4 samples. Give one per sample.")
def groups_too_few(folder):
    return npz(folder, groups=["day"])


@case("{folder}/m.npz: disparity needs at least two groups with samples; only 'day' has. Give samples of more groups.")
def groups_all_the_same(folder):
    return npz(folder, groups=["day"] * 4)


@case("{folder}/m.npz: groups have an empty name in row 1. Give every sample one.")
def group_empty(folder):
    return npz(folder, groups=["day", "", "night", "day"])


@case("{folder}/m.npz: groups have type float64; they must be names or whole numbers.")
def groups_of_numbers_with_a_point(folder):
    return npz(folder, groups=[0.5, 1.5, 0.5, 1.5])


# Probabilities


@case(
    "{folder}/m.npz: logits look like probabilities: all lie in [0, 1] and every row sums to 1. Give logits (before softmax), or say --probabilities (probabilities=True)."
)
def probabilities_not_announced(folder):
    return npz(folder, logits=PROBABILITIES)


ROUNDED = "label,cat,dog,emu\ncat,0.43,0.28,0.28\ndog,0.11,0.76,0.14\nemu,0.24,0.32,0.44\n"


@case(
    "{folder}/m.csv: logits look like probabilities rounded to 2 decimals: all lie in [0, 1] and rows sum to about 1. Give logits (before softmax), or say --probabilities (probabilities=True)."
)
def rounded_probabilities_not_announced(folder):
    return csv(folder, ROUNDED)


@case(
    "{folder}/m.csv: logits look like probabilities rounded to 1 decimal: all lie in [0, 1] and rows sum to about 1. Give logits (before softmax), or say --probabilities (probabilities=True)."
)
def coarse_probabilities_not_announced(folder):
    return csv(folder, "label,cat,dog,emu\ncat,0.4,0.3,0.2\ndog,0.3,0.5,0.3\nemu,0.2,0.3,0.4\n")


@case(
    "{folder}/m.csv: logits look like percentages: all lie in [0, 100] and every row sums to 100. Give logits (before softmax), or say --probabilities (probabilities=True)."
)
def percentages_not_announced(folder):
    return csv(folder, "label,cat,dog,emu\ncat,43.1,28.4,28.5\ndog,11,76,13\nemu,24.2,32.2,43.7\n")


@case(
    "{folder}/m.csv: probabilities in row 1 sum to 1.3, not 1. Sigmoid outputs are no distribution over classes: give the logits instead."
)
def rounded_sigmoid_outputs_announced_as_probabilities(folder):
    return csv(folder, "label,cat,dog,emu\ncat,0.4,0.3,0.2\ndog,0.4,0.6,0.3\nemu,0.2,0.3,0.4\n", "--probabilities")


@case(
    "{folder}/m.npz: has no 'logits' but 'probs'. Save the logits (before softmax), or say --probabilities (probabilities=True)."
)
def probabilities_under_their_own_name(folder):
    return npz(folder, logits=None, probs=PROBABILITIES)


@case(
    "{folder}/m.npz: probability 3 at row 0, column 0 is outside [0, 1]. If these are logits, leave --probabilities (probabilities=True) out."
)
def logits_announced_as_probabilities(folder):
    return npz(folder, "--probabilities")


@case(
    "{folder}/m.npz: probabilities in row 0 sum to 0.9, not 1. Sigmoid outputs are no distribution over classes: give the logits instead."
)
def sigmoid_outputs_announced_as_probabilities(folder):
    return npz(folder, "--probabilities", logits=PROBABILITIES * 0.9)


@case(
    "{folder}/m.npz: sigmoid needs logits: the common shift it depends on cannot be told from probabilities. Use softmax."
)
def sigmoid_of_probabilities(folder):
    return npz(folder, "--probabilities", "--activation", "sigmoid", logits=PROBABILITIES)


# Options


@case("temperature 0.0 is not a positive number. 1 leaves the logits as they are.")
def temperature_zero(folder):
    return npz(folder, "--temperature", "0")


@case("temperature nan is not a positive number. 1 leaves the logits as they are.")
def temperature_nan(folder):
    return npz(folder, "--temperature", "nan")


@case(
    "Invalid value for '--temperature': Input should be a valid number, unable to parse string as a number. See gfscore audit --help."
)
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


@case("there is nothing to audit. Name logits files, or a --model and --data.")
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


@case(
    "Invalid value for 'dataset': Value error, 'mnist' is not one of 'cifar10', 'imagenet'. See gfscore reproduce --help."
)
def dataset_unknown(folder):
    return ["reproduce", "mnist", "--from-published"]


@case("Invalid value for '--digits': Input should be greater than or equal to 0. See gfscore table --help.")
def digits_out_of_range(folder):
    return ["table", text_file(folder, "audit.json", "{}"), "--digits", "-1"]


@case(
    "Invalid value for '--format': Value error, 'word' is not one of 'latex', 'markdown', 'csv'. See gfscore table --help."
)
def table_format_unknown(folder):
    return ["table", text_file(folder, "audit.json", "{}"), "--format", "word"]


# Files


@case("{folder}/m.npz: does not exist. Check the path.")
def file_missing(folder):
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.npz: is a directory. Name a file.")
def file_is_a_directory(folder):
    (folder / "m.npz").mkdir()
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.npz: is empty (0 bytes). Write it again.")
def file_empty(folder):
    (folder / "m.npz").touch()
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.xlsx: has the ending '.xlsx'. Logits files are .npz, .safetensors, .parquet or .csv.")
def file_of_unknown_format(folder):
    return ["audit", text_file(folder, "m.xlsx", "x")]


@case("{folder}/m.npz: is not an npz archive, or is cut short. Save it again with numpy.savez.")
def npz_is_no_archive(folder):
    return ["audit", text_file(folder, "m.npz", "not a zip file")]


@case("{folder}/m.npz: is not an npz archive, or is cut short. Save it again with numpy.savez.")
def npz_cut_short(folder):
    arguments = npz(folder)
    path = folder / "m.npz"
    path.write_bytes(path.read_bytes()[:-40])
    return arguments


@case("{folder}/m.npz: array 'logits' has no readable header (Bad CRC-32 for file 'logits.npy'). Save the file again.")
def npz_with_a_flipped_byte(folder):
    arguments = npz(folder)
    path = folder / "m.npz"
    raw = bytearray(path.read_bytes())
    raw[raw.index(LOGITS.tobytes()) + 5] ^= 0xFF
    path.write_bytes(raw)
    return arguments


@case(
    "{folder}/m.npz: array 'logits' holds Python objects, which only pickle can load, and pickle can run code. Save it as numbers or strings (dtype float32, int64 or str)."
)
def npz_that_asks_for_pickle(folder):
    return npz(folder, logits=LOGITS.astype(object))


@case(
    "{folder}/m.npz: array 'class_names' holds Python objects, which only pickle can load, and pickle can run code. Save it as numbers or strings (dtype float32, int64 or str)."
)
def npz_class_names_that_ask_for_pickle(folder):
    return npz(folder, class_names=np.array(["a", "b", "c"], dtype=object))


@case(
    "{folder}/m.npz: array 'logits' declares shape (1000000000000, 1000) of float64 (8,000,000,000,000,000 bytes) but holds 96 bytes. The file is damaged: save it again."
)
def npz_that_declares_a_gigantic_array(folder):
    with zipfile.ZipFile(folder / "m.npz", "w") as archive:
        archive.writestr("logits.npy", npy_bytes(LOGITS, shape=(10**12, 1000)))
        archive.writestr("labels.npy", npy_bytes(LABELS))
    return ["audit", str(folder / "m.npz")]


@case(
    "{folder}/m.npz: array 'logits' has no readable header (('EOF in multi-line statement', (2, 0))). Save the file again."
)
def npz_with_a_broken_header(folder):
    with zipfile.ZipFile(folder / "m.npz", "w") as archive:
        archive.writestr("logits.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': boom  ")
        archive.writestr("labels.npy", npy_bytes(LABELS))
    return ["audit", str(folder / "m.npz")]


@case(
    "{folder}/m.npz: has no 'logits'; it holds 'labels', 'outputs'. Name the array of shape (samples, classes) 'logits'."
)
def npz_without_logits(folder):
    return npz(folder, logits=None, outputs=LOGITS)


@case("{folder}/m.npz: has no 'labels'; it holds 'logits', 'y'. Name the array of true classes 'labels'.")
def npz_without_labels(folder):
    return npz(folder, labels=None, y=LABELS)


@case("{folder}/m.npz: has no 'logits'; it holds nothing. Name the array of shape (samples, classes) 'logits'.")
def npz_without_arrays(folder):
    np.savez(folder / "m.npz")
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.npz: array 'class_names' is int64 of shape (3,). Save one string per class.")
def npz_class_names_of_numbers(folder):
    return npz(folder, class_names=[1, 2, 3])


@case(
    "{folder}/m.safetensors: is not a safetensors file, or is cut short (Error while deserializing header: incomplete metadata, file not fully covered). Save it again."
)
def safetensors_cut_short(folder):
    path = folder / "m.safetensors"
    save_file({"logits": LOGITS, "labels": LABELS}, path)
    path.write_bytes(path.read_bytes()[:-8])
    return ["audit", str(path)]


@case("{folder}/m.safetensors: has no 'labels'; it holds 'logits'. Name the array of true classes 'labels'.")
def safetensors_without_labels(folder):
    save_file({"logits": LOGITS}, folder / "m.safetensors")
    return ["audit", str(folder / "m.safetensors")]


@case("{folder}/m.safetensors: tensor 'logits' has type BOOL. Save it as F32, F16, BF16 or F64 (labels as I64).")
def safetensors_of_booleans(folder):
    save_file({"logits": LOGITS > 0, "labels": LABELS}, folder / "m.safetensors")
    return ["audit", str(folder / "m.safetensors")]


@case("{folder}/m.safetensors: metadata 'class_names' is not a JSON list of names. Write json.dumps(names).")
def safetensors_names_that_are_no_list(folder):
    save_file({"logits": LOGITS, "labels": LABELS}, folder / "m.safetensors", metadata={"class_names": "cat,dog,emu"})
    return ["audit", str(folder / "m.safetensors")]


@case("{folder}/m.csv: has no column 'label'; it has 'cat', 'dog'. Name the column of true classes 'label'.")
def csv_without_label(folder):
    return csv(folder, "cat,dog\n1,2\n")


@case("{folder}/m.csv: has no column 'label'; it has 'label;cat;dog'. Separate the columns by commas.")
def csv_with_semicolons(folder):
    return csv(folder, "label;cat;dog\n0;1;2\n")


@case(
    "{folder}/m.csv: line 3, column 'cat' holds 'much', which is no number. Class columns hold logits; drop other columns."
)
def csv_with_a_word_for_a_logit(folder):
    return csv(folder, "label,cat,dog\n0,1.5,2\n1,much,3\n")


@case(
    "{folder}/m.csv: line 2, column 'dog' holds '', which is no number. Class columns hold logits; drop other columns."
)
def csv_with_an_empty_cell(folder):
    return csv(folder, "label,cat,dog\n0,1.5,\n")


@case("{folder}/m.csv: line 3 has 2 fields, the header 3. Make them equal.")
def csv_with_a_short_line(folder):
    return csv(folder, "label,cat,dog\n0,1.5,2\n1,0.5\n")


@case("{folder}/m.csv: has the column 'cat' twice. Make the names unique.")
def csv_with_a_repeated_column(folder):
    return csv(folder, "label,cat,cat\n0,1.5,2\n")


@case(
    "{folder}/m.csv: line 3 has label 'owl', which is neither a class column nor a class index. The classes are 'cat', 'dog'."
)
def csv_with_an_unknown_label(folder):
    return csv(folder, "label,cat,dog\ncat,1.5,2\nowl,0,1\n")


@case("{folder}/m.csv: logits have no rows. Give at least one sample of each of two classes.")
def csv_without_rows(folder):
    return csv(folder, "label,cat,dog\n")


WITH_IDS = "label,cat,dog,{}\ncat,1.5,0.2,1\ndog,0.1,2.5,2\n"


@case(
    "{folder}/m.csv: has a column 'id' that no label names: a class without a sample, or no class. Drop what is no class, or name the classes with --class-names: other columns are then left out."
)
def csv_with_a_column_that_no_label_names(folder):
    return csv(folder, WITH_IDS.format("id"))


@case(
    "{folder}/m.csv: has columns 'id', 'pred' that no label names: classes without a sample, or no classes. Drop what is no class, or name the classes with --class-names: other columns are then left out."
)
def csv_with_columns_that_no_label_names(folder):
    return csv(folder, "label,cat,dog,id,pred\ncat,1.5,0.2,1,0\ndog,0.1,2.5,2,1\n")


@case(
    "{folder}/m.csv: has a column 'pred', which looks like no class. Drop what is no class, or name the classes with --class-names: other columns are then left out."
)
def csv_with_predictions_beside_indices(folder):
    return csv(folder, "label,cat,dog,pred\n0,1.5,0.2,0\n1,0.1,2.5,1\n")


@case(
    "{folder}/m.csv: has a column 'number' of whole numbers beside logits that are none: an id, or a prediction. Drop what is no class, or name the classes with --class-names: other columns are then left out."
)
def csv_with_whole_numbers_beside_logits(folder):
    rows = [f"{row % 2},{row / 7:.3f},{row / 9:.3f},{row}" for row in range(20)]
    return csv(folder, "\n".join(["label,cat,dog,number", *rows]))


@case(
    "{folder}/m.csv: has labels such as '1' that may be names or indices: as a name it is column '1', as an index column '2'. Call the columns by names, not numbers, or by their indices."
)
def csv_with_labels_that_are_names_and_indices(folder):
    return csv(folder, "label,1,2,3\n1,1.5,0.2,0.1\n2,0.1,2.5,0.3\n")


@case(
    "{folder}/m.csv: class name 'cow' is given for class 0, which is called 'ant' there: 'cow' is class 2. Give the names in their order, or leave --class-names out."
)
def class_names_in_another_order(folder):
    names = text_file(folder, "names.txt", "cow\nbee\nant\n")
    return csv(folder, "label,ant,bee,cow\nant,1.5,0.2,0.1\nbee,0.1,2.5,0.3\n", "--class-names", names)


@case(
    "{folder}/m.npz: class name 'dog' is given for class 0, which is called 'cat' there: 'dog' is class 1. Give the names in their order, or leave --class-names out."
)
def class_names_of_an_archive_in_another_order(folder):
    names = text_file(folder, "names.txt", "dog\ncat\nemu\n")
    return npz(folder, "--class-names", names, class_names=["cat", "dog", "emu"])


@case("{folder}/m.npz: array 'class_names' holds text of 20,000 characters. Save at most 4,096 a name.")
def class_names_without_end(folder):
    return npz(folder, class_names=["x" * 20_000, "y", "z"])


@case(
    "{folder}/m.npz: groups 'id' have 4 values for 4 samples: an id, and no group. Give an attribute that samples share."
)
def groups_file_with_an_id(folder):
    return npz(folder, "--groups", text_file(folder, "groups.csv", "id,camera\n1,a\n2,a\n3,b\n4,b\n"))


def shards(folder: Path, **files: str) -> list[str]:
    (folder / "net").mkdir()
    for name, text in files.items():
        (folder / "net" / f"{name}.csv").write_text("sample_id,label,cat,dog\n" + text)
    return ["audit", "--stream", str(folder / "net")]


@case(
    "{folder}/net/b.csv: holds the sample 'y', and so does {folder}/net/a.csv: it would count twice. Keep it in one of them."
)
def shards_that_share_a_sample(folder):
    return shards(folder, a="x,cat,1.5,0.2\ny,dog,0.1,2.5\n", b="z,cat,1,0\ny,dog,0.1,2.5\n")


@case(
    "{folder}/net/a.npz: has the name of {folder}/net/a.csv and another format: the same samples would count twice. Leave one out, or rename it."
)
def shard_in_two_formats(folder):
    arguments = shards(folder, a="x,cat,1.5,0.2\ny,dog,0.1,2.5\n")
    np.savez(folder / "net" / "a.npz", logits=[[1.5, 0.2], [0.1, 2.5]], labels=[0, 1], class_names=["cat", "dog"])
    return arguments


@case("{folder}/m.csv: is not UTF-8 text (byte 16). Save it as UTF-8 CSV.")
def csv_that_is_not_text(folder):
    return csv(folder, b"label,cat,dog\n0,\xff\xfe,2\n")


@case("{folder}/m.csv: is not a CSV table (unexpected end of data). Save it again.")
def csv_with_an_open_quote(folder):
    return csv(folder, 'label,cat,dog\n0,"1.5,2\n')


@case(
    "{folder}/m.parquet: is not a parquet file, or is damaged (Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file). Save it again."
)
def parquet_that_is_none(folder):
    return ["audit", text_file(folder, "m.parquet", "PAR1 not really")]


@case("{folder}/m.parquet: row 1, column 'cat' is empty. Fill it, or drop the row.")
def parquet_with_a_missing_value(folder):
    import pandas as pd

    pd.DataFrame({"label": [0, 1], "cat": [1.5, None], "dog": [2.0, 3.0]}).to_parquet(folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


@case("{folder}/m.parquet: column 'file' is large_string, no logit. Drop it, or make it a number.")
def parquet_with_a_column_of_text(folder):
    import pandas as pd

    pd.DataFrame({"label": [0, 1], "cat": [1.5, 0.0], "file": ["x", "y"]}).to_parquet(folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


@case("{folder}/names.txt: does not exist. Check the path.")
def class_names_file_missing(folder):
    return npz(folder, "--class-names", str(folder / "names.txt"))


@case("{folder}/m.npz: there are 2 class names for 3 classes. Give one name per column.")
def class_names_file_of_wrong_length(folder):
    return npz(folder, "--class-names", text_file(folder, "names.txt", "cat\ndog\n"))


@case('{folder}/names.json: is not a JSON list of names. Write ["first", "second", ...].')
def class_names_file_with_a_json_object(folder):
    return npz(folder, "--class-names", text_file(folder, "names.json", '{"0": "cat"}'))


@case("{folder}/groups.csv: has 2 rows for 4 samples. Give one each, or a sample_id column.")
def groups_file_of_wrong_length(folder):
    return npz(folder, "--groups", text_file(folder, "groups.csv", "camera\nx\ny\n"))


@case("{folder}/groups.csv: has no group for sample_id 'd'. Add a row for every sample.")
def groups_file_without_a_sample(folder):
    groups = text_file(folder, "groups.csv", "sample_id,camera\na,1\nb,2\nc,1\n")
    return npz(folder, "--groups", groups, sample_ids=["a", "b", "c", "d"])


@case("{folder}/groups.csv: has sample_id 'b' twice. Keep one row per sample.")
def groups_file_with_a_sample_twice(folder):
    groups = text_file(folder, "groups.csv", "sample_id,camera\na,1\nb,2\nc,1\nd,1\nb,1\n")
    return npz(folder, "--groups", groups, sample_ids=["a", "b", "c", "d"])


@case("{folder}/groups.csv: has a sample_id column but the logits have no sample ids. Add them, or drop the column.")
def groups_file_with_ids_that_the_logits_lack(folder):
    return npz(folder, "--groups", text_file(folder, "groups.csv", "sample_id,camera\na,1\n"))


@case("{folder}/groups.csv: has no column of groups. Add one beside sample_id.")
def groups_file_with_ids_alone(folder):
    groups = text_file(folder, "groups.csv", "sample_id\na\nb\nc\nd\n")
    return npz(folder, "--groups", groups, sample_ids=["a", "b", "c", "d"])


@case(
    "{folder}/audit.json: is not JSON (Expecting property name enclosed in double quotes: line 1 column 3 (char 2)). Give the audit.json that gfscore wrote."
)
def result_that_is_not_json(folder):
    return ["table", text_file(folder, "audit.json", "{ not json")]


@case("{folder}/audit.json: has schema 'gfscore.audit/2'; this version reads 'gfscore.audit/1'. Run the audit again.")
def result_of_another_version(folder):
    return ["table", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/2", "models": []}))]


@case("{folder}/audit.json: breaks the schema at models.0.name: Field required. Run the audit again.")
def result_that_breaks_the_schema(folder):
    return ["table", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/1", "models": [{}]}))]


def small_audit(folder: Path) -> str:
    from gfscore import audit

    return text_file(folder, "audit.json", audit(LOGITS, LABELS).to_json())


@case("{folder}/audit.json: has schema 'gfscore.audit/2'; this version reads 'gfscore.audit/1'. Run the audit again.")
def report_of_another_version(folder):
    return ["report", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/2", "models": []}))]


@case(
    "{folder}/audit.json: is not JSON (Expecting value: line 1 column 1 (char 0)). Give the audit.json that gfscore wrote."
)
def report_of_a_page(folder):
    return ["report", text_file(folder, "audit.json", "<!DOCTYPE html>"), "--format", "md"]


@case(
    "Invalid value for '--format': Value error, 'pdf' is not one of 'html', 'md', 'model-card'. See gfscore report --help."
)
def report_format_unknown(folder):
    return ["report", small_audit(folder), "--format", "pdf"]


@case("{folder}/taken: is a directory. Name a file in it.")
def report_onto_a_folder(folder):
    (folder / "taken").mkdir()
    return ["report", small_audit(folder), "--out", str(folder / "taken")]


@case("{folder}/audit.json/report.html: cannot be written: its folder is a file. Choose another place.")
def report_below_a_file(folder):
    return ["report", small_audit(folder), "--out", str(folder / "audit.json" / "report.html")]


@case("{folder}/audit.json: cannot be read (No such file or directory). Check the path.")
def result_missing(folder):
    return ["table", str(folder / "audit.json")]


@case("{folder}/m.csv: has labels of two kinds, names and indices. Use one of them throughout.")
def csv_with_labels_of_two_kinds(folder):
    return csv(folder, "label,cat,dog\ncat,1.5,2\n1,0,1\n")


@case("{folder}/m.csv: has no header line. Write it again.")
def csv_with_nothing_but_a_byte_order_mark(folder):
    return csv(folder, b"\xef\xbb\xbf")


@case("{folder}/groups.csv: has no header line. Write it again.")
def groups_file_with_nothing_but_a_byte_order_mark(folder):
    return npz(folder, "--groups", text_file(folder, "groups.csv", "\ufeff"))


@case(
    "{folder}/m.csv: line 2 has label '99999999999999999999', which is neither a class column nor a class index. The classes are 'cat', 'dog'."
)
def csv_with_a_label_beyond_64_bits(folder):
    return csv(folder, "label,cat,dog\n99999999999999999999,1.5,2\n")


@case(
    "{folder}/m.csv: line 2 has label '--1', which is neither a class column nor a class index. The classes are 'cat', 'dog'."
)
def csv_with_a_label_of_two_signs(folder):
    return csv(folder, "label,cat,dog\n--1,1.5,2\n")


@case(
    "{folder}/m.npz: class name of class 1 holds '\\ud800', which is no UTF-8 text. Save the names as UTF-8.",
)
def class_names_file_with_half_a_character(folder):
    return npz(folder, "--class-names", text_file(folder, "names.json", json.dumps(["cat", "\ud800", "dog"])))


@case("{folder}/m.npz: groups: row 0 holds b'\\xff', which is no UTF-8 text. Save the names as UTF-8.")
def groups_that_are_no_text(folder):
    return npz(folder, groups=np.array([b"\xff", b"a", b"a", b"b"]))


@case("{folder}/m.npz: groups have an empty name in row 1. Give every sample one.")
def groups_of_blanks(folder):
    return npz(folder, groups=np.array(["a", " ", "b", "b"]))


@case("{folder}/m.npz: groups hold characters that do not exist. The file is damaged: save it again.")
def groups_of_numbers_that_are_no_characters(folder):
    return npz(folder, groups=np.array([0x7FFFFFFF, 1, 1, 1], dtype=np.uint32).view("<U1"))


@case("{folder}/m.safetensors: metadata 'class_names' is not a JSON list of names. Write json.dumps(names).")
def safetensors_with_names_nested_too_deep(folder):
    save_file({"logits": LOGITS, "labels": LABELS}, folder / "m.safetensors", {"class_names": "[" * 100_000})
    return ["audit", str(folder / "m.safetensors")]


@case("{folder}/m.safetensors: labels have shape (); they must be one class index per sample.")
def safetensors_with_one_label_for_all(folder):
    save_file({"logits": LOGITS, "labels": np.array(1)}, folder / "m.safetensors")
    return ["audit", str(folder / "m.safetensors"), "--groups", text_file(folder, "groups.txt", "a\n")]


@case(
    "{folder}/audit.json: breaks the schema at models.0.classes: Tuple should have at least 2 items after validation, not 0. Run the audit again."
)
def result_without_classes(folder):
    from gfscore import audit

    data = json.loads(audit(LOGITS, LABELS).to_json())
    data["models"][0]["classes"] = []
    return ["table", text_file(folder, "audit.json", json.dumps(data))]


@case("{folder}/m.parquet: holds text that is not UTF-8 (byte 1). Save it as UTF-8.")
def parquet_with_text_that_is_none(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 3], "<i4").tobytes()), pa.py_buffer(b"a\xffb"))
    table = pa.table({"label": [0, 1], "cat": [1.5, 0.0], "dog": [0.0, 2.0], "group": text})
    pq.write_table(table, folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


# Models and data


@case("--model is given without --data. Running a model takes both.")
def model_without_data(folder):
    return ["audit", "--model", "zoo:standard"]


@case("--data is given without --model. Running a model takes both.")
def data_without_model(folder):
    return ["audit", "--data", "zoo:digits"]


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


@case("say what is known: --radius for the samples it needs, or --n for the radius they buy.")
def plan_without_a_question(folder):
    return ["plan", "--classes", "10"]


@case("say how many classes there are (--classes), or give a first audit (--pilot).")
def plan_without_classes(folder):
    return ["plan", "--radius", "0.1"]


@case(
    "{folder}/m.npz: the target finite is for classes of a data set that is run here, whole or a random part of each class (--n-per-class). Use --target population."
)
def finite_target_of_a_logits_file(folder):
    return npz(folder, "--target", "finite")


# Calibration


@case("objective 'best' is not known. Choose one of: models, classes, stability, given.")
def objective_unknown(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "best"]


@case("objective 'given' needs a reference, a number for each model. Give one (--reference; in Python reference=).")
def objective_given_without_a_reference(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "given"]


@case("--range 'cold' is not two numbers. Write the lowest and the highest, as 0.01,10.")
def calibration_range_of_words(folder):
    return ["calibrate", *npz(folder)[1:], "--objective", "models", "--range", "cold"]


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


# Certificates


def given_radii(folder, name, text, *options):
    logits = npz(folder, sample_ids=["a", "b", "c", "d"])[1]
    return ["certify", logits, "--method", "given", "--radii", text_file(folder, name, text), *options]


@case("Missing option '--method'. Choose from: smoothing, lipschitz, given. See gfscore certify --help.")
def certificate_without_a_method(folder):
    return ["certify", *npz(folder)[1:]]


@case("there is nothing to audit. Name logits files, or a --model and --data.")
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


@case("{folder}/r.csv: does not exist. Check the path.")
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


# Radii


RUN = ["audit", "--model", "zoo:standard", "--data", "zoo:digits"]


@case("score 'second-order' is not known. Choose great or first-order.")
def score_unknown(folder):
    return npz(folder, "--score", "second-order")


@case("{folder}/m.npz: holds logits, and a radius takes the model itself. Say --model and --data.")
def radius_of_a_logits_file(folder):
    return npz(folder, "--score", "first-order", "--norm", "l2")


@case("no norm is given. Say in which norm a radius is measured: --norm l2 or --norm linf.")
def radius_without_a_norm(folder):
    return [*RUN, "--score", "first-order", "--eps", "0.5"]


@case("norm 'l1' is not known. Say in which norm a radius is measured: --norm l2 or --norm linf.")
def radius_in_an_unknown_norm(folder):
    return [*RUN, "--score", "first-order", "--norm", "l1"]


@case("--norm and --eps are for radii, which the GREAT score is not. Say --score first-order.")
def eps_for_the_great_score(folder):
    return [*RUN, "--eps", "0.5"]


@case(
    "eps 8 is not between 0 and the largest radius, 0.12549. Give it in [0, 1] pixels, such as 0.00784 for 2/255, or raise --max-radius."
)
def eps_in_levels_of_grey(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--eps", "8"]


@case("gradients 'maybe' is not a choice. Choose no, auto or yes.")
def gradients_unknown(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--gradients", "maybe"]


@case("--calibrate finds a temperature, which a radius does not have. Leave out one of them.")
def radius_with_a_temperature(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--calibrate", "models"]


@case("rivals and directions are counted from 1. The defaults are 3, and 32 (l2) or 64 (linf).")
def no_rivals(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--rivals", "0"]


@case("--rivals is about first-order radii. Say --score first-order too.")
def rivals_of_the_great_score(folder):
    return npz(folder, "--gradients", "bogus", "--rivals", "-4")


@case("--max-radius is about first-order radii. Say --score first-order too.")
def largest_radius_of_the_great_score(folder):
    return [*RUN, "--max-radius", "1"]


@case("--step is about radii without gradients. Leave it or --gradients yes out.")
def step_of_gradients(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--gradients", "yes", "--step", "0.1"]


@case("--temperature is about the GREAT score, and a radius has none. Leave it out.")
def temperature_of_a_radius(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--temperature", "2"]


# Checks

ON_DIGITS = ["check", "--model", "zoo:standard", "--data", "zoo:digits"]


@case("--model is given without --data. Running a model takes both.")
def check_without_data(folder):
    return ["check", "--model", "zoo:standard"]


@case("method 'brute-force' is not known. Choose bisection, premise, attack.")
def check_by_an_unknown_method(folder):
    return [*ON_DIGITS, "--method", "brute-force"]


@case("AutoAttack needs the size of the attack. Give --eps, such as 2/255.")
def autoattack_without_eps(folder):
    return [*ON_DIGITS, "--autoattack"]


@case("--eps is about the attack of the cross-check. Give --autoattack too.")
def eps_without_autoattack(folder):
    return [*ON_DIGITS, "--eps", "2/255"]


@case("--quick is about the attack of the cross-check. Give --autoattack too.")
def quick_without_autoattack(folder):
    return [*ON_DIGITS, "--quick"]


@case("Invalid value for '--eps': '2/0' is not a number. Write it as 0.0078 or 2/255. See gfscore check --help.")
def eps_divided_by_zero(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/0"]


@case("eps 0.0 is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")
def eps_of_zero(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "0"]


@case("norm 'l1' is not known. Choose l2 or linf.")
def attack_in_an_unknown_norm(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/255", "--norm", "l1"]


# Gate and compare


def gated(folder: Path, *options: str) -> list[str]:
    return ["gate", *npz(folder)[1:], *options]


def policy(folder: Path, text: str) -> list[str]:
    return gated(folder, "--policy", text_file(folder, "policy.toml", text))


@case("the policy has no rule. Give at least one, such as --wcr 0.1.")
def gate_without_a_rule(folder):
    return gated(folder)


@case("there is nothing to audit. Name logits files, or a --model and --data.")
def gate_of_nothing(folder):
    return ["gate", "--wcr", "0.1"]


@case("{folder}/policy.toml: the policy names a rule 'wrc' that there is not. Did you mean 'wcr'?")
def policy_with_a_misspelt_rule(folder):
    return policy(folder, "[rules]\nwrc = 0.1\n")


@case(
    "{folder}/policy.toml: the policy names a table 'limits' that there is not. There are rules, class, class_accuracy, change, allow."
)
def policy_with_an_unknown_table(folder):
    return policy(folder, "[limits]\nwcr = 0.1\n")


@case("{folder}/policy.toml: the threshold of WCR is 'high'. Give a number.")
def policy_with_words(folder):
    return policy(folder, '[rules]\nwcr = "high"\n')


@case("{folder}/policy.toml: the threshold of accuracy is 60, which is no share. Write 0.6 for 60 %.")
def policy_with_percentages(folder):
    return policy(folder, "[rules]\naccuracy = 60\n")


@case("{folder}/policy.toml: rules is 0.1 in the policy, not a table. Write [rules] and a rule a line below.")
def policy_without_tables(folder):
    return policy(folder, "rules = 0.1\n")


@case(
    "{folder}/policy.toml: is not TOML (Expected '=' after a key in a key/value pair (at line 1, column 5)). Write [rules], and below it a line such as wcr = 0.1."
)
def policy_that_is_no_toml(folder):
    return policy(folder, "wcr 0.1\n")


@case("{folder}/none.toml: does not exist. Check the path.")
def policy_that_is_not_there(folder):
    return gated(folder, "--policy", str(folder / "none.toml"))


@case("{folder}/m.npz: the policy names a class 'cat' that there is not. There are 0, 1, 2.")
def policy_about_an_unknown_class(folder):
    return gated(folder, "--class", "cat=0.1")


@case("--class 'cat' is not a name and a number. Write --class NAME=0.1.")
def class_rule_without_a_number(folder):
    return gated(folder, "--class", "cat")


@case("{folder}/m.npz: the policy has a rule on a change, but there is nothing to compare with. Give --baseline.")
def change_without_a_baseline(folder):
    return gated(folder, "--change", "wcr=-0.1")


@case(
    "{folder}/m.npz: the policy has a rule on the refuted share, but the audit says nothing about it. Run gfscore check, and gate the audit it writes."
)
def refuted_rule_without_a_check(folder):
    return gated(folder, "--refuted", "0.1")


@case(
    "--adaptive judges one rule, on the WCR; the policy has 2: WCR ≥ 0.1, RDI ≤ 0.5. Give --wcr alone, or leave --adaptive out."
)
def adaptive_with_two_rules(folder):
    return [
        *("gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits"),
        *("--wcr", "0.1", "--rdi", "0.5"),
    ]


@case("--adaptive runs a model, and only as far as it must: give --model and --data, and no files, baseline or groups.")
def adaptive_on_a_logits_file(folder):
    return gated(folder, "--wcr", "0.1", "--adaptive")


@case("--adaptive runs a model, and only as far as it must. Give --model and --data.")
def adaptive_without_a_model(folder):
    return ["gate", "--wcr", "0.1", "--adaptive"]


@case("the threshold of WCR is 2, off its scale, which goes from 0 to 1.253. Give a number on it.")
def adaptive_threshold_off_the_scale(folder):
    return ["gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "2"]


@case(
    "standard: threshold 0 is not between 0 and the largest score there is (1.253). Every model is on the same side of it."
)
def adaptive_threshold_that_none_can_miss(folder):
    return ["gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "0"]


@case("the threshold of WCR is 30, off its scale, which goes from 0 to 1.253. Give a number on it.")
def threshold_above_the_scale(folder):
    return gated(folder, "--wcr", "30")


@case("the threshold of WCR is -1, off its scale, which goes from 0 to 1.253. Give a number on it.")
def threshold_below_the_scale(folder):
    return gated(folder, "--wcr=-1")


@case(
    "{folder}/policy.toml: the threshold of RDI is 7, off its scale, which goes from 0 to 1.253. Give a number on it."
)
def threshold_off_the_scale_in_a_file(folder):
    return policy(folder, "[rules]\nrdi = 7\n")


@case("the threshold of WCR is 2.5, off its scale, which goes from 0 to 2. Give a number on it.")
def threshold_of_a_radius_off_the_scale(folder):
    return [*GATED_RADII, "--wcr", "2.5"]


@case(
    "{folder}/m.npz: there is nothing to judge: every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class. Check that labels and logits belong together. To judge nevertheless, give --allow all_zero --allow at_chance."
)
def gate_of_zeros(folder):
    labels = np.arange(60) % 3
    return ["gate", *npz(folder, logits=9.0 * np.eye(3)[(labels + 1) % 3], labels=labels)[1:], "--rdi", "0.9"]


@case(
    "{folder}/m.csv: there is nothing to judge: every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class. Check that labels and logits belong together. To judge nevertheless, give --allow all_zero --allow at_chance."
)
def gate_of_labels_that_are_always_wrong(folder):
    rows = (f"{'cat' if row % 2 else 'dog'},{-9 * (row % 2)},{9 * (row % 2 - 1)}\n" for row in range(80))
    return ["gate", *csv(folder, f"label,cat,dog\n{''.join(rows)}")[1:], "--rdi", "0.3"]


@case(
    "{folder}/audit.json: holds an audit of 'm' that cannot be: the interval of wcr begins at 1.2 and ends at 0. Run the audit again."
)
def gate_of_an_audit_that_cannot_be(folder):
    found = audit_models({"m": Samples.of(LOGITS, LABELS)})
    data = json.loads(found.to_json())
    data["models"][0]["wcr"]["interval"] = [1.2, 0.0]
    return ["gate", text_file(folder, "audit.json", json.dumps(data)), "--wcr", "0.5"]


@case("the policy names a flag to allow 'at_chnce' that there is not. Did you mean 'at_chance'?")
def unknown_flag_to_allow(folder):
    return gated(folder, "--wcr", "0.1", "--allow", "at_chnce")


@case("{folder}/policy.toml: allow stands under [rules] in the policy, where it is no rule. Move it to the top.")
def flags_to_allow_among_the_rules(folder):
    return policy(folder, '[rules]\nwcr = 0.1\nallow = ["at_chance"]\n')


@case("{folder}/policy.toml: allow is 'at_chance', not a list of flags. Write allow = [\"absent_classes\"].")
def flags_to_allow_that_are_no_list(folder):
    return policy(folder, 'allow = "at_chance"\n[rules]\nwcr = 0.1\n')


@case("--expect-accuracy is for whole audits: an adaptive gate draws mostly from the worst classes.")
def adaptive_with_an_expected_accuracy(folder):
    return [
        *("gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits"),
        *("--wcr", "0.1", "--expect-accuracy", "0.9"),
    ]


@case(
    "--target finite is for --adaptive. Otherwise make the audit with it (gfscore audit --target finite), and gate the audit.json."
)
def gate_of_a_fixed_set_that_is_not_adaptive(folder):
    return gated(folder, "--wcr", "0.1", "--target", "finite")


def versions(folder: Path, **other: object) -> list[str]:
    np.savez(folder / "n.npz", **({"logits": LOGITS, "labels": LABELS} | other))
    return ["compare", *npz(folder)[1:], str(folder / "n.npz")]


@case(
    "the old version has 3 classes, the new one 2, and their names are not the same. Compare models of the same classes, or give --class-names."
)
def compare_of_other_classes(folder):
    return versions(folder, logits=LOGITS[:, :2], labels=[0, 1, 0, 1])


@case("a tolerance of -0.1 is no fall. Give a number of at least 0, such as 0.02.")
def compare_with_a_negative_tolerance(folder):
    return [*versions(folder), "--tolerance", "-0.1"]


@case("{folder}/m.npz is given twice. Name each file once.")
def compare_of_a_file_with_itself(folder):
    return ["compare", *npz(folder)[1:] * 2]


@case("0 finished runs have a key that begins with 'abc'. See gfscore store list.")
def compare_of_an_unknown_run(folder):
    return ["compare", "store:abc", "store:abd", "--store", str(folder)]


# Radii at the gate

GATED_RADII = ["gate", "--model", "zoo:trades", "--data", "zoo:digits", "--score", "first-order", "--norm", "l2"]


@case("a radius cannot be compared with a baseline of logits. Give its audit.json instead.")
def radius_against_logits(folder):
    return [*GATED_RADII, "--wcr", "0.1", "--baseline", npz(folder)[1]]


@case("--adaptive measures radii by forward passes alone. Leave --gradients out.")
def adaptive_gate_with_gradients(folder):
    return [*GATED_RADII, "--wcr", "0.1", "--adaptive", "--gradients", "yes"]


@case(
    "{folder}/images/a/1.png: is 4100 x 4100 pixels, and an image for a model has at most 16,777,216. "
    "Give --resize, such as --resize 256 --crop 224."
)
def an_image_too_large_for_a_model(folder: Path) -> list[str]:
    for name in "ab":
        (folder / "images" / name).mkdir(parents=True)
        Image.new("1", (4100, 4100)).save(folder / "images" / name / "1.png")
    return ["audit", "--model", "zoo:standard", "--data", str(folder / "images"), "--store", str(folder / "store")]
