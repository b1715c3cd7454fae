"""Files that commands write: where they go, what they may replace, and what is said of that."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gfscore import views
from gfscore.errors import FileError, OptionError
from gfscore.storage import redact

# in files that gfscore wrote: results, pages, Markdown, PDF and LaTeX, pictures, logits, samples, files for CI
MARKS = (
    b'"schema": "gfscore.',
    b'"schema":"gfscore.',
    b'name="generator" content="gfscore',
    b"<!-- gfscore",
    b"% gfscore",
    b"Software\0gfscore",
    b'"gfscore.run"',
    b"gfscore.samples",
    b'<testsuites name="gfscore gate"',
    b'"name": "gfscore",',
)
# what files without room for a mark begin with: samples, models, classes or groups, and the summary of a verdict
BEGINNINGS = re.compile(
    rb"model,sample_id,label,predicted,correct,score|Model,Accuracy,|(Model,)?(Class|Group),n,Score,"
    rb"|rank,best_rank,worst_rank,model,|## \S+ Robustness gate: "
)
SAID_ONE_BY_ONE = 3  # files that were replaced, of more only their number is told
LOOKED_AT = 1 << 20  # bytes at either end of a file that are searched for a mark

Force = Annotated[bool, typer.Option("--force", help="Also replace files that gfscore did not write.")]


def file_in(out: Path, name: str) -> Path:
    """Where a result goes: to the file itself where ``out`` is one by its ending, else into the folder ``out``.

    >>> file_in(Path("here"), "audit.json").as_posix(), file_in(Path("net.json"), "audit.json").as_posix()
    ('here/audit.json', 'net.json')
    """
    ending = Path(name).suffix
    return out if out.suffix.lower() == ending and not out.is_dir() else out / name


def folder_of(out: Path, *, holds: str) -> Path:
    """The folder that was named; refused where it reads like a file, as the command writes several."""
    if out.suffix.lower() in (".json", ".html", ".md", ".pdf", ".png", ".svg", ".csv") and not out.is_dir():
        raise OptionError(f"--out {out} reads like a file, and {holds} are written. Name a folder.")
    return out


def check_free(*paths: Path | None, force: bool, option: str = "--out", text: str = "") -> list[Path]:
    """Those of the files that are there already and may be replaced: gfscore wrote them, or it is ``force``.

    ``option`` is what named them. A table that begins as ``text`` does, with the same columns, is one of ours too.
    """
    taken = [path for path in paths if path is not None and path.is_file()]
    for path in taken:
        if not force and not _is_ours(path, text):
            raise FileError(
                f"is there already, and nothing in it says that gfscore wrote it. Choose another {option}, or say "
                "--force."
            ).found_in(path)
    return taken


def say_replaced(paths: Sequence[Path], *, quiet: bool) -> None:
    """Say on standard error which earlier files were replaced."""
    if len(paths) > SAID_ONE_BY_ONE and not quiet:
        where = views.printable(redact(Path(os.path.commonpath([path.parent for path in paths]))))
        typer.echo(f"gfscore: {len(paths)} earlier files in {where} were replaced.", err=True)
        return
    for path in () if quiet else paths:
        typer.echo(f"gfscore: {views.printable(redact(path))} replaced an earlier file of that name.", err=True)


def _is_ours(path: Path, text: str) -> bool:
    try:
        with path.open("rb") as file:
            found = file.read(LOOKED_AT)
            size = file.seek(0, 2)
            file.seek(max(0, size - LOOKED_AT))
            found += file.read()
    except OSError:
        return False
    columns = text.partition("\n")[0].encode() if text else None
    alike = columns is not None and found.splitlines()[:1] == [columns.strip()]
    return not found or alike or BEGINNINGS.match(found) is not None or any(mark in found for mark in MARKS)
