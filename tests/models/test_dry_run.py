"""Dry runs: what a run would take, by a trial; exact in passes, and nothing of it computed."""

import json
import os
import re
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
from fakes import FakeData, FakeModel

import gfscore
from gfscore.cli.main import run as command
from gfscore.engines.local import measured, summed
from gfscore.errors import OptionError
from gfscore.inputs.models import CallableModel
from gfscore.jobs import attack_steps, attack_trials, trials
from gfscore.jobs.calling import SILENT, Planned
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.steps import logits_step, radius_sums_step, score_steps, votes_step
from gfscore.jobs.trials import Stopwatch, Tried
from gfscore.measures import Assault, Logits, RadiusSums, Run, Votes
from gfscore.results import DryRun
from gfscore.scores import FirstOrder, Noise
from gfscore.storage.store import Store

with_gradients = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")
attacks = pytest.mark.skipif(find_spec("pyautoattack") is None, reason="needs gfscore[attacks]")
NET = {"model": "zoo:trades", "data": "zoo:digits"}
HOW = FirstOrder(norm="linf", eps=2 / 255, directions=3)


@pytest.fixture(autouse=True)
def short_trials(monkeypatch):
    monkeypatch.setattr(trials, "ENOUGH", 0.05)
    monkeypatch.setattr(trials, "PIECES", 1)
    monkeypatch.setattr(trials, "SECONDS", 0.2)


def fake_run(folder, n=200):
    return Run(model=FakeModel(), data=FakeData(n), store=Store(folder), batch_size=16)


def planned(run, step):
    tried = trials.try_out(run, step)
    return step.amount(tried), tried


def rows_seen(run, compute):
    """Images that the model saw while something was computed, those it is looked at by aside."""
    run.check()
    run.model.batches.clear()
    compute()
    return sum(run.model.batches)


def test_passes_of_logits_and_votes_are_exact(tmp_path):
    noise = Noise(n0=3, n=11)
    for make, measure in (
        (logits_step, lambda _run: Logits()),
        (lambda run: votes_step(run, noise), lambda run: Votes.of(run, noise)),
    ):
        run = fake_run(tmp_path / make.__name__)
        amount, tried = planned(run, make(run))
        assert amount.are == "exact"
        assert tried.images > 0
        assert rows_seen(run, lambda run=run, measure=measure: measured(run, measure(run))) == amount.forward
        again = make(fake_run(tmp_path / make.__name__))
        assert (len(again.rows), planned(run, again)[0].forward) == (0, 0)  # all of it is stored


def test_passes_of_radii_are_exact_once_logits_are_known(tmp_path):
    run, options = fake_run(tmp_path), Options(score="first-order", norm="linf", eps=2 / 255, directions=3)
    logits, radii = score_steps(run, options, None)
    amount, _ = planned(run, radii)
    assert amount.are == "estimated"
    measured(run, Logits())
    logits, radii = score_steps(run, options, None)
    assert len(logits.rows) == 0
    amount, _ = planned(run, radii)
    assert amount.are == "exact"

    def score():
        from gfscore.engines.local import score_first_order

        score_first_order(run, run.read(measured(run, Logits()).path), HOW)

    assert rows_seen(run, score) == amount.forward


@pytest.mark.parametrize("per_class", [None, 10])
def test_passes_of_sums_of_radii_are_those_of_the_run(tmp_path, per_class):
    run = fake_run(tmp_path)
    measured(run, Logits())
    measure = RadiusSums(how=HOW, ladder=(2 / 255,), gradients=False, per_class=per_class)
    amount, _ = planned(run, radius_sums_step(run, measure))
    assert amount.are == "exact"
    assert rows_seen(run, lambda: summed(run, measure)) == amount.forward


def test_what_is_stored_already_is_not_counted_again(tmp_path):
    run = Run(model=FakeModel(), data=FakeData(5000), store=Store(tmp_path), batch_size=16)

    def stop(done, _total):
        if done > 2048:  # the first shard is written
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(run, Logits(), stop)
    step = logits_step(run)
    assert (len(step.rows), step.images) == (5000 - 2048, 5000)
    assert planned(run, step)[0].forward == 5000 - 2048


