"""The end of every command that audits: the result as tables or JSON, and the files it leaves."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gfscore import assembling
from gfscore.cli.screens import say, screen
from gfscore.cli.streams import write_data
from gfscore.outputs.tables import write_per_sample
from gfscore.outputs.terminal import show_audit
from gfscore.results import Audit, Provenance
from gfscore.storage import Watched, redact

RESULT = "audit.json"
DEFAULT_OUT = Path("gfscore-audit")


def deliver(
    audit: Audit,
    *,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    per_sample: Path | None,
    tables: Sequence[Mapping[str, Sequence[Any]]],
) -> None:
    """Write what was asked for, and show the rest; with ``as_json`` nothing stands beside the JSON."""
    written: list[Path] = []
    if per_sample is not None:
        write_per_sample(per_sample, tables)
        written.append(per_sample)
    if out is not None or not as_json:
        result = (out or DEFAULT_OUT) / RESULT
        audit.save(result)
        written.append(result)
    if as_json:
        write_data(audit.to_json())
    elif not quiet:
        console = screen()
        show_audit(audit, console)
        for path in written:
            say(console, f"Written: {redact(path)}")


def provenance(files: Watched, known: Mapping[Path, str] | None = None) -> Provenance:
    """The command as it was written, and the hashes of the files it read; of some they are ``known`` already.

    ``files`` were watched from before they were read: one that changed since is refused, not hashed.
    """
    command, hashes = shlex.join(["gfscore", *sys.argv[1:]]), {**(known or {}), **files.hashes()}
    return assembling.make_provenance(command=command, inputs={str(path): digest for path, digest in hashes.items()})
