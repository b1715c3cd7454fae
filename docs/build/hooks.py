"""What mkdocs cannot do by itself: pages made from the code, examples that really run, formulas without JavaScript."""

import html
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import latex2mathml.converter
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from gfscore.cli import help_screen
from gfscore.cli.main import application
from gfscore.jobs.config_files import reference
from gfscore.outputs.reproduction_text import markdown_page
from gfscore.paper import DATASETS, reproduce
from gfscore.results import FILES

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "scripts"), str(Path(__file__).parent)]
from warm import warm_commands  # noqa: E402

import draw_figures  # noqa: E402
import notebooks  # noqa: E402

BENCHMARKS = ("results.md", "first_result.md", "attacks.md", "ray_engine.md")  # what `make bench` wrote last
CONSOLE = re.compile(r"^```console run\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIG_KEYS = "<!-- every key of gfscore.toml -->"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

under_way = ExitStack()  # what ends with the build
commands_at = ""  # the folder with the gfscore that starts at once


def on_startup(**_kwargs: object) -> None:
    """Load once what the commands of all pages load."""
    global commands_at
    commands_at = under_way.enter_context(warm_commands())


def on_shutdown(**_kwargs: object) -> None:
    """End what runs the commands, however the build went."""
    under_way.close()


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made from the code."""
    pages = {
        "cli.md": _cli_page(),
        "schema.md": _schema_page(),
        "gallery.md": draw_figures.page(),  # of pictures that are drawn already: the build draws none
        "notebook.md": notebooks.markdown(notebooks.read()["cells"]),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text(),
        "reproduction.md": markdown_page([reproduce(dataset) for dataset in DATASETS]),
        "benchmarks.md": "\n\n".join((ROOT / "benchmarks" / name).read_text() for name in BENCHMARKS),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_kwargs: object) -> str:
    """Run the blocks marked ``console run``, in one folder per page; what they print stands below each command."""
    if CONFIG_KEYS in markdown:
        markdown = markdown.replace(CONFIG_KEYS, _config_keys())
    with tempfile.TemporaryDirectory() as folder:
        return CONSOLE.sub(lambda match: _ran(match[1], folder), markdown)


def on_page_content(content: str, **_kwargs: object) -> str:
    """Formulas as MathML, which every current browser shows by itself."""

    def formula(match: re.Match[str]) -> str:
        display = "block" if match[2] == "[" else "inline"
        return latex2mathml.converter.convert(html.unescape(match[3]), display=display)

    return FORMULA.sub(formula, content)


def _ran(commands: str, folder: str) -> str:
    lines = ["```console"]
    path = os.pathsep.join([commands_at, str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "COLUMNS": "96", "PATH": path, "NO_COLOR": "1", "GFSCORE_STORE": f"{folder}/store"}
    for command in commands.strip().splitlines():
        shell = ["bash", "-c", command[2:]]
        done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, text=True)  # noqa: S603
        announced = re.search(r"# exit (\d+)$", command)
        if done.returncode != int(announced[1] if announced else 0):
            raise RuntimeError(f"{shlex.join(shell)} exited with {done.returncode}: {done.stderr}")
        if not command.startswith("%"):  # run, but not shown: it only prepares
            lines += [command, *(line.rstrip() for line in (done.stdout + done.stderr).rstrip().splitlines())]
    return "\n".join([*lines, "```"])


def _cli_page() -> str:
    command = typer.main.get_command(application())
    page = help_screen.page(command, typer.Context(command))
    codes = (
        "## Exit codes\n\n| code | meaning |\n|---|---|\n| 0 | done; PASS |\n| 1 | FAIL |\n"
        "| 2 | unusable input or usage: one line on standard error says what, where and what to do; nothing is "
        "half-written |\n| 3 | UNDECIDED |\n| 4 | failed inside, or a transfer failed |\n| 130 | interrupted |\n\n"
        "1 and 3 come only from `gate` and from `compare --fail-on-worse`; 3 also from a `repair` that is not shown to "
        "gain.\n"
    )
    return f"{page}\n{codes}"


def _config_keys() -> str:
    rows = [f"| `{key}` | {f'`{where}`' if where != 'top' else where} | {text} |" for key, where, text in reference()]
    return "\n".join(["| key | stands | says |", "|---|---|---|", *(row.replace("|N|", "\\|N\\|") for row in rows)])


def _schema_page() -> str:
    schemas = {name: json.dumps(each.model_json_schema(mode="serialization"), indent=1) for name, each in FILES.items()}
    audit = schemas.pop("audit")
    others = "".join(f"\n## {name}.json\n\n```json\n{schema}\n```\n" for name, schema in schemas.items())
    return (
        "# Result schema\n\n`audit.json`, and what `--json` prints, follow this JSON Schema (`gfscore.audit/1`). "
        "Within /1 keys are only added, readers ignore keys they do not know, and a number that does not exist is "
        "`null`, never 0. The package carries it as `gfscore/schemas/audit.schema.json`.\n\n"
        f"```json\n{audit}\n```\n\n`gate.json` (`gfscore.gate/1`) and what `compare --json` prints "
        f"(`gfscore.comparison/1`) keep the same promises, and are beside it.\n{others}"
    )