def test_time_is_a_start_and_a_rate(tmp_path):
    pieces = tuple(
        Stopwatch(seconds=0.5 + 0.01 * n, cpu=0.4 + 0.01 * n, work=n, images=n) for n in (1, 2, 16, 32, 64, 64)
    )
    seconds, low, high, cpu = Tried(pieces=pieces).seconds(1000)
    assert seconds == pytest.approx(10.5)
    assert cpu == pytest.approx(10.4)
    assert low <= seconds <= high
    assert Tried().seconds(1000) == (0.0, 0.0, 0.0, 0.0)
    one = Tried(pieces=pieces[:1]).seconds(10)
    assert (one[1], one[2]) == pytest.approx((0.75 * one[0], 1.25 * one[0]))


def test_a_piece_that_was_held_up_is_not_taken_for_a_long_start():
    sizes = (1, 2, 4, 8, 16, 40, 87, 160, 170, 180, 175)
    held_up = {40: 0.1, 87: 0.1}
    pieces = tuple(
        Stopwatch(seconds=0.01 + 0.001 * n + held_up.get(n, 0.0), cpu=0.01 + 0.001 * n, work=n, images=n) for n in sizes
    )
    seconds, _, _, cpu = Tried(pieces=pieces).seconds(1000)
    assert cpu == pytest.approx(1.01)
    assert 1.01 <= seconds <= 1.25 * 1.01


def test_a_trial_ends_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "PIECES", 10**6)
    model = FakeModel(delay=0.02)
    run = Run(model=model, data=FakeData(400), store=Store(tmp_path), batch_size=16)
    run.check()
    begun = time.perf_counter()
    tried = trials.try_out(run, logits_step(run), seconds=0.5)
    assert time.perf_counter() - begun < 3.0  # busy machines are slow
    assert 0 < tried.images < 4000
    assert not any(tmp_path.iterdir())


def test_the_estimate_is_that_of_the_run_in_processor_time(tmp_path, monkeypatch):
    """A model that works for a known time an image, as the long test does with a real network."""
    monkeypatch.undo()
    weights = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)

    def busy(inputs):
        until = time.process_time() + 2e-4 * len(inputs)
        while time.process_time() < until:
            pass
        return inputs.reshape(len(inputs), -1) @ weights

    model = CallableModel(busy, name="busy", fingerprint="1")
    run = Run(model=model, data=FakeData(2000), store=Store(tmp_path), batch_size=64)
    step = logits_step(run)
    tried = trials.try_out(run, step)
    expected = tried.seconds(step.amount(tried).work)[3]
    begun = time.process_time()
    measured(run, Logits())
    assert expected == pytest.approx(time.process_time() - begun, rel=0.25)


