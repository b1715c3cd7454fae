"""Print the map of the package: every room with what its docstring says, and its modules; ``--write``: into the page.

The order is that of the contract in ``pyproject.toml``: a room imports only rooms below it.
"""

import ast
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE, PAGE = ROOT / "src" / "gfscore", ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- map: made by scripts/write_map.py -->", "<!-- end of the map -->"


def rooms() -> list[str]:
    """All rooms from the faces down to what knows nobody, as the contract has them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [layers] = [contract["layers"] for contract in settings["contracts"] if contract.get("exhaustive")]
    return [room.strip() for layer in layers for room in layer.split("|")]


def first_sentence(path: Path) -> str:
    """What a module says of itself, without the parts that explain it."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).removesuffix(".").replace("|", "\\|")


def modules(room: Path) -> list[Path]:
    """The modules of a room, those of its inner rooms too."""
    return sorted(path for path in room.rglob("*.py") if path.name != "__init__.py")


def make_map() -> str:
    """A table of all rooms."""
    lines = ["| room | what it is | modules |", "|---|---|---|"]
    for name in rooms():
        room = SOURCE / name
        if (room / "__init__.py").exists():  # an empty folder may be left from an earlier state
            inside = ", ".join(f"`{path.relative_to(room).with_suffix('').as_posix()}`" for path in modules(room))
            lines.append(f"| **`{name}/`** | {first_sentence(room / '__init__.py')} | {inside} |")
        else:
            lines.append(f"| `{name}.py` | {first_sentence(room.with_suffix('.py'))} | |")
    return "\n".join(lines)


def with_map(page: str) -> str:
    """The page with the map as it is now."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{make_map()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(make_map())
