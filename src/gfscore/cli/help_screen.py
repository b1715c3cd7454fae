"""``--help``: examples, and the options in panels with all defaults; those for experts by ``--help-all``."""

from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final

import typer
from rich.console import Group
from rich.text import Text
from typer.core import TyperArgument, TyperCommand, TyperGroup

from gfscore.cli.screens import screen
from gfscore.outputs.fitting import wrap_words
from gfscore.words import Panel

MOST_WIDTH = 100  # of lines that people read
NAMES_WIDTH = 26  # columns before what an option does
everything: Final = ContextVar("everything", default=False)  # whether options for experts are shown
EXAMPLES: Final = {
    "demo": "gfscore demo",
    "init": "gfscore init net.onnx test.npz\ngfscore init net.onnx cifar10/ --out configs/resnet.toml --force",
    "audit": "gfscore audit --model net.onnx --data images.npz --preset imagenet\n"
    "gfscore audit logits.npz --class-names cifar10\n"
    "gfscore audit probabilities.csv --probabilities --out audit",
    "logits": "gfscore logits --model net.onnx --data images.npz --preset imagenet -o logits.safetensors",
    "calibrate": "gfscore calibrate a.npz b.npz c.npz --objective models",
    "certify": "gfscore certify --method smoothing --sigma 0.25 --model net.onnx --data images.npz\n"
    "gfscore certify logits.npz --method given --radii radii.csv",
    "gate": "gfscore gate --model net.onnx --data images.npz --preset imagenet --policy policy.toml\n"
    "gfscore gate logits.npz --wcr 0.1 --class-accuracy '*=0.6'\n"
    "gfscore gate new.npz --baseline old.npz --change wcr=-0.02 --junit gate.xml",
    "compare": "gfscore compare old.npz new.npz\ngfscore compare old/audit.json new/audit.json --fail-on-worse",
    "check": "gfscore check --model net.onnx --data images.npz --samples 20\n"
    "gfscore check --model net.onnx --data images.npz --autoattack --norm linf --eps 2/255",
    "repair": "gfscore repair net.onnx --data images.npz --preset cifar10 --eps 2/255 --max-loss 0.1\n"
    "gfscore repair net.onnx --data images.npz --preset cifar10 --attack apgd --attacked 100\n"
    "gfscore repair net.onnx --data images.npz --train-data train.npz --method faal --eps 2/255\n"
    "gfscore repair logits.npz",
    "leaderboard": "gfscore leaderboard a/audit.json b/audit.json c/audit.json\n"
    "gfscore leaderboard runs/* --eps 4/255 --out board.html --out board.csv --out ranks.png",
    "plan": "gfscore plan --classes 10 --half-width 0.05\ngfscore plan --classes 10 --n 500",
    "report": "gfscore report gfscore-audit\ngfscore report a/audit.json b/audit.json --out report.pdf\n"
    "gfscore report gfscore-audit --title 'Release 2.1' --author 'A. Auditor' --note findings.txt",
    "figures": "gfscore figures gfscore-audit --only forest --format pdf",
    "table": "gfscore table gfscore-audit --format latex --rows classes",
    "dashboard": "gfscore dashboard gfscore-audit/audit.json",
    "reproduce": "gfscore reproduce cifar10 --from-published",
}
HELP_ROWS = (
    ("-h, --help", "Show this help."),
    ("--help-all", "Show all options, also those for experts."),
)


class Command(TyperCommand):
    """A command whose help is the one of this module."""

    def get_help(self, ctx: Any) -> str:
        """The help as text, with colours where there are some."""
        return _render(_usage(self, ctx), self, _option_rows(self, ctx))


class CommandGroup(TyperGroup):
    """A group of commands, likewise."""

    def get_help(self, ctx: Any) -> str:
        """The help as text: a line for each command."""
        rows = [(name, _first_line(self.commands[name])) for name in self.list_commands(ctx)]
        options = [row for _, row in option_rows(self, ctx)]
        return _render(_usage(self, ctx), self, {"Commands": rows, "Options": [*options, HELP_ROWS[0]]})


def option_rows(command: Any, ctx: Any) -> Iterator[tuple[Panel, tuple[str, str]]]:
    """Panel, name and meaning of each parameter that the help shows."""
    for parameter in command.get_params(ctx):
        if parameter.name == "help" or (parameter.hidden and not everything.get()):
            continue
        argument = isinstance(parameter, TyperArgument)
        panel = Panel(parameter.rich_help_panel or (Panel.INPUT if argument else Panel.OUTPUT))
        yield panel, (_names(parameter, argument=argument), _meaning(parameter))


