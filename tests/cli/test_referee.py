"""Few attacks from the command line: a budget in a check, and a gate that attacks until its verdict stands."""

import json
from importlib.util import find_spec

import numpy as np
import pytest

import gfscore
from gfscore import Audit
from gfscore.cli.main import main
from gfscore.errors import ModelError
from gfscore.measures import Attacks

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
ATTACK = ["--norm", "l2"]
ON_DIGITS = ["--model", "zoo:pgd-large", "--data", "zoo:digits"]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    said = capsys.readouterr()
    return ended.value.code, " ".join(said.out.split()), said.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("referee")


def test_a_check_with_a_budget_bounds_every_class(folder, capsys):
    budget = ["--autoattack", "--quick", "--eps", "1/2", "--budget", "130", *ATTACK]
    out = folder / "check"
    code, text, _ = run(capsys, "check", *ON_DIGITS, *budget, "--store", folder / "store", "--out", out)
    assert code == 0
    model = Audit.load(out / "audit.json").model
    found, few = model.cross_check, model.cross_check.few
    assert (few.budget, few.attacked, few.block, few.n, few.target) == (130, 120, 20, 900, "finite")
    assert sum(part.attacked for part in few.classes) == 120
    assert sum(part.mistaken for part in few.classes) == few.mistaken
    assert few.right == round(model.accuracy * 900)
    for part, entry in zip(few.classes, model.classes, strict=True):
        assert part.name == entry.name
        assert part.interval[0] <= part.value <= part.interval[1] <= entry.accuracy + 1e-9
        assert (entry.attacked.value, entry.attacked.interval) == (part.value, part.interval)
    values = [part.value for part in few.classes]
    assert few.worst.value == min(values)
    assert few.worst_class in few.worst_set
    assert few.gap.value == pytest.approx(np.ptp(values))
    assert few.gap.interval[0] <= few.gap.value <= few.gap.interval[1]
    assert found.scores.first_order == pytest.approx({part.name: part.predicted for part in few.classes})
    assert "attacks on 120 of the" in text
    assert "The budget of 130 holds so many whole blocks of 20." in text
    assert "Worst of the classes:" in text
    assert "for these very images; seed 0." in text
    code, text, _ = run(capsys, "table", out / "audit.json", "--rows", "classes", "--format", "csv")
    assert code == 0
    assert "Accuracy attacked" in text
    code, _, _ = run(capsys, "report", out / "audit.json", "--out", folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "attacks on 120 of the" in page
    assert "they predicted" in page


def test_a_larger_budget_goes_on_and_python_has_the_same_words(folder, monkeypatch):
    attacked, kept = [], Attacks._withstood
    monkeypatch.setattr(Attacks, "_withstood", lambda self, run, rows: attacked.extend(rows) or kept(self, run, rows))
    settings = {"autoattack": True, "quick": True, "norm": "l2", "eps": 0.5, "store": folder / "store"}
    audit = gfscore.check("zoo:pgd-large", "zoo:digits", budget=160, target="population", **settings)
    few = audit.model.cross_check.few
    assert (few.attacked, few.from_store, len(attacked), few.target) == (160, 120, 40, "population")


def test_a_gate_attacks_until_its_verdict_stands(folder, capsys):
    gate = ["gate", *ON_DIGITS, *ATTACK, "--referee", "pgd", "--store", folder / "store"]
    code, text, _ = run(capsys, *gate, "--robust-accuracy", "0.4@1/2", "--json", "--out", folder / "gate")
    verdict = json.loads((folder / "gate" / "gate.json").read_text(encoding="utf-8"))["models"][0]
    assert (code, verdict["verdict"]) == (0, "PASS")
    referee = verdict["referee"]
    assert 0 < referee["attacked"] < referee["sizes"][0]["right"]
    assert referee["sizes"][0]["without_predictions"] > 0
    assert [flag["code"] for flag in verdict["flags"]][-1] == "one_attack"
    code, text, _ = run(capsys, *gate, "--class-robust-accuracy", "*=0.97@1/2")
    assert code == 1
    assert "Robust accuracy of every class at 0.5 under APGD (20 steps) is" in text
    assert "rightly classified images by APGD (20 steps), L2 0.5" in text
    assert "It is about the distribution behind the images; seed 0." in text
    code, text, _ = run(capsys, *gate, "--robust-accuracy", "0.85@1/2", "--budget", "30")
    assert code == 3
    assert "the budget of 30 attacks is spent: raise --budget." in text


def test_nothing_is_attacked_when_another_rule_fails(folder, capsys, monkeypatch):
    monkeypatch.setattr(Attacks, "_withstood", lambda *_: pytest.fail("attacked"))
    gate = ["gate", *ON_DIGITS, *ATTACK, "--referee", "autoattack", "--store", folder / "store"]
    code, text, _ = run(capsys, *gate, "--robust-accuracy", "0.4@1/2", "--accuracy", "0.999")
    assert code == 1
    assert "attacked: 0 of" in text
    assert "another rule is broken, so that no more was attacked" in text


def test_a_model_without_gradients_is_refused_before_anything_is_measured(tmp_path):
    def forward(pixels):
        return np.stack([pixels.mean(axis=(1, 2, 3)) * k for k in range(4)], axis=1)

    images, labels = np.random.default_rng(0).random((40, 1, 4, 4), dtype=np.float32), np.arange(40) % 4
    settings = {"eps": 0.1, "store": tmp_path}
    with pytest.raises(ModelError, match="has no gradients"):
        gfscore.check(forward, (images, labels), autoattack=True, budget=10, **settings)
    rules = {"robust_accuracy": "0.3@0.1", "referee": "autoattack", "allow": ["at_chance"]}
    with pytest.raises(ModelError, match="has no gradients"):
        gfscore.gate(model=forward, data=(images, labels), **rules, **settings)
