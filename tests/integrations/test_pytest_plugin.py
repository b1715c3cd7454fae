"""The pytest plugin in a pytest of its own, found by its entry point, with a callable, a module, specs and logits."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from gfscore import Samples
from gfscore.errors import OptionError
from gfscore.integrations.pytest_plugin import assert_robust
from gfscore.jobs.sources import samples_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def arrays():
    """Inputs that are their own logits, for two classes: the second is much nearer to the boundary."""
    rng, labels = np.random.default_rng(0), np.arange(400) % 2
    inputs = rng.normal(0, 0.3, (400, 2)) + np.array([4, 1])[labels, None] * np.eye(2)[labels]
    return inputs.astype(np.float32), labels


@pytest.fixture
def run_pytest(tmp_path):
    """Runs a test file in another process, where the plugin is installed as the package would install it."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    info = tmp_path / "site" / "gfscore_here-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gfscore-here\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))

    def run(text, *arguments):
        (tmp_path / "test_release.py").write_text(text)
        path = os.pathsep.join([str(tmp_path / "site"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--color=no", *arguments]
        return subprocess.run(
            [*command, "test_release.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "", "COLUMNS": "200"},
            capture_output=True,
            text=True,
        )

    return run


def test_in_a_pytest_of_its_own(run_pytest):
    done = run_pytest(
        """
import numpy as np

def test_passes(assert_robust):
    assert_robust("zoo:awp", "zoo:digits", wcr=0.01, accuracy=0.5)

def test_fails(assert_robust):
    assert_robust("zoo:awp", "zoo:digits", wcr=1.2)

def test_skips(assert_robust):
    labels = np.arange(10) % 2
    assert_robust(3 * np.eye(2)[labels], labels, wcr=1.1, undecided="skip")
"""
    )
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert re.search(r"E +AssertionError: zoo:awp is not robust enough \(FAIL\):", done.stdout)
    assert re.search(r"E +WCR is .*none of the interval is at least 1.2", done.stdout)
    assert "pytest_plugin.py" not in done.stdout.partition("short test summary")[0], "the failure is shown in the test"
    assert re.search(r"SKIPPED .*the data cannot decide", done.stdout)


def test_undecided_is_said_and_can_be_let_through(arrays):
    few = arrays[0][:20], arrays[1][:20]
    with pytest.raises(AssertionError, match=r"(?s)UNDECIDED.*samples instead of 20 would decide"):
        assert_robust(lambda inputs: inputs, few, wcr=0.4)
    assert assert_robust(lambda inputs: inputs, few, wcr=0.4, undecided="pass").verdict.value == "UNDECIDED"
    with pytest.raises(pytest.skip.Exception, match="cannot decide"):
        assert_robust(lambda inputs: inputs, few, wcr=0.4, undecided="skip")
    with pytest.raises(OptionError, match="Choose 'fail', 'skip' or 'pass'"):
        assert_robust(lambda inputs: inputs, few, wcr=0.4, undecided="maybe")


def test_a_function_a_module_logits_and_samples_are_judged_alike(arrays, tmp_path):
    torch = pytest.importorskip("torch")
    inputs, labels = arrays
    linear = torch.nn.Linear(2, 2, bias=False)
    torch.nn.init.eye_(linear.weight)
    np.savez(tmp_path / "logits.npz", logits=inputs, labels=labels)
    subjects = [
        (lambda batch: batch, (inputs, labels)),
        (linear.eval(), (torch.from_numpy(inputs), torch.from_numpy(labels))),
        (inputs, labels),
        (torch.from_numpy(inputs), torch.from_numpy(labels)),
        (Samples.of(inputs, labels), None),
        (tmp_path / "logits.npz", None),
    ]
    rules = [assert_robust(model, data, wcr=0.3, rdi=0.9).models[0].rules for model, data in subjects]
    assert all(each == rules[0] for each in rules)


def test_rules_of_every_kind_and_a_policy_file(arrays, tmp_path):
    inputs, labels = arrays
    (tmp_path / "policy.toml").write_text("[rules]\nwcr = 1.2\n[class]\n0 = 0.5\n")
    result = assert_robust(
        inputs,
        labels,
        policy=tmp_path / "policy.toml",
        wcr=0.3,  # over that of the file
        class_={"1": 0.2},
        class_accuracy={"*": 0.7},
        change={"wcr": -0.3},
        baseline=Samples.of(inputs, labels),
    )
    assert [rule.rule for rule in result.models[0].rules] == [
        "WCR ≥ 0.3",
        "score of 0 ≥ 0.5",
        "score of 1 ≥ 0.2",
        "accuracy of every class ≥ 0.7",
        "change of WCR ≥ -0.3",
    ]


def test_what_cannot_be_run_is_refused_in_a_line(arrays):
    torch = pytest.importorskip("torch")
    inputs, labels = arrays
    with pytest.raises(OptionError, match="comes without data"):
        samples_of(lambda batch: batch)
    with pytest.raises(OptionError, match="pair"):
        samples_of(lambda batch: batch, inputs)
    with pytest.raises(OptionError, match="Give their labels"):
        samples_of(inputs, "zoo:digits")
    with pytest.raises(OptionError, match="Scale the inputs"):
        samples_of(torch.nn.Linear(2, 2), (np.ones((4, 2), np.uint8), [0, 1, 0, 1]))
    with pytest.raises(OptionError, match=r"Did you mean 'wcr'"):
        assert_robust(inputs, labels, wrc=0.1)
