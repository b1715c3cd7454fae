"""Tables of logits in the dialects that people have them: read to the same numbers, or refused with what cures it."""

import json

import numpy as np
import pytest

from gfscore.cli.main import run

NAMES = ("ant", "bee", "cow")
RNG = np.random.default_rng(0)
LABELS = np.arange(60) % 3
LOGITS = (RNG.normal(0, 1, (60, 3)) + 1.5 * np.eye(3)[LABELS]).round(3)
SHARES = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
WAY_OUT = "to leave out what is no class, or name the classes with --class-names."


def columns(*, names=NAMES, label="label", labels=None, values=LOGITS, **others):
    """Columns by name, in the order of most files: labels, classes, then the rest."""
    labels = [NAMES[each] for each in LABELS] if labels is None else labels
    found = {} if label is None else {label: labels}
    return {**found, **dict(zip(names, values.T, strict=True)), **others}


def written(table, sep=",", decimal=".", before="", after=""):
    def cell(value):
        return str(value).replace(".", decimal) if isinstance(value, float) else str(value)

    rows = zip(*table.values(), strict=True)
    lines = [sep.join(map(str, table)), *(sep.join(map(cell, row)) for row in rows)]
    return before + "\n".join(lines) + "\n" + after


PLAIN = written(columns())
INDICES = LABELS.tolist()
IDS = [100 + row for row in range(60)]

# name: text of the table, options, codes of flags that are raised
READ = {
    "y": (written(columns(label="y")), [], []),
    "y_true": (written(columns(label="y_true", labels=INDICES)), [], []),
    "True Label": (written(columns(label="True Label")), [], []),
    "TARGET": (written(columns(label="TARGET", labels=INDICES)), [], []),
    "a label column by name": (written(columns(label="species")), ["--label-column", "species"], []),
    "semicolons": (written(columns(), ";"), [], []),
    "semicolons and decimal commas": (written(columns(), ";", ","), [], ["decimal_comma"]),
    "tabs": (written(columns(), "\t"), [], []),
    "tabs and decimal commas": (written(columns(labels=INDICES), "\t", ","), [], ["decimal_comma"]),
    "bars": (written(columns(), "|"), [], []),
    "spaces after commas": (written(columns(), ", "), [], []),
    "empty lines at the end, and a byte order mark": (written(columns(), before="\ufeff", after="\n\n"), [], []),
    "the index of pandas": (written({"": range(60), **columns()}), [], ["left_out_columns"]),
    "logit_": (written(columns(names=[f"logit_{name}" for name in NAMES])), [], []),
    "Logits.": (written(columns(names=[f"Logits.{name}" for name in NAMES], labels=INDICES)), [], []),
    "logit_ and prob_": (
        written(
            {**columns(names=[f"logit_{name}" for name in NAMES]), "prob_ant": SHARES[:, 0], "prob_bee": SHARES[:, 1]}
        ),
        [],
        ["left_out_columns"],
    ),
    "labels as floats": (written(columns(labels=[float(each) for each in LABELS])), [], []),
    "labels in capitals": (written(columns(labels=[NAMES[each].upper() for each in LABELS])), [], []),
    "one-hot labels": (
        written({**columns(label=None), **{f"label_{name}": (k == LABELS) * 1 for k, name in enumerate(NAMES)}}),
        [],
        [],
    ),
    "one-hot labels before logits": (
        written(
            {
                **{f"y_true_{name}": (k == LABELS) * 1.0 for k, name in enumerate(NAMES)},
                **columns(label=None, names=[f"logit_{name}" for name in NAMES]),
            },
            "\t",
        ),
        [],
        [],
    ),
    "columns that are to be ignored": (
        written(columns(id=IDS, fold=[row % 5 for row in IDS], file=["a.png"] * 60)),
        ["--ignore-columns", "id,fold", "--ignore-columns", "file"],
        [],
    ),
    "columns that --class-names leaves out": (
        written(columns(labels=INDICES, id=IDS)),
        ["--class-names", "names.txt"],
        ["left_out_columns"],
    ),
    "labels from 1": (written(columns(labels=[each + 1 for each in INDICES])), ["--labels-from", "1"], []),
    "numbers named from names": (
        written(columns(names=("0", "1", "2"))),
        ["--class-names", "names.txt"],
        [],
    ),
}

LOOKS = "{file}: has a column {what} that looks like no class. Say --ignore-columns {name} " + WAY_OUT


def stray(name, what, values, **how):
    text = written({**columns(labels=INDICES, **how), name: values})
    return text, [], LOOKS.replace("{what}", f"'{name}' ({what})").replace("{name}", name)


