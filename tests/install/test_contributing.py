"""Who follows CONTRIBUTING gets what it promises: a metric, a score and a reader, each by its few lines."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from gfscore import Audit, GateResult
from gfscore.cli.main import run
from gfscore.inputs.logits_files import READERS
from gfscore.metrics import METRICS
from gfscore.score_titles import SCORES
from gfscore.scores import REGISTERED

TEXT = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")
METRIC, SCORE, READER = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(autouse=True)
def untouched(monkeypatch, tmp_path):
    """Tables as they were before."""
    monkeypatch.chdir(tmp_path)
    kept = [(table, dict(table)) for table in (METRICS, SCORES, REGISTERED, READERS)]
    labels = np.arange(300) % 3
    logits = np.random.default_rng(0).normal(0, 1, (300, 3)) + 2 * np.eye(3)[labels]
    np.savez("net.npz", logits=logits, labels=labels)
    Path("net.json-logits").write_text(json.dumps({"logits": logits.tolist(), "labels": labels.tolist()}))
    yield
    for table, known in kept:
        table.clear()
        table.update(known)


def audited(capsys, *arguments):
    assert run(["audit", *arguments, "--json"]) == 0
    return Audit.from_json(capsys.readouterr().out).model


def test_a_metric(capsys):
    exec(METRIC, {})
    model = audited(capsys, "net.npz")
    found = model.metric("quartile")
    assert found.value == pytest.approx(np.quantile([entry.score for entry in model.classes], 0.25))
    assert found.interval[0] <= found.value <= found.interval[1]
    assert run(["gate", "net.npz", "--rule", "quartile=0.1", "--json"]) == 0
    assert GateResult.from_json(capsys.readouterr().out).models[0].rules[0].metric == "quartile"


def test_a_score(capsys):
    exec(SCORE, {})
    model = audited(capsys, "net.npz", "--score", "correct")
    assert [entry.score for entry in model.classes] == [entry.accuracy for entry in model.classes]
    assert run(["audit", "net.npz", "--score", "correct"]) == 0
    assert "share correct" in capsys.readouterr().out


def test_a_reader(capsys):
    before = audited(capsys, "net.npz")
    exec(READER, {})
    assert audited(capsys, "net.json-logits").classes == before.classes
