"""What commands write: a file of gfscore is renewed, and that is said; somebody else's is refused, whatever it is."""

from pathlib import Path

import numpy as np
import pytest

from gfscore.cli.main import run

ZOO = ("--model", "zoo:awp", "--data", "zoo:digits", "--n-per-class", "3")
OTHERS = b"label,cat,dog\n0,1.0,2.0\n"
# the command, the file that it writes, and the option that names it
CASES = {
    "audit": (["audit", "net.npz", "-o", "x.json"], "x.json", "--out"),
    "samples": (["audit", "net.npz", "--per-sample", "s.csv"], "s.csv", "--per-sample"),
    "samples, parquet": (["audit", "net.npz", "--per-sample", "s.parquet"], "s.parquet", "--per-sample"),
    "samples beside JSON": (["audit", "net.npz", "--json", "--per-sample", "s.csv"], "s.csv", "--per-sample"),
    "logits": (["logits", *ZOO, "-o", "l.safetensors"], "l.safetensors", "--out"),
    "junit": (["gate", "net.npz", "--rdi", "1.25", "--junit", "j.xml"], "j.xml", "--junit"),
    "sarif": (["gate", "net.npz", "--rdi", "1.25", "--sarif", "s.sarif"], "s.sarif", "--sarif"),
    "summary": (["gate", "net.npz", "--rdi", "1.25", "--summary", "s.md"], "s.md", "--summary"),
    "comparison": (["compare", "net.npz", "new.npz", "-o", "c.json"], "c.json", "--out"),
    "page": (["report", "a.json", "-o", "r.html"], "r.html", "--out"),
    **{
        f"table of {rows}, {form}": (
            ["table", "a.json", "--rows", rows, "--format", form, "-o", f"t.{form}"],
            f"t.{form}",
            "--out",
        )
        for rows in ("models", "classes", "matrix")
        for form in ("csv", "markdown", "latex")
    },
    **{
        f"figure, {form}": (
            ["figures", "a.json", "--only", "forest", "--format", form, "-o", "f"],
            f"f/forest.{form}",
            "--out",
        )
        for form in ("png", "svg", "pdf", "html")
    },
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", "store")
    rng, labels = np.random.default_rng(0), np.arange(60) % 3
    for name in ("net", "new"):
        np.savez(f"{name}.npz", logits=rng.normal(0, 1, (60, 3)) + 2 * np.eye(3)[labels], labels=labels)
    assert run(["audit", "net.npz", "-o", "a.json", "-q"]) == 0
    return tmp_path


@pytest.mark.parametrize("name", CASES)
def test_a_file_of_ours_is_renewed_and_anothers_is_not(name, folder, capsys):
    command, file, option = CASES[name]
    assert run(command) == 0
    written = Path(file).read_bytes()
    capsys.readouterr()
    assert run(command) == 0  # a pipeline runs more than once
    told = capsys.readouterr().err
    replaced = f"gfscore: {file} replaced an earlier file of that name.\n"
    assert (replaced in told) != ("--json" in command)
    Path(file).write_bytes(OTHERS)
    assert run(command) == 2
    said = "is there already, and nothing in it says that gfscore wrote it."
    assert capsys.readouterr().err == f"gfscore: {file}: {said} Choose another {option}, or say --force.\n"
    assert Path(file).read_bytes() == OTHERS
    assert run([*command, "--force"]) == 0
    assert len(Path(file).read_bytes()) > len(written) / 2
    Path(file).write_bytes(b"")  # as mktemp and CI systems make them
    assert run(command) == 0


def test_many_files_are_told_in_one_line(folder, capsys):
    assert run(["figures", "a.json", "-o", "f", "-q"]) == 0
    count = len(list(Path("f").iterdir()))
    assert run(["figures", "a.json", "-o", "f"]) == 0
    assert capsys.readouterr().err == f"gfscore: {count} earlier files in f were replaced.\n"


def test_marked_pictures_are_pictures(folder):
    from PIL import Image

    assert run(["figures", "a.json", "--only", "forest", "-o", "f", "-q"]) == 0
    with Image.open("f/forest.png") as picture:
        picture.verify()
        assert picture.info["Software"] == "gfscore"


def test_the_demo_does_not_replace_a_picture_of_somebody_else(folder, capsys):
    Path("d/figures").mkdir(parents=True)
    Path("d/figures/forest.png").write_bytes(OTHERS)
    assert run(["demo", "-o", "d"]) == 2
    assert "d/figures/forest.png: is there already" in capsys.readouterr().err
