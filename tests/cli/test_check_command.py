"""``gfscore check`` and the demo that uses it, as people call them."""

import json
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image
from terminals import Seen

from gfscore import zoo
from gfscore.cli.main import run
from gfscore.ranking import agreement
from gfscore.results import Audit

needs_attacks = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from gfscore.cli import main; main()"


def check(folder, *options, model="zoo:scaled"):
    arguments = ["check", "--model", model, "--data", "zoo:digits", "--store", str(folder / "store"), *options]
    assert run([*arguments, "--out", str(folder / "out")]) == 0
    return Audit.from_json((folder / "out" / "audit.json").read_text(encoding="utf-8"))


def test_forward_passes_alone_refute_the_network_that_fools_the_score(tmp_path, capsys):
    audit = check(tmp_path, "--method", "bisection", "--samples", "15")
    claim = audit.model.claim
    assert claim.tried_by == ("bisection",)
    assert claim.tried_on == 150
    assert claim.radius_refuted_share > 0.9
    assert claim.radius_refuted_interval[0] > 0.8
    assert claim.premise_violated_share is None
    text = " ".join(capsys.readouterr().out.split())
    assert f"Radius reading refuted on {100 * claim.radius_refuted_share:.1f} %" in text
    assert "(150 tried, by bisection)" in text
    strongest = claim.witnesses[0]
    assert f"sample {strongest.sample} of “{strongest.class_}” is “{strongest.predicted}”" in text


def test_a_witness_can_be_checked_by_anybody(tmp_path):
    """From the picture's middle third, which is rounded to bytes, back to the sample: they are close and not equal."""
    audit = check(tmp_path, "--method", "bisection", "--samples", "5")
    digits = zoo.test_set()
    for witness in audit.model.claim.witnesses:
        assert 0 < witness.distance < witness.radius
        assert witness.class_ != witness.predicted
        shown = np.asarray(Image.open(tmp_path / "out" / witness.image))
        sample = digits.images[int(witness.sample)][0]
        np.testing.assert_allclose(shown[12:192:24, 12:192:24] / 255, sample, atol=0.003)
        moved = shown[12:192:24, 200 + 12 : 200 + 192 : 24] / 255
        assert np.linalg.norm(moved - sample) == pytest.approx(witness.distance, abs=8 * 0.003)


def test_a_refuted_claim_changes_what_tables_and_reports_say(tmp_path, capsys):
    check(tmp_path, "--method", "bisection", "--samples", "5", "--quiet")
    result = str(tmp_path / "out" / "audit.json")
    assert run(["table", result, "--format", "markdown"]) == 0
    assert "Radius reading refuted on " in capsys.readouterr().out
    assert run(["report", result, "--out", str(tmp_path / "report.html"), "--quiet"]) == 0
    assert "refuted on " in (tmp_path / "report.html").read_text(encoding="utf-8")


@needs_attacks
def test_everything_is_tried_by_default(tmp_path):
    claim = check(tmp_path, "--samples", "3", "--quiet").model.claim
    assert claim.tried_by == ("bisection", "premise", "attack")
    assert claim.radius_refuted_share == claim.premise_violated_share == 1


def test_without_torch_forward_passes_remain_and_the_result_says_so(tmp_path):
    arguments = ["check", "--model", "zoo:scaled", "--data", "zoo:digits", "--samples", "2", "--json"]
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments, "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
    model = json.loads(done.stdout)["models"][0]
    assert model["claim"]["tried_by"] == ["bisection"]
    (message,) = (flag["message"] for flag in model["flags"] if flag["code"] == "not_all_refuters")
    assert message == (
        "tried by bisection only: the gradient of a model needs torch, which is not installed. "
        "Run: pip install 'gfscore[gradients]'. What stands may fall to the others."
    )


def test_without_torch_an_attack_that_is_asked_for_is_an_error_in_one_line(tmp_path):
    arguments = ["check", "--model", "zoo:scaled", "--data", "zoo:digits", "--method", "attack"]
    command = [sys.executable, "-c", WITHOUT_TORCH, *arguments, "--store", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "gfscore: an attack needs torch, which is not installed. Run: pip install 'gfscore[attacks]'\n"
    )


