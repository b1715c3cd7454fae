"""Logits in tables: CSV and parquet, one or many."""

from pathlib import Path

import numpy as np

from bad_inputs.making import case, csv, text_file


@case(
    "{folder}/m.csv: has no column 'label'; it has 'cat', 'dog'. Say which column holds the true classes with --label-column, or call it 'label'."
)
def csv_without_label(folder):
    return csv(folder, "cat,dog\n1,2\n")


@case(
    "{folder}/m.csv: line 3, column 'cat' holds 'much', which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no class."
)
def csv_with_a_word_for_a_logit(folder):
    return csv(folder, "label,cat,dog\n0,1.5,2\n1,much,3\n")


@case(
    "{folder}/m.csv: line 2, column 'cat' holds '1_000', which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no class."
)
def csv_with_an_underscore_in_a_number(folder):
    return csv(folder, "label,cat,dog\n0,1_000,2\n1,3,4\n")


@case(
    "{folder}/m.csv: line 3, column 'cat' holds '١٢', which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no class."
)
def csv_with_digits_of_another_script(folder):
    return csv(folder, "label,cat,dog\n0,1,2\n1,١٢,4\n")


@case(
    "{folder}/m.csv: line 5, column 'dog' holds 'oops', which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no class."
)
def csv_with_a_name_of_two_lines(folder):
    return csv(folder, 'label,sample_id,cat,dog\n0,"x\ny",1,2\n1,z,3,4\n1,w,3,oops\n')


@case("{folder}/m.csv: line 4 has 3 fields, the header 4. Make them equal.")
def csv_with_a_short_row_after_a_name_of_two_lines(folder):
    return csv(folder, 'label,sample_id,cat,dog\n0,"x\ny",1,2\n1,z,3\n')


@case(
    "{folder}/m.csv: line 2, column 'dog' holds '', which is no number. Write one, or drop the row; --ignore-columns leaves out a column that is no class."
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
    "{folder}/m.csv: has a column 'id' that no label names: a class without a sample, or no class. Say --ignore-columns id to leave out what is no class, or name the classes with --class-names."
)
def csv_with_a_column_that_no_label_names(folder):
    return csv(folder, WITH_IDS.format("id"))


@case(
    "{folder}/m.csv: has columns 'id', 'pred' that no label names: classes without a sample, or no classes. Say --ignore-columns id,pred to leave out what is no class, or name the classes with --class-names."
)
def csv_with_columns_that_no_label_names(folder):
    return csv(folder, "label,cat,dog,id,pred\ncat,1.5,0.2,1,0\ndog,0.1,2.5,2,1\n")


@case(
    "{folder}/m.csv: has a column 'pred' (called like bookkeeping) that looks like no class. Say --ignore-columns pred to leave out what is no class, or name the classes with --class-names."
)
def csv_with_predictions_beside_indices(folder):
    return csv(folder, "label,cat,dog,pred\n0,1.5,0.2,0\n1,0.1,2.5,1\n")


@case(
    "{folder}/m.csv: has a column 'number' (whole numbers among fractions: an id, or a prediction) that looks like no class. Say --ignore-columns number to leave out what is no class, or name the classes with --class-names."
)
def csv_with_whole_numbers_beside_logits(folder):
    rows = [f"{row % 2},{row / 7:.3f},{row / 9:.3f},{row}" for row in range(20)]
    return csv(folder, "\n".join(["label,cat,dog,number", *rows]))


@case(
    "{folder}/m.csv: has labels such as '1' that may be names or indices: as a name it is column '1', as an index column '2'. Say --labels-from 0 if the first class is 0, or --labels-from 1 if the first class is 1."
)
def csv_with_labels_that_are_names_and_indices(folder):
    return csv(folder, "label,1,2,3\n1,1.5,0.2,0.1\n2,0.1,2.5,0.3\n")


def shards(folder: Path, **files: str) -> list[str]:
    (folder / "net").mkdir()
    for name, text in files.items():
        (folder / "net" / f"{name}.csv").write_text("sample_id,label,cat,dog\n" + text)
    return ["audit", "--stream", str(folder / "net")]


@case(
    "{folder}/net/b.csv: holds the sample 'y', and so does {folder}/net/a.csv: it would count twice. Keep it in one of them; or, if each file numbers its rows anew, leave the ids out with --ignore-columns sample_id."
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


@case("{folder}/m.csv: is not a CSV table ({theirs}). Save it again.")
def csv_with_an_open_quote(folder):
    return csv(folder, 'label,cat,dog\n0,"1.5,2\n')


@case("{folder}/m.parquet: is not a parquet file, or is damaged ({theirs}). Save it again.")
def parquet_that_is_none(folder):
    return ["audit", text_file(folder, "m.parquet", "PAR1 not really")]


@case("{folder}/m.parquet: row 1, column 'cat' is empty. Fill it, or drop the row.")
def parquet_with_a_missing_value(folder):
    import pandas as pd

    pd.DataFrame({"label": [0, 1], "cat": [1.5, None], "dog": [2.0, 3.0]}).to_parquet(folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


@case(
    "{folder}/m.parquet: column 'file' is large_string, no logit. Say --ignore-columns file to leave out what is no class, or name the classes with --class-names."
)
def parquet_with_a_column_of_text(folder):
    import pandas as pd

    pd.DataFrame({"label": [0, 1], "cat": [1.5, 0.0], "file": ["x", "y"]}).to_parquet(folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


@case("{folder}/m.csv: has labels of two kinds, names and indices. Use one of them throughout.")
def csv_with_labels_of_two_kinds(folder):
    return csv(folder, "label,cat,dog\ncat,1.5,2\n1,0,1\n")


@case("{folder}/m.csv: has no header line. Write it again.")
def csv_with_nothing_but_a_byte_order_mark(folder):
    return csv(folder, b"\xef\xbb\xbf")


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


@case("{folder}/m.parquet: holds text that is not UTF-8 (byte 1). Save it as UTF-8.")
def parquet_with_text_that_is_none(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    text = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 2, 3], "<i4").tobytes()), pa.py_buffer(b"a\xffb"))
    table = pa.table({"label": [0, 1], "cat": [1.5, 0.0], "dog": [0.0, 2.0], "group": text})
    pq.write_table(table, folder / "m.parquet")
    return ["audit", str(folder / "m.parquet")]


@case(
    "{folder}/m.csv: begins with a line of numbers, where the names of the columns should be. Write them above it, such as label,cat,dog."
)
def csv_without_a_line_of_names(folder):
    return csv(folder, "0,1.5,0.5\n1,0.5,1.5\n")


@case(
    "standard gives 10 logits but the data has label 10. If labels count from 1, subtract 1 from them; else use the data set the model was trained for."
)
def images_with_labels_from_one(folder):
    np.savez(folder / "i.npz", images=np.full((20, 8, 8, 1), 200, np.uint8), labels=np.arange(20) % 10 + 1)
    return ["audit", "--model", "zoo:standard", "--data", str(folder / "i.npz")]