class TestCommands:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))

    @pytest.mark.parametrize(
        ("said", "measures"),
        [
            ("audit --radii none", ["logits"]),
            ("audit --gradients no --directions 2", ["logits", "radii"]),
            ("audit --stream --gradients no --directions 2", ["sums", "sums of radii"]),
            ("audit --score first-order --norm l2 --directions 2", ["logits", "radii"]),
            ("audit --stream --score first-order --norm l2 --directions 2", ["sums of radii"]),
            ("logits -o net.safetensors", ["logits"]),
            ("gate --wcr 0.3", ["logits"]),
            ("gate --wcr 0.3 --adaptive", ["logits"]),
            ("gate --robust-accuracy 0.3@2/255 --directions 2", ["logits", "radii"]),
            ("certify --method smoothing --n 20", ["logits", "votes"]),
            ("certify --method lipschitz", ["logits"]),
            ("check --method bisection --samples 2", ["logits", "refuters"]),
            pytest.param(
                "check --autoattack --quick --eps 0.1 --budget 20", ["logits", "radii", "APGD, 20 steps"], marks=attacks
            ),
            pytest.param(
                "gate --robust-accuracy 0.3@2/255 --referee pgd", ["logits", "radii", "APGD, 20 steps"], marks=attacks
            ),
            pytest.param("repair --samples 8", ["logits", "slopes"], marks=with_gradients),
            pytest.param(
                "repair --samples 8 --attack pgd --attacked 2",
                ["logits", "slopes", "APGD, 20 steps, twice"],
                marks=attacks,
            ),
            pytest.param(
                "check --autoattack --quick --eps 0.1 --samples 2", ["logits", "radii", "APGD, 20 steps"], marks=attacks
            ),
        ],
    )
    def test_every_command_that_runs_a_model_plans(self, said, measures, capsys, tmp_path):
        as_json = [] if said.startswith("logits") else ["--json"]
        words = [*said.split(), "--model", "zoo:trades", "--data", "zoo:digits", "--dry-run"]
        assert command([*words, *as_json]) == 0
        printed = capsys.readouterr()
        assert list(tmp_path.iterdir()) == []  # nothing was computed, and nothing is left
        if as_json:
            found = DryRun.from_json(printed.out)
            assert found.job == said.split()[0]
            assert [entry.what for entry in found.models[0].measures] == measures
            return
        assert printed.out.startswith("trades on zoo:digits: 900 images, 10 classes\nmeasured ")
        assert "Nothing was computed." in printed.out
        assert max(map(len, printed.out.splitlines())) <= 80

    def test_two_versions_are_planned_and_files_are_not(self, capsys):
        words = ["compare", "zoo:trades", "zoo:standard", "--data", "zoo:digits", "--radii", "none", "--dry-run"]
        assert command([*words, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert [model["name"] for model in found["models"]] == ["trades", "standard"]
        assert command(words) == 0
        assert re.search(r"^All 2 models: [\d.]+ (s|min)\.$", capsys.readouterr().out, re.MULTILINE)
        assert command(["compare", "a.npz", "b.npz", "--dry-run"]) == 2
        assert capsys.readouterr().err == (
            "gfscore: --dry-run says what running a model takes, and there is none here: files are read as they are. "
            "Leave --dry-run out.\n"
        )

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ("audit net.npz", "files are not run. Name --model and --data alone."),
            ("gate net.npz --wcr 0.3", "files are not run. Name --model and --data alone."),
            (
                "init zoo:trades zoo:digits",
                "this runs one on 128 images, to write a small file. Leave --dry-run out.",
            ),
        ],
    )
    def test_there_is_nothing_to_plan_where_no_model_is_run(self, said, why, capsys):
        np.savez("net.npz", logits=np.eye(2)[[0, 1, 1]] * 3, labels=[0, 1, 1])
        assert command([*said.split(), "--dry-run"]) == 2
        assert capsys.readouterr().err == f"gfscore: --dry-run says what running a model takes, and {why}\n"

    def test_a_model_that_does_not_fit_its_data_is_refused_as_by_the_run(self, capsys):
        np.savez("data.npz", images=np.zeros((20, 1, 8, 8), np.float32), labels=np.arange(20))
        assert command(["audit", "--model", "zoo:trades", "--data", "data.npz", "--dry-run"]) == 2
        assert "trades gives 10 logits but the data has label 19." in capsys.readouterr().err

    def test_a_run_after_its_plan_has_the_same_numbers_and_a_plan_after_its_run_nothing_to_do(self):
        words = {**NET, "radii": "none", "permutations": 0}
        found = gfscore.audit(**words, dry_run=True)
        assert isinstance(found, DryRun)
        assert (found.forward_passes, found.models[0].measures[0].stored) == (900, 0)
        assert found.seconds == pytest.approx(sum(model.seconds for model in found.models))
        audited = gfscore.audit(**words)
        assert audited.model.samples.n == 900
        again = gfscore.audit(**words, dry_run=True)
        assert (again.forward_passes, again.models[0].measures[0].stored) == (0, 900)

    def test_calibration_and_samples_of_models_are_planned_in_python(self):
        how = RunOptions(dry_run=True)
        found = gfscore.calibrate({"trades": "zoo:trades"}, "stability", data="zoo:digits", run=how)
        assert [(found.job, model.name) for model in found.models] == [("calibrate", "trades")]
        assert gfscore.samples_of("zoo:trades", "zoo:digits", dry_run=True).forward_passes == 900


