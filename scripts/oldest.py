"""Print the oldest versions that the package says it runs with, as constraints for pip.

``python scripts/oldest.py > oldest.txt && pip install -c oldest.txt .`` installs exactly these; ``oldest.py torch``
adds those of an extra. What the dependencies themselves depend on stays as new as it comes.
"""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest(project: dict[str, object], extras: list[str]) -> list[str]:
    """``name==version`` of every lower bound, of the package and of these extras.

    >>> extras = {"x": ["setuptools<81", "torch>=2.10"]}
    >>> oldest({"dependencies": ["numpy>=1.26"], "optional-dependencies": extras}, ["x"])
    ['numpy==1.26', 'torch==2.10']
    """
    chosen = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for extra in extras for each in chosen[extra])]
    return sorted({each.replace(">=", "==") for each in wanted if ">=" in each})


if __name__ == "__main__":
    print("\n".join(oldest(tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"], sys.argv[1:])))
