"""What ``gfscore gate`` leaves behind: tables or JSON for who looks, files for who comes later and for CI systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gfscore.cli.screens import screen
from gfscore.cli.streams import write_data
from gfscore.outputs import ci_formats
from gfscore.outputs.verdicts import show_gate
from gfscore.results import Audit, GateResult, ModelAudit
from gfscore.storage import write_text

RESULT, AUDIT = "gate.json", "audit.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutputs:
    """Where the verdict goes."""

    out: Annotated[Path | None, typer.Option(help="Folder for gate.json, and for audit.json where there is one.")] = (
        None
    )
    junit: Annotated[Path | None, typer.Option(help="Also write the rules as JUnit XML test cases.")] = None
    sarif: Annotated[Path | None, typer.Option(help="Also write the rules as SARIF 2.1.0, for code scanning.")] = None
    summary: Annotated[Path | None, typer.Option(help="Also write the verdict as Markdown, for a job's page.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print gate.json instead of tables.")] = False

    def deliver(self, result: GateResult, audits: Sequence[ModelAudit], *, quiet: bool) -> None:
        """Write what was asked for, and show the rest; with ``as_json`` nothing stands beside the JSON."""
        if self.out is not None:
            if audits:
                Audit(models=tuple(audits), provenance=result.provenance).save(self.out / AUDIT)
            result.save(self.out / RESULT)
        for path, write in (
            (self.junit, ci_formats.junit),
            (self.sarif, ci_formats.sarif),
            (self.summary, ci_formats.summary),
        ):
            if path is not None:
                write_text(path, write(result))
        if self.as_json:
            write_data(result.to_json())
        elif not quiet:
            show_gate(result, screen())
