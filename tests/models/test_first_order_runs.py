"""First-order radii of models that are run: stored, resumed, from gradients where there are any."""

from importlib.util import find_spec

import numpy as np
import pytest

import gfscore.measures.slopes as engine
from gfscore import Audit
from gfscore.cli.main import run
from gfscore.engines.local import first_order_rows, measured, score_first_order
from gfscore.errors import ModelError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import CallableModel, load_model
from gfscore.measures import Logits, Run
from gfscore.measures.slopes import Gradients
from gfscore.scores import FirstOrder
from gfscore.storage.store import Store

with_gradients = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")
HOW = FirstOrder(norm="l2", eps=0.5, directions=4)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def digits():
    return load_data("zoo:digits")


def scores(store, how=HOW, model=None, **options):
    of = Run(model=model or load_model("zoo:standard", threads=1), data=digits(), store=store)
    return score_first_order(of, of.read(measured(of, Logits()).path), how, **options)


def test_a_second_run_computes_nothing_even_for_another_eps(store, monkeypatch):
    first = scores(store)
    monkeypatch.setattr(engine, "forward_only_norms", None)  # calling it would fail
    again = scores(store, FirstOrder(norm="l2", eps=0.1, max_radius=1.0, directions=4))
    np.testing.assert_array_equal(again.values, np.minimum(first.values, 1.0))


@pytest.mark.parametrize("changed", [{"norm": "linf", "eps": 0.1}, {"seed": 1}, {"directions": 5}, {"step": 0.02}])
def test_whatever_decides_the_radii_is_part_of_the_key(store, changed):
    first = scores(store)
    settings = {"norm": "l2", "eps": 0.5, "directions": 4} | changed
    other = scores(store, FirstOrder(**settings))
    assert not np.isclose(first.values[first.values > 0], other.values[first.values > 0], rtol=1e-9).all()


def test_a_run_that_was_stopped_goes_on_where_it_was(store, monkeypatch):
    whole, computed = scores(Store(store.root / "whole")), []
    real = engine.forward_only_norms

    def stopping(*arguments, rows, **options):
        if len(computed) == 2:
            raise KeyboardInterrupt
        computed.append(int(rows[0]))
        return real(*arguments, rows=rows, **options)

    monkeypatch.setattr(engine, "forward_only_norms", stopping)
    with pytest.raises(KeyboardInterrupt):
        scores(store)
    done = list(computed)
    monkeypatch.setattr(
        engine, "forward_only_norms", lambda *a, rows, **o: computed.append(int(rows[0])) or real(*a, rows=rows, **o)
    )
    resumed = scores(store)
    assert sorted(computed) == sorted(set(computed))  # nothing twice
    assert set(done) < set(computed)
    np.testing.assert_array_equal(resumed.values, whole.values)


@with_gradients
def test_refined_radii_are_kept_and_say_how_they_were_refined(store, monkeypatch):
    first, refined = (scores(store, FirstOrder(norm="l2", refine=steps), gradients="yes") for steps in (0, 2))
    assert first.settings == {"rivals": 3, "gradients": True}
    assert refined.settings == {"rivals": 3, "gradients": True, "refine": 2}
    correct = first.values > 0
    assert ((refined.values > 0) == correct).all()
    assert 0.5 < np.median(refined.values[correct] / first.values[correct]) < 1.5
    assert not np.isclose(refined.values[correct], first.values[correct], rtol=1e-3).all()
    of = Run(model=load_model("zoo:standard", threads=1), data=digits(), store=store)
    rows = np.array([7, 3, 500])
    few = first_order_rows(of, rows, FirstOrder(norm="l2", refine=2), gradients=True)
    np.testing.assert_allclose(few.values, refined.values[rows], rtol=1e-6)  # those of the store are float32
    monkeypatch.setattr(engine, "exact_norms", None)  # calling it would fail
    np.testing.assert_array_equal(
        scores(store, FirstOrder(norm="l2", refine=2), gradients="yes").values, refined.values
    )


@with_gradients
def test_gradients_and_forward_passes_agree(store):
    exact = scores(store, FirstOrder(norm="l2", eps=0.5, refine=0), gradients=Gradients.YES)
    many = scores(store, FirstOrder(norm="l2", eps=0.5, directions=128))
    correct = exact.values > 0
    assert ((many.values > 0) == correct).all()
    ratios = np.log(many.values[correct] / exact.values[correct])
    assert np.abs(np.median(ratios)) < 0.02
    assert ratios.std() < 1.5 / np.sqrt(2 * 128)
    assert exact.errors is None
    assert exact.settings == {"rivals": 3, "gradients": True}


def black_box():
    onnx = load_model("zoo:standard", threads=1)
    return CallableModel(onnx, name="black box", fingerprint="1")


@with_gradients
def test_a_model_without_gradients_falls_back_and_says_so(store):
    local = scores(store, model=black_box(), gradients="auto")
    assert local.settings["gradients"] is False
    (flag,) = (flag for flag in local.flags if flag.code == "no_gradients")
    assert flag.message.startswith("black box: has no gradients: it is a function that nobody can look into.")
    with pytest.raises(ModelError, match="has no gradients"):
        scores(store, model=black_box(), gradients="yes")


def test_a_model_that_rounds_its_input_has_no_radii(store):
    """It once had the largest radius on all samples but a few."""
    onnx = load_model("zoo:standard", threads=1)
    model = CallableModel(lambda inputs: onnx(np.round(16 * inputs) / 16), name="rounded", fingerprint="1")
    with pytest.raises(ModelError, match="882 of 882 correct samples have no first-order radius"):
        scores(store, model=model)


def test_the_command_shows_radii_and_robust_accuracy(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    options = ["--score", "first-order", "--norm", "l2", "--eps", "0.5", "--directions", "8", "--store", "store"]
    assert run(["audit", "--model", "zoo:scaled", "--data", "zoo:digits", *options, "--per-sample", "rows.csv"]) == 0
    text = capsys.readouterr().out
    assert "first-order radius, L2, forward-only, 8 directions" in text
    assert "GREAT" not in text.replace("FP-GREAT", "")
    model = Audit.load(tmp_path / "gfscore-audit" / "audit.json").model
    assert f"{100 * model.robust_accuracy.value:.1f} % [" in text
    assert model.score.settings["directions"] == 8
    rows = np.genfromtxt(tmp_path / "rows.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    assert rows["score"].mean() == pytest.approx(model.aggregate)
    np.testing.assert_allclose(rows["standard_error"], rows["score"] / 4, rtol=1e-9)  # 1 / sqrt(2 * 8)
    assert (rows["score"] > 0.5).mean() == pytest.approx(model.robust_accuracy.value)


def test_scaling_the_logits_changes_no_radius(store):
    """The network that fools the GREAT score: the standard one with all logits times 64.

    A power of two moves exponents only, and every step from logits to radii is a ratio: not a bit is different.
    """
    plain, scaled = (scores(store, model=load_model(f"zoo:{name}", threads=1)) for name in ("standard", "scaled"))
    np.testing.assert_array_equal(scaled.values, plain.values)
