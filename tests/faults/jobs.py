"""What is disturbed: commands that write every kind of file, what they leave, and what they must leave in the end."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from injected import DONE
from safetensors.numpy import load

from gfscore import audit
from gfscore.measures.summary_files import SUM, summary_from_bytes

HERE = Path(__file__).parent
OLD = "an older result\n"  # stands where a result will be written: it stays, or is replaced as a whole
PAGE = 4096
RUN = ("--model", "zoo:standard", "--data", "zoo:digits", "--store", "store", "--batch-size", "16", "-q")
RADII = ("--score", "first-order", "--norm", "l2", "--directions", "4")
VOTES = ("--method", "smoothing", "--sigma", "0.3", "--n0", "4", "--n", "20")

JOBS: dict[str, list[str]] = {
    "audit": [
        "audit",
        *RUN,
        "--force",
        "--out",
        "out",
        "--per-sample",
        "out/rows.csv",
        "--permutations",
        "20",
        "--radii",
        "none",
    ],
    "stream": ["audit", "--stream", *RUN, "--force", "--out", "out", "--permutations", "20", "--radii", "none"],
    "sums": ["audit", "--stream", *RUN, "--force", "--out", "out", *RADII, "--permutations", "20"],
    "logits": ["logits", *RUN, "--force", "-o", "out/net.safetensors"],
    "radii": ["audit", *RUN, "--force", "--out", "out", *RADII, "--n-per-class", "20", "--permutations", "20"],
    "votes": ["certify", *RUN, "--force", "--out", "out", *VOTES, "--n-per-class", "8", "--permutations", "0"],
    "gate": ["gate", "--adaptive", "--wcr", "0.35", *RUN, "--force", "--out", "out"],
    "report": ["report", "audit.json", "--force", "-q", "-o", "out/report.html"],
}
WRITES = {
    "audit": ("audit.json", "rows.csv"),
    "stream": ("audit.json",),
    "sums": ("audit.json",),
    "logits": ("net.safetensors",),
    "radii": ("audit.json",),
    "votes": ("audit.json",),
    "gate": ("gate.json",),
    "report": ("report.html",),
}  # below the folder out
VARIES = ("provenance", "from_store", "created")  # says when and how, not what came out


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def line(self) -> str:
        """The one line that it said about why it failed."""
        assert self.stderr.startswith("gfscore: "), self.stderr
        assert self.stderr.count("\n") == 1, self.stderr
        return self.stderr.strip()


@dataclass
class Zygote:
    """The process that runs commands for us; see ``zygote.py``."""

    prefix: tuple[str, ...] = ()
    folders: dict[int, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        command = [*self.prefix, sys.executable, str(HERE / "zygote.py")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            raise OSError(f"{self.prefix} does not start")

    def ask(self, **order: Any) -> Any:
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, job: str | list[str], folder: Path, fault: dict[str, Any] | None = None) -> int:
        work = folder / "work"
        work.mkdir(exist_ok=True)
        arguments = JOBS[job] if isinstance(job, str) else job
        process = self.ask(arguments=arguments, folder=str(work), fault=fault)
        self.folders[process] = folder
        return process

    def wait(self, process: int) -> Outcome:
        code, folder = self.ask(wait=process), self.folders.pop(process)
        return Outcome(code, (folder / "stdout.txt").read_text(), (folder / "stderr.txt").read_text())

    def run(self, job: str | list[str], folder: Path, fault: dict[str, Any] | None = None) -> Outcome:
        return self.wait(self.start(job, folder, fault))

    def seen(self, folder: Path) -> Path:
        """A folder as this process sees it, which may have mounted something there."""
        return Path(f"/proc/{self.process.pid}/root") / folder.relative_to("/")

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def prepared(folder: Path, job: str) -> Path:
    """A folder as a user may have it: with results of an earlier run."""
    (folder / "work" / "out").mkdir(parents=True)
    for name in WRITES[job]:
        (folder / "work" / "out" / name).write_text(OLD)
    if job == "report":
        logits = np.random.default_rng(0).normal(0, 2, (600, 10))
        made = audit(logits, np.arange(600) % 10)
        undated = made.provenance.model_copy(update={"created": "2026-01-01T00:00:00+00:00"})
        (folder / "work" / "audit.json").write_text(made.model_copy(update={"provenance": undated}).to_json())
    return folder


def happened(folder: Path) -> bool:
    """Whether the fault has struck."""
    return (folder / DONE).exists()


def check_nothing_half_written(folder: Path, job: str, expected: dict[str, Any]) -> None:
    """Each result is the old one or the new one, whole."""
    for name in WRITES[job]:
        path = folder / "work" / "out" / name
        if path.read_bytes() != OLD.encode():
            assert _content(path) == expected[f"out/{name}"], name


def check_the_same_in_the_end(zygote: "Zygote", folder: Path, job: str, expected: dict[str, Any]) -> Outcome:
    """Run it again, undisturbed: the same bytes and numbers as if nothing had ever happened, and nothing else."""
    outcome = zygote.run(job, folder)
    assert (outcome.code, outcome.stderr) == (0, ""), outcome
    assert results(folder) == expected
    return outcome


def pages(folder: Path) -> int:
    """Pages that the files below a working folder take."""
    return sum(-(-path.stat().st_size // PAGE) for path in (folder / "work").rglob("*") if path.is_file())


def results(folder: Path) -> dict[str, Any]:
    """Every file that the work has left, and what is in it, apart from when it was made."""
    work = folder / "work"
    found = {}
    for path in sorted(work.rglob("*")):
        # a log is in the order of its runs, and what a killed writer left has a name that no one reads
        if path.is_file() and path.name not in ("lock", "about.json", "scores.bin") and path.name[0] != ".":
            found[str(path.relative_to(work))] = _content(path)
    return found


def _content(path: Path) -> Any:
    content = path.read_bytes()
    if path.suffix == ".json":
        return _settled(json.loads(content))
    return _sum(content) if path.name == SUM else content


def _sum(content: bytes) -> dict[str, Any]:
    """What a stream has added up: safetensors writes metadata in any order."""
    stored = load(content)
    summary = asdict(summary_from_bytes(stored["summary"].tobytes()))
    radii = {f"radii {name}": value for name, value in (summary.pop("radii") or {}).items()}
    found = {**summary, **radii, "shards": stored["shards"]}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _settled(entry) for key, entry in value.items() if key not in VARIES}
    return [_settled(entry) for entry in value] if isinstance(value, list) else value
