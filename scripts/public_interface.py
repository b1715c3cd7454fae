"""What people outside rely on: Python names with their parameters, commands with options, keys of files, extras.

``python scripts/public_interface.py`` prints it as JSON. At a release it is kept beside the files that the version
wrote (``scripts/record_release.py``), and a test holds every later version against it: what was there is still there,
or was announced as deprecated by a version that still had it.
"""

import ast
import inspect
import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

ROOT = Path(__file__).parents[1]


def public_interface() -> dict[str, list[str]]:
    """Everything that is public, each as one line, sorted, by what it is."""
    import gfscore

    return {
        "python": sorted({*_python(gfscore), *_integrations(ROOT / "src" / "gfscore" / "integrations")}),
        "command line": sorted(_commands()),
        "schemas": sorted(_schemas()),
        "extras": sorted(
            tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        ),
    }


def _python(package: Any) -> Iterable[str]:
    """``name``, and ``name(parameter)`` of functions; of classes ``name.method``."""
    for name in package.__all__:
        yield name
        found = getattr(package, name)
        if inspect.isclass(found):
            yield from (f"{name}.{member}" for member in _members(found))
        elif callable(found):
            yield from (f"{name}({parameter})" for parameter in inspect.signature(found).parameters)


def _integrations(folder: Path) -> Iterable[str]:
    """Functions and classes of the integrations, read and not imported: each needs an extra."""
    for path in sorted(folder.glob("[a-z]*.py")):
        for each in ast.parse(path.read_text(encoding="utf-8")).body:
            name = f"integrations.{path.stem}.{getattr(each, 'name', '_')}"
            if isinstance(each, ast.FunctionDef) and not each.name.startswith("_"):
                yield from _called(name, each)
            if isinstance(each, ast.ClassDef) and not each.name.startswith("_"):
                yield name
                for inner in each.body:
                    if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                        yield f"{name}.{inner.target.id}"
                    elif isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
                        yield from _called(name, inner)
                    elif isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_"):
                        yield from _called(f"{name}.{inner.name}", inner)


def _called(name: str, function: ast.FunctionDef) -> Iterable[str]:
    given = function.args
    yield name
    for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))):
        if one.arg not in ("self", "cls"):
            yield f"{name}({one.arg})"


def _members(found: type) -> Iterable[str]:
    fields = [*getattr(found, "model_fields", {}), *getattr(found, "__dataclass_fields__", {})]
    own = [name for name, value in inspect.getmembers(found) if callable(value) or isinstance(value, property)]
    outside = dir(_pydantic_base())  # what pydantic promises is its own affair
    return sorted({name for name in (*fields, *own) if not name.startswith("_") and name not in outside})


def _pydantic_base() -> type:
    from pydantic import BaseModel

    return BaseModel


def _commands() -> Iterable[str]:
    """``command``, ``command --option`` and ``command ARGUMENT``."""
    from importlib import import_module

    group = typer.main.get_command(import_module("gfscore.cli.main").application())
    yield from _below("", group)


def _below(before: str, command: Any) -> Iterable[str]:
    for option in command.params:
        names = option.opts + option.secondary_opts if option.param_type_name == "option" else [option.name.upper()]
        yield from (f"{before} {name}".strip() for name in names)
    for name, inner in getattr(command, "commands", {}).items():
        yield f"{before} {name}".strip()
        yield from _below(f"{before} {name}".strip(), inner)


def _schemas() -> Iterable[str]:
    """Every key that a file may have, by its way from the top: ``gfscore.audit/1 models[].wcr.value``."""
    from gfscore.results import FILES

    for result in FILES.values():
        schema = result.model_json_schema(mode="serialization")
        name = result.model_fields["schema_"].default
        yield from {f"{name} {way}" for way in _ways(schema, schema.get("$defs", {}), "", ())}


def _ways(entry: Mapping[str, Any], parts: Mapping[str, Any], way: str, above: tuple[str, ...]) -> Iterable[str]:
    if "$ref" in entry:
        name = entry["$ref"].rpartition("/")[2]
        if name not in above:
            yield from _ways(parts[name], parts, way, (*above, name))
    for each in (*entry.get("anyOf", ()), *entry.get("prefixItems", ())):
        yield from _ways(each, parts, way, above)
    for inner, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if isinstance(entry.get(inner), Mapping):
            yield from _ways(entry[inner], parts, f"{way}{mark}", above)
    for key, each in entry.get("properties", {}).items():
        below = f"{way}.{key}".lstrip(".")
        yield below
        yield from _ways(each, parts, below, above)


def missing(
    recorded: Mapping[str, Iterable[str]],
    now: Mapping[str, Iterable[str]],
    deprecated: Mapping[str, Mapping[str, str]],
    versions: Iterable[str],
) -> list[str]:
    """What is gone without an announcement, in words; ``versions`` are those that were released before this one.

    ``deprecated`` has, for each name that went, the version ``since`` which it was announced.

    >>> recorded = {"python": ["rdi", "wcr"]}
    >>> missing(recorded, {"python": ["rdi"]}, {}, ["0.1.0"])
    ['python: wcr is gone, and no released version said that it would be']
    >>> missing(recorded, {"python": ["rdi"]}, {"wcr": {"since": "0.2.0"}}, ["0.1.0", "0.2.0"])
    []
    """
    released = set(versions)
    return [
        f"{kind}: {name} is gone, and no released version said that it would be"
        for kind, names in recorded.items()
        for name in sorted(set(names) - set(now.get(kind, ())))
        if deprecated.get(name, {}).get("since") not in released
    ]


if __name__ == "__main__":
    print(json.dumps(public_interface(), indent=1))
