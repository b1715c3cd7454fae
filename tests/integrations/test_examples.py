"""Every example runs, prints what it is about, and is short. The trackers' are run in test_tracking."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PRINTS = {
    "ci_files.py": (None, "Robustness gate: PASS"),
    "model_card.py": (None, "model-index"),
    "sklearn_selection.py": ("sklearn", "C = 0.01: WCR"),
    "test_release.py": (None, "2 passed"),
    "torchmetrics_validation.py": ("torch", "WCR"),
}
ELSEWHERE = {"mlflow_logging.py", "wandb_logging.py"}  # test_tracking


def test_every_example_is_run_and_short():
    examples = {path.name: path for path in (ROOT / "examples").glob("*.py")}
    assert examples.keys() == PRINTS.keys() | ELSEWHERE
    for path in examples.values():
        code = path.read_text().split('"""', 2)[2]
        assert sum(bool(line.strip()) for line in code.splitlines()) <= 20, path.name


@pytest.mark.parametrize("name", PRINTS)
def test_it_runs(tmp_path, name):
    library, expected = PRINTS[name]
    if library is not None:
        pytest.importorskip(library)
    how = ["-m", "pytest", "-q", "-p", "no:cacheprovider"] if name.startswith("test_") else []
    done = subprocess.run(
        [sys.executable, *how, str(ROOT / "examples" / name)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert expected in done.stdout
