"""Compare the commands of ``README.md`` with what they print; ``--write`` puts that there, and draws the picture.

A block ``$ gfscore ...`` that shows output is run, in a folder with a made-up ``net.npz`` and, where the folder of real
data is there (``GFSCORE_REALDATA``), a network of others as ``net.onnx`` with the first 1,000 test images. As many
paragraphs are shown as there were; a last line ``...`` says that more is printed.
"""

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from PIL import Image

from gfscore.cli.main import run

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
REALDATA = Path(os.environ.get("GFSCORE_REALDATA", ROOT.parent / "shared" / "realdata"))
PICTURE = ROOT / "docs" / "images" / "readme.png"
BLOCK = re.compile(r"^(```console\n\$ gfscore (.*)\n)((?:(?!\$ |```).*\n)+)```$", re.MULTILINE)
CUT = "..."


def prepare(folder: Path, realdata: Path | None) -> None:
    """Put the files that the examples name into a folder."""
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 3
    logits = rng.normal(0, 1, (600, 3))
    logits[np.arange(600), labels] += np.array([4, 2, 0.5])[labels]
    np.savez(folder / "net.npz", logits=logits, labels=labels, class_names=["ant", "bee", "cow"])
    if realdata is not None:
        shutil.copy(realdata / "models" / "cifar_cnn_a_mix.onnx", folder / "net.onnx")
        with np.load(realdata / "cifar10_test.npz") as file:
            np.savez(folder / "images.npz", images=file["images"][:1000], labels=file["labels"][:1000])


def printed(command: str, shown: str) -> str:
    """What a command prints, cut where the shown text is cut."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        run(shlex.split(command))
    lines = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    if not shown.endswith(f"{CUT}\n"):
        return f"{lines}\n"
    count = len(shown.strip().split("\n\n"))
    return "\n\n".join([*lines.split("\n\n")[:count]]) + f"\n{CUT}\n"


def refresh(text: str, *, with_models: bool) -> str:
    """A README with the output of its commands as it is now; those on models only where there are some."""

    def again(block: re.Match[str]) -> str:
        head, command, shown = block.groups()
        needs_model = "--model" in command or "--config" in command
        return block[0] if needs_model and not with_models else f"{head}{printed(command, shown)}```"

    return BLOCK.sub(again, text)


def refreshed(realdata: Path | None) -> str:
    """The README as it should be."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare(Path(folder), realdata)
        with mock.patch.dict(os.environ, {"COLUMNS": "100", "NO_COLOR": "1", "GFSCORE_STORE": f"{folder}/store"}):
            return refresh(README.read_text(encoding="utf-8"), with_models=realdata is not None)


def draw(realdata: Path) -> None:
    """Draw the picture of the README: the network of its first example."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        prepare(Path(folder), realdata)
        command = next(match[1] for match in BLOCK.findall(README.read_text(encoding="utf-8")) if "--model" in match[1])
        run([*shlex.split(command), "--store", "store", "--quiet"])
        run(["figures", "gfscore-audit/audit.json", "--only", "robustness", "--out", "drawn", "--quiet"])
        (picture,) = Path("drawn").glob("*.png")
        Image.open(picture).convert("RGB").quantize(128).save(PICTURE, optimize=True)


def main() -> None:
    """Write the README, or say whether it is as it should be."""
    text = refreshed(REALDATA if REALDATA.is_dir() else None)
    if "--write" in sys.argv[1:]:
        README.write_text(text, encoding="utf-8")
        if REALDATA.is_dir():
            draw(REALDATA)
    elif text != README.read_text(encoding="utf-8"):
        raise SystemExit("README.md shows something else than is printed: python scripts/readme_examples.py --write")


if __name__ == "__main__":
    main()
