"""Files of class names and of groups."""

import json

import numpy as np

from bad_inputs.making import case, csv, npz, text_file


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


@case(
    "--class-names: {folder}/names.txt: does not exist. Give a file of names, or one of cifar10, cifar100, imagenet, mnist, fashion-mnist."
)
def class_names_file_missing(folder):
    return npz(folder, "--class-names", str(folder / "names.txt"))


@case(
    "--class-names: cifar-10: does not exist. Give a file of names, or one of cifar10, cifar100, imagenet, mnist, fashion-mnist."
)
def class_names_by_a_name_that_is_not_known(folder):
    return npz(folder, "--class-names", "cifar-10")


@case("{folder}/m.npz: there are 10 class names for 3 classes. Give one name per column.")
def class_names_of_another_data_set(folder):
    return npz(folder, "--class-names", "CIFAR10")


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


@case("{folder}/groups.csv: has no header line. Write it again.")
def groups_file_with_nothing_but_a_byte_order_mark(folder):
    return npz(folder, "--groups", text_file(folder, "groups.csv", "\ufeff"))


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
