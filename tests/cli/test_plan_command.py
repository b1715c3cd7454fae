"""``gfscore plan``: the precision that samples buy, and the samples that precision needs."""

import json

import numpy as np
import pytest

from gfscore.cli.main import run
from gfscore.jobs.plan import plan


def planned(capsys, *options):
    assert run(["plan", *options, "--json"]) == 0
    return {entry["method"]: entry for entry in json.loads(capsys.readouterr().out)}


def test_samples_for_a_radius_and_back(capsys):
    needed = planned(capsys, "--classes", "10", "--half-width", "0.1")
    assert set(needed) == {"betting", "kl", "bernstein", "hoeffding"}
    for method in ("kl", "bernstein", "hoeffding"):  # betting is simulated
        n = needed[method]["n"]
        assert planned(capsys, "--classes", "10", "--n", str(n))[method]["radius"] <= 0.1
        assert planned(capsys, "--classes", "10", "--n", str(n - 1))[method]["radius"] > 0.1


def test_a_pilot_asks_for_fewer_samples(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    np.savez("m.npz", logits=rng.normal(0, 0.3, (200, 2)) + np.eye(2)[labels], labels=labels)
    assert run(["audit", "m.npz", "-q"]) == 0
    with_pilot = planned(capsys, "--pilot", "gfscore-audit/audit.json", "--half-width", "0.05")
    without = planned(capsys, "--classes", "2", "--half-width", "0.05")
    assert with_pilot["betting"]["n"] < 0.6 * without["betting"]["n"]
    assert with_pilot["hoeffding"]["n"] == without["hoeffding"]["n"]


def test_the_table_says_for_which_scores(capsys):
    assert run(["plan", "--classes", "10", "--n", "1000"]) == 0
    text = capsys.readouterr().out
    for word in ("betting", "hoeffding", "1,000", "on average", "whatever the scores", "hold together"):
        assert word in text


def test_the_function_agrees_with_the_command(capsys):
    from_command = planned(capsys, "--classes", "5", "--n", "300")
    assert {entry.method: entry.radius for entry in plan(n=300, classes=5)} == pytest.approx(
        {name: entry["radius"] for name, entry in from_command.items()}
    )
