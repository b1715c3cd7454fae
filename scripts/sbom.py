"""List what an installation of a wheel brings along (CycloneDX), and refuse a list that would mislead.

``python scripts/sbom.py dist/gfscore-0.1.0-py3-none-any.whl gfscore.cdx.json``, where cyclonedx-bom is installed. The
wheel goes into an environment of its own without pip, which is no part of it, held by ``constraints.txt``. What
cyclonedx-py cannot know is added: the version of gfscore, which its project file leaves to the code, and licences that
a package names in words alone.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
READ = """
import importlib.metadata as metadata, json
print(json.dumps({each.name: [each.version, each.metadata.get("License") or ""] for each in metadata.distributions()}))
"""


def list_parts(wheel: Path, work: Path) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """What cyclonedx-py says of an environment that holds a wheel, and name, version and licence of what is in it."""
    environment, bare = work / "env", [sys.executable, "-m"]
    python = str(environment / "bin" / "python")
    subprocess.run([*bare, "venv", "--without-pip", str(environment)], check=True)
    held = ["-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run([*bare, "pip", "--python", python, "install", "--quiet", *held], check=True)
    written = work / "parts.json"
    about = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library", "--output-reproducible"]
    words = ["cyclonedx_py", "environment", python, *about, "--output-format", "JSON", "--output-file", str(written)]
    subprocess.run([*bare, *words], check=True)
    installed = subprocess.check_output([python, "-c", READ], text=True)
    return json.loads(written.read_text(encoding="utf-8")), json.loads(installed)


def complete(parts: dict[str, Any], installed: dict[str, list[str]]) -> None:
    """Add the version of the package itself, and licences that are only named in words."""
    package = parts["metadata"]["component"]
    package["version"] = installed[package["name"]][0]
    package["purl"] = f"pkg:pypi/{package['name']}@{package['version']}"
    for part in parts["components"]:
        words = installed[part["name"]][1].strip() if part["name"] in installed else ""
        if not part.get("licenses") and words and "\n" not in words:
            part["licenses"] = [{"license": {"name": words, "acknowledgement": "declared"}}]


def faults(parts: dict[str, Any], installed: dict[str, list[str]]) -> list[str]:
    """What is wrong with a list, in words.

    >>> package = {"name": "a", "version": "1", "licenses": [{}], "purl": "pkg:pypi/a@1"}
    >>> part = {"name": "b", "version": "2", "licenses": [{}], "purl": "pkg:pypi/b@2"}
    >>> parts = {"metadata": {"component": package}, "components": [part]}
    >>> faults(parts, {"a": ["1", ""], "b": ["2", ""]})
    []
    >>> del part["licenses"]
    >>> faults(parts, {"a": ["1", ""], "b": ["3", ""], "c": ["1", ""]})
    ['b has no licenses', 'b is 3, not 2', 'c is not listed']
    """
    listed = [parts["metadata"]["component"], *parts["components"]]
    found = [f"{each['name']} has no {key}" for each in listed for key in ("purl", "licenses") if not each.get(key)]
    versions = {each["name"]: each.get("version") for each in listed}
    found += [
        f"{name} is {version}, not {versions[name]}"
        for name, (version, _) in installed.items()
        if name in versions and versions[name] != version
    ]
    found += [f"{name} is not listed" for name in sorted(installed.keys() - versions.keys())]
    return found + [f"{name} is not installed" for name in sorted(versions.keys() - installed.keys())]


if __name__ == "__main__":
    wheel, out = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as work:
        parts, installed = list_parts(wheel.resolve(), Path(work))
    complete(parts, installed)
    if wrong := faults(parts, installed):
        sys.exit("\n".join(wrong))
    out.write_text(json.dumps(parts, indent=1) + "\n", encoding="utf-8")
    package = parts["metadata"]["component"]
    print(f"{out}: {package['name']} {package['version']} and {len(parts['components'])} parts, each with a licence")
