"""Results survive the way to JSON and back, and keep the contract with their readers."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pydantic
import pytest

import gfscore
from gfscore import Audit, Comparison, GateResult, Options, Samples, audit, audit_models, compare, gate, repair, results
from gfscore.assemble import at_temperature, make_provenance, reweighted
from gfscore.errors import FileError, ResultError
from gfscore.jobs.certify import certify_given
from gfscore.jobs.given_gradients import audit_first_order
from gfscore.jobs.stream import StreamingAudit
from gfscore.paper import published_audit
from gfscore.results import FILES, Verdict

SCHEMAS = Path(gfscore.__file__).parent / "schemas"


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
    assert data["schema"] == "gfscore.audit/1"
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
    schema = json.loads((SCHEMAS / "audit.schema.json").read_text())
    for audited in (result, two_models):
        jsonschema.validate(json.loads(audited.to_json()), schema)


def untyped(schema, path=""):
    """Where a schema allows anything."""
    if isinstance(schema, list):
        for place, entry in enumerate(schema):
            yield from untyped(entry, f"{path}[{place}]")
    elif isinstance(schema, dict):
        if schema.get("type") == "object" and not {"properties", "additionalProperties"} & schema.keys():
            yield path
        for name, entry in schema.get("properties", {}).items():
            if not {"type", "$ref", "anyOf", "enum", "const"} & entry.keys():
                yield f"{path}.{name}"
        if schema.get("additionalProperties") is True or schema.get("items") == {}:
            yield path
        for name, entry in schema.items():
            yield from untyped(entry, f"{path}.{name}")


@pytest.mark.parametrize("file", FILES.values())
def test_every_leaf_of_a_file_has_a_type(file):
    assert list(untyped(file.model_json_schema(mode="serialization"))) == []


def test_a_leaf_without_a_type_is_found():
    class Loose(results.Result):
        anything: Any
        some: dict[str, Any]
        more: tuple[Any, ...]

    assert {".anything", ".properties.some", ".properties.more"} <= set(untyped(Loose.model_json_schema()))


def test_every_result_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "api.md").read_text(encoding="utf-8").splitlines()
    classes = [name for name in results.__all__ if isinstance(getattr(results, name), type)]
    missing = [name for name in classes if not {f"::: gfscore.{name}", f"::: gfscore.results.{name}"} & set(page)]
    assert missing == []


def test_a_model_shows_its_fields_where_nobody_has_words_for_them(result, monkeypatch):
    monkeypatch.setattr("gfscore.results.shown_by.FUNCTIONS", {})
    assert repr(result.model).startswith("ModelAudit(name='model'")
    assert result.model._repr_html_().startswith("<pre>ModelAudit(name=&#x27;model&#x27;")
    with pytest.raises(ResultError, match="ModelAudit has nothing that makes its plot"):
        result.model.plot()


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
    lines = text.splitlines()
    assert lines[1].split() == ["class", "score", "accuracy"]
    lowest = min(result.classes, key=lambda entry: entry.score)
    assert f"{lowest.score:.3f}" in lines[2]


@pytest.fixture(scope="module")
def sound():
    """An audit of a model that is better than guessing."""
    labels = np.arange(300) % 3
    logits = np.random.default_rng(0).normal(0, 1, (300, 3)) + 2 * np.eye(3)[labels]
    return gfscore.audit(logits, labels, class_names=["<script>", "cat", "dog"], permutations=0)


def test_a_class_is_taken_by_its_name(sound, two_models):
    first = sound.classes[0]
    assert sound[first.name] is first
    assert sound.model[first.name] is first
    assert sound["model"] is sound.model
    with pytest.raises(KeyError, match=r"^no class 'bird'; there are "):
        sound["bird"]
    shared = two_models.models[0].classes[0]
    assert two_models["x"][shared.name] is shared
    with pytest.raises(KeyError, match=r"is a class of several models. Take a model first"):
        two_models[shared.name]
    confusing = sound.model_copy(update={"models": (sound.model.model_copy(update={"name": first.name}),)})
    with pytest.raises(ResultError, match="is a model and one of its classes"):
        confusing[first.name]


def test_few_names_are_completed_and_all_work(sound):
    gate, comparison = sound.gate(rdi=1.25), sound.compare(sound)
    for each in (sound, sound.model, gate, comparison, sound.classes[0]):
        shown = {name for name in dir(each) if not name.startswith("_")}
        assert not shown & {"model_dump", "model_fields", "json", "schema", "copy", "dict", "construct", "validate"}
        assert set(type(each).model_fields) - {"schema_"} <= shown
        assert each.model_dump()
    assert {"plot", "report", "gate", "compare", "to_frame"} <= set(dir(sound))


def test_results_do_what_people_ask_of_them_in_a_notebook(sound, two_models, tmp_path):
    assert sound.gate(wcr=0.01).verdict == gfscore.gate(sound, wcr=0.01).verdict
    assert sound.gate({"rules": {"rdi": 1.25}}).verdict.value == "PASS"
    assert sound.compare(sound).classes == gfscore.compare(sound, sound).classes
    assert [type(each.plot()).__module__.split(".")[0] for each in (sound, sound.model, two_models)] == ["altair"] * 3
    assert "attack" not in sound.plot().to_json()  # of logits, whose scores are all there is
    assert sound.report(tmp_path / "a.html").read_text().startswith("<!DOCTYPE html>")
    assert sound.report(str(tmp_path / "a.md")).read_text().startswith("#")
    with pytest.raises(gfscore.GFScoreError, match=r"cannot be written as 'a.txt'. End its name in .html, .md or .pdf"):
        sound.report(tmp_path / "a.txt")


def test_a_picture_leads_with_robust_accuracy_where_it_is_known(sound, tmp_path, monkeypatch):
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path))
    how = {"data": "zoo:digits", "n_per_class": 10, "gradients": "no"}
    both = gfscore.audit(model=["zoo:standard", "zoo:trades"], **how)
    for each, title in ((both.models[0], "of each class"), (both, "of the models")):
        assert f"Robust accuracy {title}, by the size of the attack" in each.plot().to_json()
    one = both.models[0].model_copy(update={"robustness": None})
    mixed = both.model_copy(update={"models": (one, both.models[1])})
    assert "by the size of the attack" not in mixed.plot().to_json()


def test_verdicts_and_comparisons_show_themselves(sound):
    gate, comparison = sound.gate(rdi=1.25), sound.compare(sound)
    assert repr(gate).startswith("PASS  model\n")
    assert "UNPAIRED" in str(comparison)
    for each in (gate, comparison):
        assert each._repr_html_().startswith("<h4><b style=")
        assert "<script" not in each._repr_html_()
    page = sound._repr_html_()
    assert page.index("<svg") < page.index("RDI")  # classes, with bars, before metrics
    assert page.count("<rect") == len(sound.classes)


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
        (lambda data: data["models"][0].pop("rdi"), "breaks the schema at models.0.rdi: "),
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


def everything_that_writes():
    """An audit of each kind: groups, streams, part of a fixed set, radii with eps, certificates, zeros, published."""
    rng = np.random.default_rng(3)
    labels, logits = rng.integers(0, 4, 300), rng.normal(0, 2, (300, 4))
    logits[np.arange(300), labels] += 1.5
    yield audit(logits, labels)
    yield audit(logits, labels, groups=np.where(rng.random(300) < 0.3, "day", "night"))
    yield audit(logits, labels, class_sizes=[500, 90, 1000, 80], activation="sigmoid", temperature=0.3)
    yield audit(np.full((40, 2), 1.0) + 1e-3 * np.eye(2)[np.arange(40) % 2], 1 - np.arange(40) % 2)
    yield audit([[3, 0], [0, 1], [0, 2]], [0, 0, 1], interval="hoeffding", fairness_weight=7)
    stream = StreamingAudit(Options(fairness_weight=0)).update(logits, labels)
    yield from (Audit(models=(model,), provenance=make_provenance()) for model in (stream.peek(), stream.result()))
    yield audit_first_order(
        lambda x: x @ np.eye(2), rng.random((60, 2)), rng.integers(0, 2, 60), norm="linf", eps=0.02, max_radius=0.1
    )
    yield certify_given(logits, labels, np.abs(rng.normal(0, 0.3, 300)) * (logits.argmax(1) == labels))
    yield from (published_audit(name) for name in ("cifar10", "imagenet"))
    restated = at_temperature(reweighted(audit(logits, labels).model, 2.0), 0.7)
    yield Audit(models=(restated,), provenance=make_provenance())


def test_whatever_is_written_can_be_read():
    written = list(everything_that_writes())
    assert len(written) == 12
    for audited in written:
        assert Audit.from_json(audited.to_json()) == audited
    ends = [end for audited in written for model in audited.models for end in model.atkinson.interval or ()]
    assert max(ends) <= 1.0


CURVES = {"temperature": [0.5, 1.0], "aggregate": [0.4, 0.5], "scores": {}, "error": 1e-9}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["wcr"].update(interval=[1.2, 0.0]), "the interval of wcr begins at 1.2 and ends at 0"),
        (lambda m: m["wcr"].update(value=-3.0, interval=[0.6, 0.7]), "wcr is -3, outside its interval from 0.6 to 0.7"),
        (lambda m: m["wcr"].update(value=55.0, interval=[50, 60]), "55 is no value for wcr, which lies between 0 and"),
        (lambda m: m["wcr"].update(interval=[0.0, 60]), "60 is no value for wcr, which lies between 0 and 1.253"),
        (lambda m: m["wcr"].update(value=0.9, interval=[0.8, 1.0]), "wcr is 0.9, and the lowest score is 0."),
        (lambda m: m["samples"].update(n=1), "the numbers of samples add up to 60, not to 1"),
        (lambda m: m["classes"][1].update(name="a"), "the class 'a' is there 2 times"),
        (lambda m: m.update(absent_classes=["a"]), "the class 'a' is there 2 times"),
        (lambda m: m["rdi"].update(value=0.0, interval=[0, 0.1]), "rdi is 0.0, and the highest score minus the lowest"),
        (lambda m: m.update(accuracy=0.99), "accuracy is 0.99, and cannot be with those of its classes"),
        (lambda m: m.update(aggregate=m["aggregate_interval"][1]), "aggregate is "),
        (lambda m: m["classes"][0].update(score=1.3, interval=None), "1.3 is no value for the score of 'a'"),
        (lambda m: m["wcr"].update({"class": "unseen"}), "'unseen' is named as the worst"),
        (lambda m: m["score"].update(range=[1.0, 0.0]), "its scores range from 1 to 0"),
        (lambda m: m["score"].update(range=[0.0, 0.0]), "its scores range from 0 to 0"),
        (lambda m: m.update(curves=CURVES | {"aggregate": [0.5]}), "the curve of the aggregate has 1 values for 2"),
        (lambda m: m.update(curves=CURVES | {"scores": {"a": [1.0]}}), "the curve of 'a' has 1 values for 2 temp"),
        (lambda m: m["nrgc"].update(interval=[-0.1, 2.0]), "-0.1 is no value for nrgc, which lies between 0 and 1"),
    ],
)
def test_an_audit_that_cannot_be_is_refused_with_the_contradiction(result, tmp_path, change, message):
    data = json.loads(result.to_json())
    change(data["models"][0])
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ResultError) as caught:
        Audit.load(path)
    assert str(caught.value).startswith(f"{path}: holds an audit of 'model' that cannot be: {message}")
    assert str(caught.value).endswith(". Run the audit again.")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"n": 1}, "is of no whole number of the 1 samples"),
        ({"accuracy": 0.05}, "more than its correct decisions can have"),
    ],
)
def test_classes_that_contradict_themselves_are_refused(changes, complaint):
    rng, labels = np.random.default_rng(0), np.arange(300) % 3
    data = json.loads(audit(rng.normal(size=(300, 3)) + 2 * np.eye(3)[labels], labels).to_json())
    model = data["models"][0]
    for entry in model["classes"]:
        entry |= changes
    model["samples"]["n"] = sum(entry["n"] for entry in model["classes"])
    with pytest.raises(ResultError, match=complaint):
        Audit.from_json(json.dumps(data))


@pytest.fixture(scope="module")
def files():
    labels = np.arange(60) % 2
    logits = 3 * np.eye(2)[labels]
    samples = Samples.of(logits, labels)
    return {
        "audit": audit(logits, labels),
        "gate": gate(samples, {"rules": {"wcr": 0.5, "accuracy": 0.5}}),
        "comparison": compare(samples, samples),
        "repair": repair(logits, labels),
        "leaderboard": gfscore.leaderboard(
            gfscore.audit(model=["zoo:standard", "zoo:trades"], data="zoo:digits", n_per_class=5, gradients="no")
        ),
    }


@pytest.mark.parametrize("name", FILES)
def test_files_fit_their_published_schema_and_come_back_as_they_were(files, name, tmp_path):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert schema == FILES[name].model_json_schema(mode="serialization"), "run: python scripts/write_schema.py"
    jsonschema.validate(json.loads(files[name].to_json()), schema)
    files[name].save(tmp_path / "r.json")
    assert FILES[name].load(tmp_path / "r.json") == files[name]


def test_one_kind_of_file_is_not_another(files):
    with pytest.raises(FileError, match=r"has schema 'gfscore.gate/1'; this version reads 'gfscore.comparison/1'"):
        Comparison.from_json(files["gate"].to_json())
    with pytest.raises(FileError, match=r"Give the gate\.json that gfscore wrote"):
        GateResult.from_json("{")


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [("PASS PASS", "PASS"), ("PASS UNDECIDED", "UNDECIDED"), ("UNDECIDED FAIL PASS", "FAIL"), ("FAIL", "FAIL")],
)
def test_all_must_pass_and_one_may_fail(verdicts, together):
    assert Verdict.all_of([Verdict(each) for each in verdicts.split()]) is Verdict(together)


def test_intervals_of_estimates_say_what_they_cover_wherever_they_stand(tmp_path, monkeypatch, demo):
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path))
    how = {"data": "zoo:digits", "n_per_class": 10, "gradients": "no"}
    audit = gfscore.audit(model="zoo:standard", **how)
    comparison = gfscore.compare("zoo:standard", "zoo:trades", **how)
    assert (comparison.old, comparison.new) == ("standard", "trades")
    covers = "intervals cover the choice of samples only."
    audit.report(tmp_path / "a.html")
    audit.report(tmp_path / "a.md")
    pages = [(tmp_path / name).read_text() for name in ("a.html", "a.md")]
    for text in (str(comparison), comparison._repr_html_(), *pages, demo.screen):
        assert covers in " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).split())
    for text in (repr(audit), audit._repr_html_()):
        assert "an estimate, and the interval covers sampling only" in text
    assert "Robust accuracy at 2/255" in comparison._repr_html_()
    assert "does not make a model more robust than one that was trained differently" in " ".join(
        str(comparison).split()
    )