def test_a_model_in_memory_is_planned(tmp_path):
    weights = np.random.default_rng(0).normal(size=(27, 3)).astype(np.float32)
    images, labels = np.random.default_rng(1).random((60, 3, 3, 3), dtype=np.float32), np.arange(60) % 3

    def model(inputs):
        return inputs.reshape(len(inputs), -1) @ weights

    with pytest.raises(Planned) as plan:
        plan_run("audit", model, (images, labels), RunOptions(dry_run=True), SILENT, lambda run: [logits_step(run)])
    assert plan.value.found.models[0].n == 60
    with pytest.raises(OptionError, match="there is none here"):
        plan_run("audit", None, None, RunOptions(dry_run=True), SILENT, lambda run: [])


SIZE = Assault(norm="linf", eps=2 / 255)


def foreseen(**changed):
    """What a trial of radii would have said."""
    usual = {"correct": 100, "standing": 0.4, "likely": 0.7, "is_known": True, "at_once": 8}
    return SimpleNamespace(**{**usual, "rows": np.arange(100), "assault": SIZE, **changed})


def test_what_the_first_attack_breaks_the_others_do_not_see(tmp_path):
    """Of 100 right images 40 stand: all meet the first of four attacks, these the others; at most all meet all."""
    run, assault, rows = fake_run(tmp_path), SIZE, np.arange(120)
    k = run.check().n_classes
    once, others = np.array(attack_trials.part_passes("apgd-ce", k)), np.array(attack_trials.autoattack_passes(k))
    others -= once
    found = attack_trials.autoattack_step(run, rows, assault, foreseen=foreseen()).amount(Tried())
    assert found.are == "estimated"
    assert (found.work, found.forward, found.backward) == (100, *(100 * once + 40 * others))
    assert found.most == tuple(100 * (once + others))
    twice = attack_trials.autoattack_step(run, rows, assault, foreseen=foreseen(), times=2).amount(Tried())
    assert (twice.forward, twice.backward) == (2 * found.forward, 2 * found.backward)
    all_stand = attack_trials.autoattack_step(run, rows, assault, foreseen=foreseen(standing=1.0)).amount(Tried())
    assert all_stand.most is None  # it is what is estimated


def test_a_budget_comes_after_what_falls_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr(attack_steps, "Foreseen", lambda **_about: foreseen())
    run, assault = fake_run(tmp_path), SIZE
    monkeypatch.setattr(attack_trials, "known_correct", lambda _run: None)
    monkeypatch.setattr("gfscore.jobs.attack_steps.first_attack_step", _first)
    for budget, attacked in ((30, 20), (500, 40), (None, 40), (7, 7)):  # whole blocks of 20, and of 7; what stands
        steps = attack_steps.budget_steps(run, [assault], budget, 0, covered=True)
        assert [step.what for step in steps] == ["first attack", "AutoAttack"]
        amount = steps[1].amount(Tried())
        assert (steps[1].images, steps[1].stored, amount.work) == (attacked, 0, attacked)
        assert amount.forward == attacked * attack_trials.autoattack_passes(run.check().n_classes)[0]
    quick = Assault(norm="linf", eps=2 / 255, quick=True)
    assert [step.what for step in attack_steps.budget_steps(run, [quick], 30, 0, covered=True)] == ["APGD, 20 steps"]


def _first(run, seen, *, seed):
    """The step of the first attack, on what is likely to fall."""
    step = attack_trials.first_attack_step(run, seen, seed=seed)
    amount = step.amount(Tried())
    assert (step.images, amount.work) == (70, 70)
    assert amount.backward == 70 * (attack_trials.APGD_STEPS + 1)
    return step


