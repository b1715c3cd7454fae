"""What the commands print as JSON, their exit codes and the files they write: pinned, so that no rebuilding moves them.

The pinned files hold what was printed before, less what differs from run to run. New keys may appear beside them, which
is what ``gfscore.audit/1`` allows; nothing may vanish or change. After a change that is meant, write them anew with
``GFSCORE_PIN=1`` and read the difference.
"""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from gfscore.cli.main import run

PINNED = Path(__file__).parent / "pinned"
CHANGING = ("provenance", "seconds")  # versions, times and hashes of a run
DIGITS = 8  # significant; networks run in float32, and another processor may round otherwise
CLOSE = {"rel_tol": 1e-6, "abs_tol": 1e-8}

NET = ["--model", "zoo:trades", "--data", "zoo:digits"]
PART, FEW = ["--n-per-class", "30"], ["--n-per-class", "4"]
RADII = ["--score", "first-order", "--norm", "linf", "--eps", "0.02", "--directions", "8"]

# name: arguments, and the exit code
CASES: dict[str, tuple[list[str], int]] = {
    "audit-logits": (["audit", "old.npz", "--json"], 0),
    "audit-several": (["audit", "old.npz", "new.npz", "small.csv", "--calibrate", "models", "--json"], 0),
    "audit-groups": (["audit", "old.npz", "--groups", "groups.csv", "--interval", "kl", "--json"], 0),
    "audit-model": (["audit", *NET, *PART, "--json"], 0),
    "audit-finite": (["audit", *NET, *PART, "--target", "finite", "--json"], 0),
    "audit-first-order": (["audit", *NET, *PART, *RADII, "--json"], 0),
    "audit-stream": (["audit", "shards", "--stream", "--json"], 0),
    "audit-stream-model": (["audit", *NET, *PART, "--stream", "--json"], 0),
    "gate-logits": (["gate", "old.npz", "new.npz", "--wcr", "0.45", "--accuracy", "0.5", "--json"], 1),
    "gate-baseline": (["gate", "new.npz", "--baseline", "old.npz", "--policy", "policy.toml", "--json"], 1),
    "gate-adaptive": (["gate", *NET, "--wcr", "0.3", "--adaptive", "--json"], 0),
    "gate-first-order": (["gate", "radii/audit.json", "--policy", "aggregate.toml", "--json"], 0),
    "compare-logits": (["compare", "old.npz", "new.npz", "--json"], 0),
    "compare-audits": (["compare", "old/audit.json", "new/audit.json", "--json"], 0),
    "compare-first-order": (["compare", "radii/audit.json", "others/audit.json", "--json"], 0),
    "certify-smoothing": (
        [*("certify", "--method", "smoothing", "--sigma", "0.25", "--n0", "20", "--n", "100"), *NET, *FEW, "--json"],
        0,
    ),
    "check": (["check", *NET, "--n-per-class", "10", "--json"], 0),
    "calibrate": (["calibrate", "old.npz", "new.npz", "small.csv", "--objective", "classes", "--json"], 0),
    "plan": (["plan", "--classes", "10", "--radius", "0.1", "--json"], 0),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Path:
    """Logits made up from a seed, and the audits that some commands start from."""
    folder = tmp_path_factory.mktemp("pinned")
    rng = np.random.default_rng(5)
    labels = np.arange(900) % 3
    noise, truth, names = rng.normal(0, 1, (900, 3)), np.eye(3)[labels], ["cat", "dog", "owl"]
    gains = np.array([1.0, 2.8, 2.8])[labels][:, None]
    ids = [f"s{i}" for i in range(900)]
    np.savez(folder / "old.npz", logits=noise + 2 * truth, labels=labels, class_names=names, sample_ids=ids)
    np.savez(folder / "new.npz", logits=noise + gains * truth, labels=labels, class_names=names, sample_ids=ids)
    rows = (noise + 0.8 * truth)[:300].round(6)
    lines = [f"{names[label]},{','.join(map(str, row))}" for label, row in zip(labels, rows.tolist(), strict=False)]
    (folder / "small.csv").write_text("\n".join([f"label,{','.join(names)}", *lines]) + "\n")
    (folder / "groups.csv").write_text("camera\n" + "".join(f"{'ab'[i % 5 > 1]}\n" for i in range(900)))
    (folder / "shards").mkdir()
    for piece in range(3):
        rows = slice(300 * piece, 300 * piece + 300)
        logits = (noise + 2 * truth)[rows]
        np.savez(folder / f"shards/{piece}.npz", logits=logits, labels=labels[rows], class_names=names)
    rules = '[rules]\nwcr = 0.1\nrdi = 0.9\n[class_accuracy]\n"*" = 0.3\n[change]\nwcr = -0.1\n'
    (folder / "policy.toml").write_text(rules)
    (folder / "aggregate.toml").write_text("[rules]\naggregate = 0.005\nwcr = 0.001\n")
    here = Path.cwd()
    os.chdir(folder)
    try:
        for name in ("old", "new"):
            assert run(["audit", f"{name}.npz", "--out", name, "-q"]) == 0
        for name, model in (("radii", "zoo:trades"), ("others", "zoo:standard")):
            command = ["audit", "--model", model, "--data", "zoo:digits", *PART, *RADII, "--store", "store"]
            assert run([*command, "--out", name, "-q"]) == 0
    finally:
        os.chdir(here)
    return folder


@pytest.mark.parametrize("name", CASES)
def test_outputs_stay_what_they_were(name, inputs, monkeypatch, capsys):
    monkeypatch.chdir(inputs)
    monkeypatch.setenv("GFSCORE_STORE", str(inputs / "store"))
    arguments, code = CASES[name]
    assert run(arguments) == code
    found = _stable(json.loads(capsys.readouterr().out))
    file = PINNED / f"{name}.json"
    if os.environ.get("GFSCORE_PIN"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    _compare(json.loads(file.read_text()), found, name)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["audit", "old.npz", "--out", "out", "-q"], {"audit.json"}),
        (["gate", "old.npz", "--wcr", "0.3", "--out", "out", "-q"], {"audit.json", "gate.json"}),
        (["audit", "old.npz", "--per-sample", "out/rows.csv", "--out", "out", "-q"], {"audit.json", "rows.csv"}),
    ],
)
def test_files_stay_where_they_were(arguments, files, inputs, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert run([str(inputs / part) if part == "old.npz" else part for part in arguments]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == files


def _stable(value):
    """What a run prints, less what differs from run to run; numbers to the digits that stay."""
    if isinstance(value, dict):
        return {key: _stable(entry) for key, entry in value.items() if key not in CHANGING}
    if isinstance(value, list):
        return [_stable(entry) for entry in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _compare(expected, found, where):
    """Everything expected is there; more keys may be."""
    if isinstance(expected, dict):
        assert isinstance(found, dict), where
        missing = sorted(expected.keys() - found.keys())
        assert not missing, f"{where}: {missing} is gone"
        for key, value in expected.items():
            _compare(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        assert isinstance(found, list), where
        assert len(expected) == len(found), where
        for index, pair in enumerate(zip(expected, found, strict=True)):
            _compare(*pair, f"{where}[{index}]")
    elif isinstance(expected, float) and isinstance(found, int | float):
        assert math.isclose(expected, found, **CLOSE), f"{where}: {found} was {expected}"
    else:
        assert expected == found, f"{where}: {found!r} was {expected!r}"