@needs_attacks
def test_a_quick_cross_check_stands_beside_the_scores(tmp_path, capsys):
    options = ["--autoattack", "--quick", "--norm", "l2", "--eps", "1/2", "--samples", "10"]
    model = check(tmp_path, *options, model="zoo:pgd-large").model
    found = model.cross_check
    assert (found.attack, found.norm, found.eps, found.n) == ("pgd", "l2", 0.5, 100)
    assert model.claim.tried_by == ()  # refuters were not asked for
    by_class = [entry.attacked.value for entry in model.classes]
    assert found.accuracy.value == pytest.approx(np.mean(by_class))
    for score in ("clean_accuracy", "great", "first_order"):
        by_score = getattr(found.scores, score)
        assert list(by_score) == [entry.name for entry in model.classes]
        assert getattr(found.agreement, score) == agreement(list(by_score.values()), by_class)
    assert found.seconds["great from logits"] < found.seconds["pgd"]
    assert found.first_order == "by gradients, refined at 6 midpoints, 3 rivals; made for this check"
    known = next(entry for entry in zoo.models() if entry.name == "pgd-large").attack_accuracy
    assert found.accuracy.interval[0] < known < found.accuracy.interval[1]  # by another attack, on all samples
    assert "Classes ranked as under attack (Spearman)" in capsys.readouterr().out


@needs_attacks
def test_a_cross_check_of_first_order_radii_shows_those_of_the_audit(tmp_path, capsys):
    attack = ["--autoattack", "--quick", "--norm", "l2", "--eps", "1/2", "--samples", "1000"]  # all there are
    score = ["--score", "first-order", "--rivals", "1", "--directions", "8"]
    model = check(tmp_path, *attack, *score, model="zoo:pgd-large").model
    shares = {entry.name: entry.robust_accuracy.value for entry in model.classes}
    assert model.cross_check.scores.first_order == pytest.approx(shares)
    assert model.cross_check.first_order == "forward-only, 8 directions, 1 rivals; those of the audit"
    assert "first-order" not in model.cross_check.seconds  # not found here, so not timed here
    assert "First-order radii: forward-only, 8 directions" in " ".join(capsys.readouterr().out.split())


@needs_attacks
@pytest.mark.long
def test_the_quick_attack_finds_most_where_confidences_are_saturated(tmp_path):
    """The gradient of their cross-entropy is 0, not that of a ratio of logits; PGD left a fifth more than AutoAttack.

    The quick attack left 5 points more when it was measured, as the page on refuters says; 3 were hoped for. The bound
    holds it to half of what PGD left.
    """
    options = ["--autoattack", "--norm", "l2", "--eps", "0.5", "--samples", "10"]
    strong = check(tmp_path, *options).model.cross_check.accuracy.value
    quick = check(tmp_path, *options, "--quick").model.cross_check.accuracy.value
    assert strong <= quick <= strong + 0.1  # 49 and 54 of 100


def test_the_demo_catches_the_network_that_fools_the_score(demo):
    audit = Audit.load(demo.folder / "audit.json")
    on_test = [model for model in audit.models if model.samples.seed is None]
    highest = max(on_test, key=lambda model: model.aggregate)
    assert highest.name.startswith("scaled")
    assert highest.claim.radius_refuted_share > 0.9
    text = Seen(demo.code, demo.screen).text
    share = f"{100 * highest.claim.radius_refuted_share:.1f} %"
    robust = {model.name.partition(" on ")[0]: model.robustness.headline for model in on_test}
    assert robust["scaled"] == robust["standard"]  # the same decisions
    assert robust["scaled"].value == min(rung.value for rung in robust.values())
    said = f"and the lowest robust accuracy, {100 * robust['scaled'].value:.1f} %, digit by digit that of “standard”."
    assert f"Beware: “scaled” has the highest GREAT score, {highest.aggregate:.3f}, {said}" in text
    assert f"Radius reading of its score refuted on {share} of samples" in text
    assert all(model.claim.tried_by == () for model in audit.models if model.samples.seed is not None)