def _option_rows(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    rows = list(option_rows(command, ctx))
    panels = {panel.value: [row for place, row in rows if place is panel] for panel in Panel}
    has_experts = any(parameter.hidden for parameter in command.get_params(ctx))
    panels["Help"] = list(HELP_ROWS if has_experts else HELP_ROWS[:1])
    return panels


def _names(parameter: Any, *, argument: bool) -> str:
    if argument:
        name = (parameter.metavar or parameter.name).upper()
        return f"{name}{'...' if parameter.nargs != 1 else ''}"
    names = ", ".join(sorted(parameter.opts, key=len))
    return names if parameter.is_flag else f"{names} {parameter.metavar or ''}".rstrip()


def _meaning(parameter: Any) -> str:
    help_text, default = parameter.help or "", parameter.default
    text = " ".join(help_text.split())
    if parameter.required:
        return f"{text} [required]"
    if default is None or isinstance(default, bool) or "[default:" in text or callable(default):
        return text
    return f"{text} [default: {default.value if isinstance(default, Enum) else default}]"


def _usage(command: Any, ctx: Any) -> str:
    arguments = [parameter for parameter in command.get_params(ctx) if isinstance(parameter, TyperArgument)]
    names = [_names(parameter, argument=True) for parameter in arguments]
    pieces = [name if argument.required else f"[{name}]" for name, argument in zip(names, arguments, strict=True)]
    last = "COMMAND ..." if isinstance(command, TyperGroup) else " ".join([*pieces, "[OPTIONS]"])
    return f"Usage: {ctx.command_path} {last}"


def _first_line(command: Any) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())


def paragraphs(command: Any) -> list[str]:
    """What a command does, without the line breaks of its docstring."""
    return [" ".join(part.split()) for part in (command.help or "").split("\n\n")]


def _render(usage: str, command: Any, panels: dict[str, list[tuple[str, str]]]) -> str:
    console = screen()
    console.width = min(console.width, MOST_WIDTH)
    lines = [Text(usage, style="bold"), *(text for part in paragraphs(command) for text in (Text(), Text(part)))]
    if command.epilog:
        lines += [Text(), Text("Examples", style="bold"), *(Text(f"  {each}") for each in command.epilog.split("\n"))]
    for title, rows in panels.items():
        if rows:
            lines += [Text(), Text(title, style="bold")]
            lines += [line for names, meaning in rows for line in _row(names, meaning, console.width)]
    with console.capture() as captured:
        console.print(Group(*lines))
    return captured.get().rstrip("\n")


def _row(names: str, meaning: str, width: int) -> Iterator[Text]:
    """An option beside what it does; below it where its name is long."""
    pieces = wrap_words(Text(meaning), max(20, width - NAMES_WIDTH)) or [Text()]
    start = Text(f"  {names}", style="cyan", no_wrap=True, overflow="ignore")
    if len(start) > NAMES_WIDTH - 2:
        yield start
        start = Text()
    for piece in pieces:
        line = Text.assemble(start, " " * (NAMES_WIDTH - len(start)), piece)
        line.no_wrap, line.overflow = True, "ignore"
        yield line
        start = Text()


def show_everything(arguments: list[str]) -> list[str]:
    """The arguments with ``--help`` in place of ``--help-all``, which then shows the options for experts, too."""
    if "--help-all" not in arguments:
        return arguments
    everything.set(True)
    return ["--help" if argument == "--help-all" else argument for argument in arguments]


def page(command: Any, ctx: typer.Context, name: str = "gfscore") -> str:
    """The page of all commands for the documentation, in Markdown; nothing is cut."""
    everything.set(True)
    parts = [f"# `{name}`" if " " not in name else f"## `{name}`", "", *_spaced(paragraphs(command))]
    if isinstance(command, TyperGroup):
        commands = {each: command.commands[each] for each in command.list_commands(ctx)}
        parts += [
            f"- [`{each}`](#{name.replace(' ', '-')}-{each}): {_first_line(found)}" for each, found in commands.items()
        ]
        return "\n".join([*parts, "", *(page(found, ctx, f"{name} {each}") for each, found in commands.items())])
    usage = _usage(command, ctx).removeprefix(f"Usage: {ctx.command_path} ")
    parts += ["```console", f"$ {name} {usage}", *(f"$ {each}" for each in (command.epilog or "").split("\n") if each)]
    parts += ["```", ""]
    for title, rows in _option_rows(command, ctx).items():
        listed = [f"- `{names}`: {meaning}" for names, meaning in rows]
        parts += [f"**{title}**", "", *listed, ""] if listed and title != "Help" else []
    return "\n".join(parts)


def _spaced(texts: list[str]) -> list[str]:
    return [line for text in texts for line in (text, "")]
