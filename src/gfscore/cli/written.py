"""Files that commands write: where they go, what they may replace, and what is said of that."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gfscore import views
from gfscore.errors import FileError, OptionError
from gfscore.storage import redact

# in files that gfscore wrote: results, pages, Markdown, PDF
MARKS = (
    b'"schema": "gfscore.',
    b'"schema":"gfscore.',
    b'name="generator" content="gfscore',
    b"<!-- gfscore",
    b"% gfscore",
)
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


def check_free(*paths: Path | None, force: bool) -> list[Path]:
    """Those of the files that are there already and may be replaced: gfscore wrote them, or it is ``force``."""
    taken = [path for path in paths if path is not None and path.is_file()]
    for path in taken:
        if not force and not _is_ours(path):
            raise FileError(
                "is there already, and gfscore did not write it. Choose another --out, or say --force."
            ).found_in(path)
    return taken


def say_replaced(paths: Sequence[Path], *, quiet: bool) -> None:
    """Say on standard error which earlier files were replaced."""
    for path in () if quiet else paths:
        typer.echo(f"gfscore: {views.printable(redact(path))} replaced an earlier file of that name.", err=True)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            found = file.read(LOOKED_AT)
            size = file.seek(0, 2)
            file.seek(max(0, size - LOOKED_AT))
            found += file.read()
    except OSError:
        return False
    return not found or any(mark in found for mark in MARKS)
