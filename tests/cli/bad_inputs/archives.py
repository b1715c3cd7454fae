"""Logits files of any kind that are missing or damaged; npz archives and safetensors."""

import os
import zipfile

import numpy as np
from safetensors.numpy import save_file

from bad_inputs.making import LABELS, LOGITS, case, npy_bytes, npz, text_file


@case("{folder}/m.npz: does not exist. Check the path.")
def file_missing(folder):
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.npz: is a directory. Name a file.")
def file_is_a_directory(folder):
    (folder / "m.npz").mkdir()
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.npz: is a pipe or a device, which can be read once, if it ends. Save what comes from it as a file.")
def file_is_a_pipe(folder):
    os.mkfifo(folder / "m.npz")
    return ["audit", str(folder / "m.npz")]


@case("caf\\xe9.npz is no UTF-8 text, so no result could name it. Rename the file.")
def file_named_in_another_encoding(folder):
    return ["audit", os.fsdecode(b"caf\xe9.npz")]


@case("{folder}/m.npz: is empty (0 bytes). Write it again.")
def file_empty(folder):
    (folder / "m.npz").touch()
    return ["audit", str(folder / "m.npz")]


@case("{folder}/m.xlsx: has the ending '.xlsx'. Logits files are .npz, .safetensors, .parquet, .csv or .tsv.")
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


@case("{folder}/m.npz: array 'logits' has no readable header ({theirs}). Save the file again.")
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


@case("{folder}/m.npz: array 'logits' has no readable header ({theirs}). Save the file again.")
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


@case("{folder}/m.safetensors: is not a safetensors file, or is cut short ({theirs}). Save it again.")
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


@case("{folder}/m.safetensors: metadata 'class_names' is not a JSON list of names. Write json.dumps(names).")
def safetensors_with_names_nested_too_deep(folder):
    save_file({"logits": LOGITS, "labels": LABELS}, folder / "m.safetensors", {"class_names": "[" * 100_000})
    return ["audit", str(folder / "m.safetensors")]


@case("{folder}/m.safetensors: labels have shape (); they must be one class index per sample.")
def safetensors_with_one_label_for_all(folder):
    save_file({"logits": LOGITS, "labels": np.array(1)}, folder / "m.safetensors")
    return ["audit", str(folder / "m.safetensors"), "--groups", text_file(folder, "groups.txt", "a\n")]


def _remembering(folder, said):
    save_file({"logits": LOGITS, "labels": LABELS}, folder / "m.safetensors", {"gfscore.run": said})
    return ["audit", str(folder / "m.safetensors")]


DAMAGED_RUN = (
    "{{folder}}/m.safetensors: metadata 'gfscore.run' does not say how a model was run ({why}). It is damaged: make the "
    "file again, with gfscore logits."
)


@case(DAMAGED_RUN.format(why="no JSON"))
def safetensors_with_a_run_that_is_no_json(folder):
    return _remembering(folder, "resnet20")


@case(DAMAGED_RUN.format(why="no JSON"))
def safetensors_with_a_run_nested_too_deep(folder):
    return _remembering(folder, "[" * 60_000)


@case(DAMAGED_RUN.format(why="data"))
def safetensors_with_half_a_run(folder):
    return _remembering(folder, '{"model": {"name": "net", "fingerprint": null}, "preprocessing": {}}')


@case(DAMAGED_RUN.format(why="preprocessing.mean.0"))
def safetensors_with_a_mean_that_is_none(folder):
    about = '"model": {"name": "net", "fingerprint": null}, "data": {"source": "d", "fingerprint": "f"}'
    return _remembering(folder, f'{{{about}, "preprocessing": {{"mean": ["low"]}}}}')


@case(DAMAGED_RUN.format(why="a name of 0 characters"))
def safetensors_of_a_model_without_a_name(folder):
    about = '"model": {"name": " ", "fingerprint": null}, "data": {"source": "d", "fingerprint": "f"}'
    return _remembering(folder, f'{{{about}, "preprocessing": {{}}}}')


@case(DAMAGED_RUN.format(why="70,000 characters"))
def safetensors_with_a_run_of_any_length(folder):
    return _remembering(folder, "x" * 70_000)
