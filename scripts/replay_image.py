"""Follow the Containerfile in a folder that holds a Debian, for machines on which no engine builds images.

``python scripts/replay_image.py ROOT [demo --out /work/demo ...]``, as root: ROOT is what debootstrap made of the
release that the base image rests on, with a ``python`` of its own (``chroot ROOT python3 -m venv /usr/local``).
Every COPY and RUN is done there, then the HEALTHCHECK and the given words of gfscore as the user of the image, without
any network. What this does not show: layers, the base image itself, and how an engine starts it.
"""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1]
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def steps(text: str) -> list[tuple[str, str]]:
    r"""Every instruction and what follows it.

    >>> steps("# a remark\nFROM a\nRUN one \\\n  two\n")
    [('FROM', 'a'), ('RUN', 'one   two')]
    """
    lines = [line for line in text.replace("\\\n", "").splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def copy(words: list[str], root: Path) -> None:
    """Put files and the content of folders where an engine would."""
    *sources, target = words
    place = root / target.lstrip("/")
    for name in sources:
        found = SOURCE / name
        if found.is_dir():
            shutil.copytree(found, place, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(found, place)


def inside(root: Path, words: list[str], state: dict[str, str], *, network: bool) -> None:
    """Run words in the folder, with the environment, user and place that the steps before have set."""
    kept = {name: value for name, value in os.environ.items() if name in ("PIP_CERT", "TERM")}
    settings = {name: value for name, value in state.items() if name.isupper()}
    user = ["--userspec", state["user"]] if "user" in state else []
    alone = [] if network else ["unshare", "-n"]
    move = f'cd "{state.get("place", "/")}" && exec "$@"'
    command = [*alone, "chroot", *user, str(root), "/bin/sh", "-c", move, "sh", *words]
    print("#", shlex.join(words), flush=True)
    subprocess.run(
        command, env={**kept, "PATH": PATH, "HOME": f"/home/{state.get('user', '')}", **settings}, check=True
    )


def follow(root: Path, words: list[str]) -> None:
    """Do every step, then say whether it lives, and run the command."""
    state: dict[str, str] = {}
    for word, rest in steps((SOURCE / "Containerfile").read_text(encoding="utf-8")):
        match word:
            case "COPY":
                copy(rest.split(), root)
            case "RUN":
                inside(root, ["/bin/sh", "-c", rest], state, network=True)
            case "USER":
                state["user"] = rest
            case "WORKDIR":
                state["place"] = rest
            case "ENV":
                state.update(pair.split("=", 1) for pair in shlex.split(rest))
            case "HEALTHCHECK":
                state["healthy"] = rest.partition("CMD ")[2]
    inside(root, ["/bin/sh", "-c", "id && " + state["healthy"]], state, network=False)
    inside(root, ["gfscore", *words], state, network=False)


if __name__ == "__main__":
    follow(Path(sys.argv[1]).resolve(), sys.argv[2:])
