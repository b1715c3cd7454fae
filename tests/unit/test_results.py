"""Results survive the way to JSON and back, and keep the contract with their readers."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pydantic
import pytest

import gfscore
from gfscore import Audit, Samples, audit, audit_models
from gfscore.errors import FileError, ResultError
from gfscore.results import SCHEMA, json_schema

SCHEMA_FILE = Path(gfscore.__file__).parent / "schemas" / "audit.schema.json"


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(1)
    return audit(rng.normal(0, 2, (60, 4)), rng.integers(0, 3, 60), class_names=["a", "b", "<script>", "unseen"])


@pytest.fixture(scope="module")
def two_models():
    rng = np.random.default_rng(2)
    return audit_models({name: Samples.of(rng.normal(0, 2, (60, 4)), rng.integers(0, 4, 60)) for name in "xy"})


def test_round_trip(result, two_models, tmp_path):
    for audited in (result, two_models):
        audited.save(tmp_path / "audit.json")
        assert Audit.load(tmp_path / "audit.json") == audited


def test_the_contract_of_the_file(result):
    data = json.loads(result.to_json())
    assert data["schema"] == SCHEMA == "gfscore.audit/1"
    assert set(data) == {"schema", "models", "calibration", "ranking", "provenance"}
    model = data["models"][0]
    assert set(model) >= {
        *("name", "score", "samples", "interval", "partition", "accuracy", "aggregate", "class_mean", "classes"),
        *("absent_classes", "worst_set", "rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson", "noise", "flags"),
        *("claim", "verdict", "curves", "calibrated"),
    }
    assert set(model["score"]) >= {"name", "range", "activation", "temperature", "norm", "eps"}
    assert set(model["samples"]) == {"source", "n", "seed", "weighted_by"}
    assert set(model["interval"]) >= {"method", "delta", "target"}
    assert set(model["noise"]) >= {"rdi", "nrgc"}
    assert set(model["noise"]["rdi"]) == {
        *("null_mean", "null_q95", "p_value", "p_holm", "p_plain", "p_studentised", "test"),
    }
    assert set(model["classes"][0]) >= {"name", "n", "score", "std", "accuracy", "interval", "confused_with"}
    for metric in ("rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson"):
        assert set(model[metric]) >= {"value", "interval"}
    assert (set(model["wcr"]) - {"value", "interval"}, set(model["rdi"]) - {"value", "interval"}) == (
        {"class"},
        {"classes"},
    )
    assert "weight" in model["fp_great"]
    assert set(model["claim"]) >= {"premise", "premise_violated_share", "radius_refuted_share"}
    assert model["absent_classes"] == ["unseen"]


def test_the_file_fits_the_published_schema(result, two_models):
    schema = json.loads(SCHEMA_FILE.read_text())
    assert schema == json_schema(), "run: python scripts/write_schema.py"
    for audited in (result, two_models):
        jsonschema.validate(json.loads(audited.to_json()), schema)


def test_readers_ignore_keys_they_do_not_know(result):
    data = json.loads(result.to_json())
    data["added"] = data["models"][0]["added"] = data["models"][0]["classes"][0]["added"] = {"by": "a later version"}
    assert Audit.from_json(json.dumps(data)) == result


def test_results_are_frozen(result):
    with pytest.raises(pydantic.ValidationError):
        result.models = ()
    with pytest.raises(pydantic.ValidationError):
        result.model.aggregate = 1.0


def test_numbers_of_the_only_model_can_be_read_directly(result):
    model = result.models[0]
    for name in (
        *("classes", "accuracy", "aggregate", "class_mean", "flags"),
        *("rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson"),
    ):
        assert getattr(result, name) is getattr(model, name)


def test_several_models_are_taken_by_name(two_models):
    assert two_models["y"].name == "y"
    with pytest.raises(KeyError, match="no model 'z'; there are 'x', 'y'"):
        two_models["z"]
    with pytest.raises(ResultError, match=r"this audit holds 2 models \('x', 'y'\). Take one: audit\[name\]\."):
        _ = two_models.rdi


def test_repr_tells_the_essential(result, two_models):
    text = repr(result)
    assert text.startswith("model: 60 samples, 3 classes, clean accuracy")
    for word in ("WCR", "RDI", "NRGC", "FP-GREAT", f"the worst: {result.wcr.class_}"):
        assert word in text
    assert str(two_models).count("GREAT score  ") == 2


def test_html_repr_escapes_names(result):
    html = result._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_frame_has_a_row_per_model_and_class(two_models):
    frame = two_models.to_frame()
    assert len(frame) == 8
    assert list(frame.columns[:4]) == ["model", "class", "n", "score"]
    assert frame["score"].tolist() == [entry.score for model in two_models.models for entry in model.classes]
    assert (frame["lower"] <= frame["score"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.update(schema="gfscore.audit/9"), "has schema 'gfscore.audit/9'; this version reads"),
        (lambda data: data.pop("schema"), "has schema None; this version reads"),
        (lambda data: data.update(models=[]), "breaks the schema at models: "),
        (lambda data: data["models"][0].pop("rdi"), "breaks the schema at models.0.rdi: Field required"),
        (lambda data: data["models"][0].update(aggregate="high"), "breaks the schema at models.0.aggregate: "),
        (lambda data: data["models"][0].update(accuracy=1.5), "breaks the schema at models.0.accuracy: "),
    ],
)
def test_a_file_that_breaks_the_schema_is_refused_with_the_place(result, tmp_path, change, message):
    data = json.loads(result.to_json())
    change(data)
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(data))
    with pytest.raises(FileError) as caught:
        Audit.load(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_names_cannot_move_the_cursor():
    text = repr(audit([[3.0, 0.0], [0.0, 2.0]], [0, 1], class_names=["é\x1b[2J", "b\nc"], name="m\r"))
    assert text.startswith("m\\r: 2 samples")
    assert "b\\nc − " in text or "− b\\nc" in text
    assert "é\\x1b[2J" in text
