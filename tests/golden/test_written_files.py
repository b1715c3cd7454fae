"""A file written before results were typed throughout still loads, says the same, and is written as it was.

``written/audit.json`` was made by that version: four models calibrated against a reference, and one that was run and
attacked.
"""

import json
from pathlib import Path

import pytest

from gfscore.ranking import agreement
from gfscore.results import Audit, PreprocessingInfo

WRITTEN = Path(__file__).parent / "written" / "audit.json"


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit.load(WRITTEN)


def missing(before, after, path=""):
    """Where ``after`` lacks or changes something that ``before`` holds; keys that were added do not count."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            yield from [f"{path}.{key}"] if key not in after else missing(value, after[key], f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from missing(old, new, f"{path}[{place}]")
    elif before != after or type(before) is not type(after):
        yield f"{path}: {before!r}, now {after!r}"


def test_every_key_and_value_is_written_again(audit):
    before = json.loads(WRITTEN.read_text(encoding="utf-8"))
    assert list(missing(before, json.loads(audit.to_json()))) == []


def test_what_is_read_is_what_is_written(audit):
    assert Audit.from_json(audit.to_json()) == audit


def test_the_calibration_means_the_same(audit):
    found = audit.calibration
    assert found.curve.edges == (0.01, found.intervals[0][0], 10.0)
    assert found.curve.values == (found.baselines.at_one, found.value) == (0.8, 1.0)
    assert found.baselines.clean_accuracy == 0.8
    assert (found.grid.temperature, found.grid.value, found.grid.tried) == (1.54, 1.0, 301)
    assert [entry.model for entry in found.left_out] == list(found.models)
    assert [entry.loss for entry in found.left_out] == [0.0] * 4
    assert found.reference.calibrated.spearman == 1.0
    assert found.reference.calibrated.spearman_p is None  # chosen to agree
    assert found.reference.at_one.spearman_interval == pytest.approx((-0.8188163, 0.9975434))


def test_the_ranking_means_the_same(audit):
    scores, accuracies = ([getattr(model, name) for model in audit.models[:4]] for name in ("aggregate", "accuracy"))
    assert audit.ranking.score_and_clean_accuracy == agreement(scores, accuracies)
    reference = [0.1, 0.4, 0.5, 0.45]
    assert audit.ranking.score_and_reference == agreement(scores, reference)
    assert audit.ranking.clean_accuracy_and_reference == agreement(accuracies, reference)


def test_the_cross_check_means_the_same(audit):
    model = audit["trades"]
    found, attacked = model.cross_check, [entry.attacked.value for entry in model.classes]
    assert list(found.scores.great) == [entry.name for entry in model.classes]
    assert found.scores.clean_accuracy["2"] == found.scores.first_order["2"] == 0.75
    for name in ("clean_accuracy", "great", "first_order"):
        by_class = list(getattr(found.scores, name).values())
        assert getattr(found.agreement, name) == agreement(by_class, attacked)


def test_the_run_and_its_score_mean_the_same(audit):
    model = audit["trades"]
    assert model.run.model.name == "trades"
    assert model.run.data.source == model.samples.source == "zoo:digits (at most 6 per class, seed 0)"
    assert model.run.data.seed is None
    assert model.run.preprocessing == PreprocessingInfo()  # none
    assert model.run.batch_size == 128
    settings = model.score.settings
    assert [type(settings[name]) for name in ("rivals", "gradients", "step")] == [int, bool, float]
    assert (settings["rivals"], settings["gradients"], settings["step"]) == (3, False, 0.01)


def test_what_another_version_adds_is_no_obstacle(audit):
    changed = json.loads(audit.to_json())
    run = changed["models"][4]["run"]
    run["weather"] = run["preprocessing"]["padding"] = "new"
    del run["batch_size"]  # as the dashboard wrote it
    changed["models"][4]["score"]["settings"]["invented"] = "new"
    changed["ranking"]["score_and_luck"] = changed["ranking"]["score_and_reference"]
    changed["calibration"]["baselines"]["luck"] = 0.5
    read = Audit.from_json(json.dumps(changed))
    assert read.model_copy(update={"models": audit.models}) == audit
    assert read["trades"].run == audit["trades"].run.model_copy(update={"batch_size": None})
    assert read["trades"].score.settings["invented"] == "new"