WHOLE = "whole numbers among fractions: an id, or a prediction"
REFUSED = {
    "an id": stray("id", "called like bookkeeping", IDS),
    "an id by another name": stray("nr", WHOLE, IDS),
    "a fold": stray("cv", WHOLE, [row % 5 for row in IDS]),
    "a prediction": stray("argmax", WHOLE, LOGITS.argmax(axis=1)),
    "a time": stray("clock", "the largest of most rows, and the label of none", [1e3 + row / 7 for row in IDS]),
    "a confidence": stray("p", "the largest confidence of the others", SHARES.max(axis=1).round(3)),
    "the largest logit": stray("top", "the largest confidence of the others", LOGITS.max(axis=1)),
    "a hit beside probabilities": (
        written({**columns(labels=INDICES, values=SHARES), "ok": (SHARES.argmax(axis=1) == LABELS) * 1.0}),
        ["--probabilities"],
        LOOKS.replace("{what}", "'ok' (without it the rows sum to 1)").replace("{name}", "ok"),
    ),
    "text": stray("file", "text", ["a/b.png"] * 60),
    "two strangers": (
        written(columns(labels=INDICES, id=IDS, fold=IDS)),
        [],
        "{file}: has columns 'id' (called like bookkeeping), 'fold' (called like bookkeeping) that look like no class. "
        "Say --ignore-columns id,fold " + WAY_OUT,
    ),
    "a stranger that is renamed": (
        written(columns(id=IDS)),
        ["--class-names", "four.txt"],
        LOOKS.replace("{what}", "'id' (called like bookkeeping)").replace("{name}", "id"),
    ),
    "a stranger beside logit_": (
        written(columns(names=[f"logit_{name}" for name in NAMES], luminance=SHARES[:, 0])),
        [],
        LOOKS.replace("{what}", "'luminance' (has not the prefix of the others)").replace("{name}", "luminance"),
    ),
    "two label columns": (
        written({**columns(label="y_true"), "target": INDICES}),
        [],
        ("{file}: has several columns that may hold the labels, 'y_true', 'target'. Say which with --label-column "
        "y_true, and leave the others out with --ignore-columns."),
    ),
    "no label column": (
        written(columns(label="species")),
        [],
        ("{file}: has no column 'label'; it has 'species', 'ant', 'bee', 'cow'. Say which column holds the true "
        "classes with --label-column, or call it 'label'."),
    ),
    "a label column that is not there": (
        PLAIN,
        ["--label-column", "lable"],
        "{file}: has no column 'lable' for --label-column; it has 'label', 'ant', 'bee', 'cow'. Did you mean 'label'?",
    ),
    "a column to ignore that is not there": (
        PLAIN,
        ["--ignore-columns", "id"],
        "{file}: has no column 'id' to ignore; it has 'label', 'ant', 'bee', 'cow'.",
    ),
    "labels from 1, not said": (
        written(columns(labels=[each + 1 for each in INDICES])),
        [],
        ("{file}: label 3 in row 2 is not one of the 3 classes (0 to 2). All labels are 1 to 3: if they count from 1, "
        "say --labels-from 1 (labels_from=1)."),
    ),
    "labels from 1, said of others": (
        written(columns(labels=INDICES)),
        ["--labels-from", "1"],
        "{file}: line 2 has label 0, and counted from 1 the 3 classes are 1 to 3. Check --labels-from.",
    ),
    "labels from 1, said of names": (
        PLAIN,
        ["--labels-from", "1"],
        "{file}: has labels that are names, and --labels-from is about numbers. Leave it out.",
    ),
    "columns from 1, the last class absent": (
        written(columns(names=("1", "2", "3"), labels=[1 + row % 2 for row in range(60)])),
        [],
        ("{file}: has labels such as '1' that may be names or indices: as a name it is column '1', as an index column "
        "'2'. Say --labels-from 0 if the first class is 0, or --labels-from 1 if the first class is 1."),
    ),
    "names of classes that columns are not called by": (
        written(columns(names=("0", "1", "2"))),
        [],
        ("{file}: line 2 has label 'ant', which is neither a class column nor a class index. The classes are '0', '1', "
        "'2'. Name them in their order with --class-names."),
    ),
    "points and commas": (
        written(columns(), ";", ",").replace("\n", "\nant;1.5;2;3\n", 1),
        [],
        ("{file}: line 3, column 'ant' holds '{cell}' in a table with points and commas in its numbers. Write one of "
        "them before the decimals, and nothing between thousands."),
    ),
    "one-hot labels of two classes": (
        written({**columns(label=None), "y_ant": [1] * 60, "y_bee": [1] * 60, "y_cow": [0] * 60}),
        [],
        "{file}: line 2 has one-hot labels that are not one 1 among zeros. Name one class for every sample.",
    ),
    "one-hot labels of other classes": (
        written({**columns(label=None), **{f"y_{name}": LABELS for name in (*NAMES, "dog")}}),
        [],
        ("{file}: has one-hot labels 'y_dog' of classes that have no column of logits; these are 'ant', 'bee', 'cow'. "
        "Call both alike, or give one column 'label'."),
    ),
    "an empty line within": (
        PLAIN.replace("\n", "\n\n", 1),
        [],
        "{file}: line 2 is empty, and more follow. Remove it.",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = tmp_path_factory.mktemp("plain") / "m.csv"
    path.write_text(PLAIN)
    return path


def audit(arguments, capsys):
    code = run(["audit", *arguments, "--permutations", "0", "--min-n", "1", "--json"])
    printed = capsys.readouterr()
    return (json.loads(printed.out)["models"][0] if code == 0 else None), code, printed


@pytest.mark.parametrize("name", READ)
def test_read_to_the_same_numbers(name, plain, tmp_path, monkeypatch, capsys):
    text, options, flags = READ[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    path = tmp_path / ("m.tsv" if "\t" in text else "m.csv")
    path.write_text(text, encoding="utf-8")
    found, code, printed = audit([str(path), *options], capsys)
    assert code == 0, printed.err
    wanted, _, _ = audit([str(plain)], capsys)
    assert found["classes"] == wanted["classes"]
    assert found["accuracy"] == wanted["accuracy"] > 0.6
    assert [flag["code"] for flag in found["flags"]] == [flag["code"] for flag in wanted["flags"]] + flags


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_what_cures_it(name, tmp_path, monkeypatch, capsys):
    text, options, message = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    (tmp_path / "four.txt").write_text("\n".join((*NAMES, "dog")))
    (tmp_path / "m.csv").write_text(text)
    _, code, printed = audit(["m.csv", *options], capsys)
    message = message.replace("{cell}", text.splitlines()[2].split(";")[1]) if "{cell}" in message else message
    assert (code, printed.out) == (2, "")
    assert printed.err == f"gfscore: {message}\n".replace("{file}", "m.csv")


def test_there_are_thirty_of_them():
    assert len(READ) + len(REFUSED) >= 30
