"""The gate and the comparison on real networks."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

import calibration_tables
from gfscore import GateResult, compare
from gfscore.cli.main import run
from gfscore.results import Verdict
from judge_simulations import gate_real

QUICK = ("cifar_cnn_a_adv", "cifar_cnn_a_mix")
MIX = "models/cifar_cnn_a_mix.onnx"


@pytest.fixture(scope="module")
def quick(realdata):
    return calibration_tables.cifar(realdata, only=QUICK)[0]


def assert_cheap_and_right(networks, seeds, *, finite):
    found = [each for samples in networks.values() for each in gate_real(samples, seeds=seeds, finite=finite)]
    for each in found:
        wrong = Verdict.FAIL if each.factor < 1 else Verdict.PASS
        assert wrong not in each.verdicts, each
        if each.factor in (0.5, 2.0) or finite:
            assert Verdict.UNDECIDED not in each.verdicts, each
    for factor in (0.5, 2.0):
        used = [count for each in found if each.factor == factor for count in each.used]
        assert np.median(used) <= 1000, factor


@pytest.mark.parametrize("finite", [False, True])
def test_two_networks_are_judged_at_a_tenth_of_the_cost(quick, finite):
    assert_cheap_and_right(quick, range(3), finite=finite)


@pytest.mark.long
@pytest.mark.parametrize("finite", [False, True])
def test_all_eight_networks_are_judged_at_a_tenth_of_the_cost(realdata, finite):
    networks, _ = calibration_tables.cifar(realdata)
    assert len(networks) == 8
    assert_cheap_and_right(networks, range(20), finite=finite)


def test_compare_names_the_classes_that_changed(quick):
    adv, mix = (quick[name] for name in QUICK)
    found = compare(adv, mix, permutations=0, names=QUICK)
    assert found.better == tuple(map(str, range(10)))
    assert found.worse == ()
    back = compare(mix, adv, permutations=0)
    assert back.worse == tuple(map(str, range(10)))
    for entry in found.classes:
        assert entry.change.interval[0] <= entry.new - entry.old <= entry.change.interval[1]


@pytest.fixture
def command(realdata, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    return [
        *("gate", "--model", str(realdata / MIX), "--data", str(realdata / "cifar10_test.npz")),
        *("--preset", "cifar10", "--adaptive"),
    ]


@pytest.mark.parametrize(("threshold", "code"), [("0.08", 0), ("0.33", 1)])
def test_a_true_run_stops_early(command, capsys, threshold, code):
    assert run([*command, "--wcr", threshold, "--out", "out"]) == code
    result = GateResult.load("out/gate.json")
    used = result.models[0].adaptive
    assert used.used <= 1000
    assert used.available == 10_000
    assert f"after {used.used} of 10,000 forward passes" in " ".join(capsys.readouterr().out.split())


def test_a_true_run_agrees_with_the_simulation_on_stored_logits(command, quick, capsys):
    wcr = gate_real(quick[QUICK[1]], seeds=[0])[0].wcr
    assert run([*command, "--wcr", str(0.5 * wcr), "--json"]) == 0
    real = json.loads(capsys.readouterr().out)["models"][0]["adaptive"]
    simulated = gate_real(quick[QUICK[1]], seeds=[0])[0]
    assert real["used"] == simulated.used[0]


def test_a_killed_run_goes_on_without_repeating_a_pass(command, tmp_path, capsys):
    """Killed without warning while it draws; the next run pays only for what is missing, and says the same."""
    hard = [*command, "--wcr", "0.12"]
    process = subprocess.Popen(
        [sys.executable, "-m", "gfscore", *hard, "--round", "4", "-q"], stdout=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        files = list((tmp_path / "store").glob("gate/*/scores.bin"))
        if files and files[0].stat().st_size > 28 * 40:
            break
        time.sleep(0.01)
    process.kill()
    process.wait()
    (file,) = (tmp_path / "store").glob("gate/*/scores.bin")
    paid = file.stat().st_size // 28
    assert paid >= 40
    options = ["--round", "4", "--json"]
    resumed_code = run([*hard, *options])
    resumed = json.loads(capsys.readouterr().out)["models"][0]
    assert resumed["adaptive"]["from_store"] == min(paid, resumed["adaptive"]["used"])
    assert file.stat().st_size // 28 == max(paid, resumed["adaptive"]["used"])
    fresh_code = run([*hard, *options, "--store", str(tmp_path / "other")])
    fresh = json.loads(capsys.readouterr().out)["models"][0]
    assert fresh["adaptive"].pop("from_store") == 0
    resumed["adaptive"].pop("from_store")
    assert (resumed_code, resumed) == (fresh_code, fresh)
