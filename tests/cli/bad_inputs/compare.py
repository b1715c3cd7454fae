"""Two versions of a model."""

from pathlib import Path

import numpy as np

from bad_inputs.making import LABELS, LOGITS, case, npz


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


@case(
    "a tolerance of 5 is off the scale of the score, on which no fall is larger than 1.253. Give a smaller one, such as 0.02."
)
def compare_with_a_tolerance_off_the_scale(folder):
    return [*versions(folder, logits=LOGITS + 0.1), "--tolerance", "5"]


@case(
    "--allow at_change is no flag that voids a verdict. There are labels_shifted, labels_permuted, at_chance, all_zero, bounded_logits."
)
def compare_in_spite_of_an_unknown_flag(folder):
    return [*versions(folder), "--allow", "at_change"]


@case("{folder}/m.npz is given twice. Name each file once.")
def compare_of_a_file_with_itself(folder):
    return ["compare", *npz(folder)[1:] * 2]


@case("0 finished runs have a key that begins with 'abc'. See gfscore store list.")
def compare_of_an_unknown_run(folder):
    return ["compare", "store:abc", "store:abd", "--store", str(folder)]