@pytest.mark.long
@attacks
@with_gradients
@pytest.mark.parametrize("words", [{"samples": 6, "n_per_class": 6}, {"budget": 20, "n_per_class": 6}])
def test_a_plan_of_attacks_agrees_with_the_run(realdata, tmp_path, words, monkeypatch):
    """AutoAttack on a robust network: what falls early is foreseen. In processor time, as others use the machine."""
    monkeypatch.undo()
    monkeypatch.setattr(trials, "SECONDS", trials.SECONDS * max(1.0, os.getloadavg()[0]))
    what = {
        "model": str(realdata / "models" / "cifar_cnn_a_adv.onnx"),
        "data": str(realdata / "cifar10_test.npz"),
        "mean": "0.4914,0.4822,0.4465",
        "std": "0.247,0.2435,0.2616",
        "autoattack": True,
        "eps": 2 / 255,
        "threads": 1,
        "permutations": 0,
        **words,
    }
    gfscore.check(**{**what, "n_per_class": 2, "store": tmp_path / "warm", "quick": True})  # imports
    planned = gfscore.check(**what, store=tmp_path / "store", dry_run=True).models[0].cpu_seconds
    begun = time.process_time()
    gfscore.check(**what, store=tmp_path / "store")
    assert time.process_time() - begun == pytest.approx(planned, rel=0.25)


@pytest.mark.long
@attacks
def test_passes_of_autoattack_are_at_most_what_is_said():
    """On a network that nothing breaks, every part of AutoAttack runs to its end."""
    import torch

    from gfscore.attacks.witnesses import Targets
    from gfscore.measures.sized_attacks import autoattack

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(1))

        def forward(self, pixels):
            return 1e-3 * pixels.flatten(1)[:, :10] + torch.tensor([10.0, *[0.0] * 9])

    module, watch, pixels = Module(), Stopwatch(), np.full((1, 1, 4, 4), 0.5, np.float32)
    targets = Targets(
        classify=lambda x: module(torch.from_numpy(x)).numpy(),
        pixels=pixels,
        labels=np.array([0]),
        radii=np.array([1 / 255]),
        norm="linf",
    )
    with attack_trials.counting(module, watch):
        autoattack(targets, module, "NCHW", n_classes=10)
    assert watch.backward == attack_trials.autoattack_passes(10)[1]
    assert watch.forward == pytest.approx(attack_trials.autoattack_passes(10)[0], rel=0.01)


@pytest.mark.long
@with_gradients
@pytest.mark.parametrize("words", [{}, {"gradients": "no", "radii": 10}, {"stream": True}])
def test_a_plan_agrees_with_the_run_of_a_real_network(realdata, tmp_path, words, monkeypatch):
    """In processor time, as others may use the machine; on a quiet one the seconds agree as well."""
    monkeypatch.undo()
    monkeypatch.setattr(trials, "SECONDS", trials.SECONDS * max(1.0, os.getloadavg()[0]))  # who waits sees as much
    what = {
        "model": str(realdata / "models" / "cifar_resnet20.onnx"),
        "data": str(realdata / "cifar10_test.npz"),
        "preset": "cifar10",
        "n_per_class": 100,
        "threads": 1,
        "permutations": 0,
        "store": tmp_path,
        **words,
    }
    gfscore.audit(**{**what, "n_per_class": 2, "store": tmp_path / "warm"})  # imports
    plan = gfscore.audit(**what, dry_run=True)
    begun = time.process_time(), time.perf_counter()
    gfscore.audit(**what)
    taken = time.process_time() - begun[0], time.perf_counter() - begun[1]
    assert plan.models[0].cpu_seconds == pytest.approx(taken[0], rel=0.25)
    if os.getloadavg()[0] < 0.8:
        assert plan.seconds == pytest.approx(taken[1], rel=0.25)
