"""Logits, labels, names and probabilities that cannot be."""

import numpy as np

from bad_inputs.making import LABELS, LOGITS, PROBABILITIES, case, changed, csv, npz


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
