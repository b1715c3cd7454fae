"""``gfscore store``: the logits on disk."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from gfscore import views
from gfscore.cli.binding import command
from gfscore.cli.help_screen import Command, CommandGroup
from gfscore.cli.screens import screen
from gfscore.errors import OptionError
from gfscore.inputs.probes import damaged_probes, is_of_its_model, remove_probes
from gfscore.measures.summary_files import remove_sums
from gfscore.outputs.fitting import fit
from gfscore.storage.journals import remove_scores
from gfscore.storage.store import Store
from gfscore.training.checkpoints import remove_checkpoints

SPARE = ("size", "holds")  # what a narrow terminal goes without, the least needed first

StoreFolder = Annotated[
    Path | None, typer.Option("--store", help="Where logits are kept.  [default: $GFSCORE_STORE or the user's cache]")
]

store_app = typer.Typer(help="Look after the logits on disk.", cls=CommandGroup, no_args_is_help=True)


@store_app.command("list", cls=Command)
@command()
def list_command(store: StoreFolder = None) -> None:
    """List what is kept, oldest first."""
    kept = Store(store)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("key", "holds", "model", "data", "samples", "state", "size"):
        justify: Literal["left", "right"] = "right" if heading in ("samples", "size") else "left"
        table.add_column(heading, justify=justify, no_wrap=True)
    for entry in kept.entries():
        about = entry.info["about"]
        state = "finished" if entry.finished.exists() else "under way"
        what = (entry.path.name[:12], entry.content.replace("_", " "), about["model"], about["data"])
        cells = (*what, f"{about['n']:,}", state, _size(entry.size))
        table.add_row(*(Text(views.printable(str(cell))) for cell in cells))
    console = screen()
    console.print(fit(console, table, SPARE) if table.row_count else "Nothing is kept yet.")
    console.print(Text(views.printable(f"In {kept.root}"), style="dim"), soft_wrap=True)


@store_app.command("verify", cls=Command)
@command()
def verify_command(store: StoreFolder = None) -> None:
    """Hold every file against its checksums; a damaged part is computed again when it is next needed.

    Logits are also held against what the model made of the first images when they were computed.
    """
    kept = Store(store)
    entries = kept.entries()
    damaged = [entry for entry in entries if entry.is_damaged() or not is_of_its_model(kept.root, entry)]
    for entry in damaged:
        about = entry.info["about"]
        typer.echo(
            f"damaged: {entry.path.name[:12]} ({views.printable(about['model'])} on {views.printable(about['data'])})"
        )
    for path in damaged_probes(kept.root):
        typer.echo(f"damaged: {path} (what was computed with that model is computed again)")
    typer.echo(f"{len(entries) - len(damaged)} of {len(entries)} entries are sound.")
    unprobed = sum(entry.recipe.probe is None for entry in entries)
    if unprobed:
        typer.echo(f"{unprobed} of them will not be used again: nothing says which model they are of beyond a hash.")


@store_app.command("clear", cls=Command)
@command()
def clear_command(
    key: Annotated[str | None, typer.Argument(help="Beginning of an entry's key.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete every entry.")] = False,
    store: StoreFolder = None,
) -> None:
    """Delete entries: one by its key, or all."""
    if (key is None) != everything:
        raise OptionError("say what to delete: the key of an entry (gfscore store list), or --all.")
    kept = Store(store)
    chosen = [entry for entry in kept.entries() if everything or entry.path.name.startswith(str(key))]
    if key is not None and len(chosen) != 1:
        raise OptionError(f"{len(chosen)} entries have a key that begins with {key!r}. See gfscore store list.")
    for entry in chosen:
        kept.remove(entry)
    if everything:
        remove_probes(kept.root)
    scores, sums = (remove_scores(kept.root), remove_sums(kept.root)) if everything else (0, 0)
    also = f" and the scores of {scores} adaptive gates" if scores else ""
    also += f" and the sums of {sums} streams" if sums else ""
    runs = remove_checkpoints(kept.root) if everything else 0
    also += f" and the weights of {runs} training runs" if runs else ""
    typer.echo(f"Deleted {len(chosen)} of {len(chosen) + len(kept.entries())} entries{also}.")


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"
