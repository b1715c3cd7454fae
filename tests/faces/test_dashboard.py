"""The dashboard's script run by Streamlit's own test driver, without a browser."""

import csv
import gc
import io
import json
import math
import socket
import subprocess
import sys
import time
import weakref
import zipfile
from dataclasses import replace
from itertools import combinations
from threading import Event

import numpy as np
import pytest

import gfscore
from gfscore import views
from gfscore.assemble import at_eps
from gfscore.cli.main import run
from gfscore.dashboard import serving
from gfscore.dashboard.background import Watched, Work
from gfscore.dashboard.charts import darken
from gfscore.dashboard.controls import TEMPERATURES
from gfscore.dashboard.downloads import zip_figures
from gfscore.dashboard.numbers import Settings, audit_at
from gfscore.dashboard.repair_tab import bias_file
from gfscore.dashboard.subjects import Subject, file_subjects, stamps_of, tell_apart, uploaded_subjects, zoo_subjects
from gfscore.dashboard.zoo_radii import ZooRadii
from gfscore.errors import FileError
from gfscore.jobs.audit import verdicts
from gfscore.jobs.certify import certify_given, certify_lipschitz
from gfscore.jobs.compared import compare_audits
from gfscore.jobs.stages import audit_scores, band_of, score_samples
from gfscore.outputs import robust_words
from gfscore.outputs.escaping import JOINER, plain_text
from gfscore.outputs.figures import style
from gfscore.outputs.figures.compared_models import BROWN, curve_notes
from gfscore.outputs.figures.eps_views import curves_at_eps
from gfscore.samples import Samples
from many_models import EPS, many_models

streamlit = pytest.importorskip("streamlit")
testing = pytest.importorskip("streamlit.testing.v1")
T = TEMPERATURES[45]


def script(paths, data=None):
    from gfscore.dashboard.page import show

    show(paths, data)


def opened(*paths, data=None):
    kwargs = {"paths": [str(path) for path in paths], "data": data}
    return testing.AppTest.from_function(script, kwargs=kwargs, default_timeout=60).run()


def samples_of(n_classes=4, n=50, seed=0, **names) -> Samples:
    rng = np.random.default_rng(seed)
    labels = np.arange(n_classes * n) % n_classes
    lift = np.linspace(1, 5, n_classes)[labels, None] * np.eye(n_classes)[labels]
    return Samples.of(rng.normal(0, 1, (labels.size, n_classes)) + lift, labels, **names)


def uneven() -> Samples:
    """Of four classes, one of which is far ahead: a bias can help the others."""
    rng, labels = np.random.default_rng(0), np.arange(1200) % 4
    lift = np.array([3, 1.5, 1.2, 0.8])[labels][:, None] * np.eye(4)[labels]
    return Samples.of(rng.normal(0, 1, (1200, 4)) + lift, labels)


def npz(samples: Samples) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, logits=samples.logits, labels=samples.labels, class_names=np.array(samples.class_names))
    return buffer.getvalue()


@pytest.fixture
def logits_file(tmp_path):
    path = tmp_path / "net.npz"
    path.write_bytes(npz(samples_of(class_names=["ant", "bee", "cow", "dog"])))
    return path


def slider(app, label):
    return next(each for each in (*app.slider, *app.select_slider) if each.label == label)


def cards(app) -> dict[str, tuple[str, str]]:
    return {card.label.replace("\\", ""): (card.value, card.delta) for card in app.metric}


def expected_cards(model) -> dict[str, tuple[str, str]]:
    digits = views.digits_of(model.score)
    title = views.score_name(model.score)
    rows = {
        f"{title[0].upper()}{title[1:]}": (model.aggregate, model.aggregate_interval),
        "Mean of the classes": (model.class_mean, model.class_mean_interval),
        "Worst class (WCR)": (model.wcr.value, model.wcr.interval),
        "Gap (RDI)": (model.rdi.value, model.rdi.interval),
        "Gini (NRGC)": (model.nrgc.value, model.nrgc.interval),
        "Penalised mean (FP-GREAT)": (model.fp_great.value, model.fp_great.interval),
        "Theil": (model.theil.value, model.theil.interval),
        "Atkinson": (model.atkinson.value, model.atkinson.interval),
    }
    relative = {"Gini (NRGC)", "Theil", "Atkinson"}
    found = {}
    if model.robustness is not None:
        at, rung = robust_words.eps_text(model.robustness), model.robustness.headline
        for name, share in (
            (f"Robust accuracy at {at}", rung.whole),
            (f"Worst class at {at}: {rung.worst}", rung.lowest),
        ):
            found[name] = (views.percent(share.value), views.between(share.interval).strip())
    for name, (value, interval) in rows.items():
        places = 3 if name in relative else digits
        proven = model.claim.certified and name not in {"Gap (RDI)", *relative}
        shown = views.estimate(value, None, places, certified=proven)
        found[name] = (shown, f"[{', '.join(views.ends(interval, places))}]" if interval else "no interval")
    return found


def table_with(app, column):
    """The first table that has a column."""
    return next(table.value for table in app.dataframe if column in table.value)


def sentences(app) -> str:
    """What the boxes say, without the escapes of Markdown."""
    return "\n".join(box.value for kind in ("error", "info", "success", "warning") for box in app.get(kind)).replace(
        "\\", ""
    )


def audit_of(samples, **wanted):
    """The audit with these options: at T = 1 as it is, at others, which somebody chose by looking, with a band."""
    options = gfscore.Options(**wanted)
    band = None if options.divisor == 1 else band_of(samples, options)
    return audit_scores(samples, score_samples(samples, options), options, name="net", band=band)


def test_every_slider_gives_the_numbers_of_an_audit_with_it(logits_file):
    app = opened(logits_file)
    samples = gfscore.read_samples(logits_file)
    wanted = {"temperature": 1.0, "fairness_weight": 0.5, "delta": 0.05}
    moves = [
        ("temperature", "Temperature T", T),
        ("fairness_weight", "Fairness weight λ", 1.5),
        ("delta", "Error level δ", 0.2),
    ]
    for option, label, value in moves:
        assert cards(app) == expected_cards(audit_of(samples, **wanted))
        slider(app, label).set_value(value).run()
        wanted[option] = value
    assert cards(app) == expected_cards(audit_of(samples, **wanted))
    assert not app.exception


def test_the_temperature_that_is_shown_is_the_one_that_is_computed(logits_file):
    app = opened(logits_file)
    shown = slider(app, "Temperature T")
    assert [float(option) for option in shown.options] == list(TEMPERATURES)
    shown.set_value(2).run()
    samples = gfscore.read_samples(logits_file)
    assert cards(app) == expected_cards(audit_of(samples, temperature=2))


def test_a_temperature_that_was_chosen_by_looking_has_a_band(logits_file):
    app = opened(logits_file)
    slider(app, "Temperature T").set_value(2).run()
    slider(app, "Threshold τ").set_value(1.2).run()
    assert "at any temperature, and a level chosen beforehand)" in sentences(app)


def test_the_threshold_is_judged_by_intervals(logits_file):
    app = opened(logits_file)
    model = gfscore.audit_models({"net": gfscore.read_samples(logits_file)}).model
    lowest, highest = model.wcr.interval
    sure = "(wrong with probability at most 0.05, at a temperature and level chosen beforehand)"
    for threshold, verdict, said in [
        (lowest - 0.02, "PASS", f"no class has a mean score below {{}} {sure}."),
        (
            (lowest + highest) / 2,
            "UNDECIDED",
            "the intervals do not tell whether some class has a mean score below {};",
        ),
        (highest + 0.02, "FAIL", f"some class has a mean score below {{}} {sure};"),
    ]:
        slider(app, "Threshold τ").set_value(round(threshold, 2)).run()
        assert f"**{verdict}**: {said.format(round(threshold, 2))}" in sentences(app)
        table = table_with(app, "verdict")
        assert list(table["verdict"]) == [str(each) for each in verdicts(model, round(threshold, 2))[1]]


def radius_audits() -> dict[str, gfscore.Audit]:
    """An audit by each score that is no GREAT score."""
    rng, weights = np.random.default_rng(0), np.eye(4)
    labels = np.arange(200) % 4
    pixels = 0.02 * rng.random((200, 4)) + 0.03 * weights[labels]
    samples = samples_of()
    return {
        "first-order": gfscore.audit_first_order(
            lambda x: x @ weights,
            pixels,
            labels,
            norm="linf",
            eps=8 / 255,
            gradients=lambda _, y, rivals: weights[y][:, None] - weights[rivals],
            name="first",
        ),
        "lipschitz": certify_lipschitz(samples.logits, samples.labels, 10.0, name="second"),
        "given": certify_given(samples.logits, samples.labels, 0.03 * rng.random(200), norm="linf", name="third"),
    }


@pytest.mark.parametrize(
    ("score", "label", "largest", "step"),
    [
        ("first-order", "first-order radius", 0.125, 0.001),
        ("lipschitz", "certified radius", 1.0, 0.01),
        ("given", "given score", 0.0627, 0.0001),
    ],
)
def test_audits_by_other_scores_are_shown_on_their_own_scale(tmp_path, score, label, largest, step):
    audit = radius_audits()[score]
    audit.save(tmp_path / "audit.json")
    app = opened(tmp_path)
    assert "failed inside" not in sentences(app)
    assert cards(app) == expected_cards(audit.model)
    assert any(name.lower() == label.lower() for name in cards(app))
    assert "Temperature T" not in [each.label for each in app.select_slider]
    threshold = slider(app, "Threshold τ")
    assert (threshold.max, threshold.step) == (largest, step)
    lowest = audit.wcr.interval[0]
    threshold.set_value(math.floor(lowest / step) * step).run()
    assert ("**PASS**" in sentences(app)) == (lowest >= step)  # at 0 nothing is judged
    app.session_state["tab"] = "Compare models"
    app.run()
    table = app.dataframe[0].value
    wanted = views.score_text(audit.model, audit.aggregate, audit.model.aggregate_interval)
    assert list(table[views.column_name(audit.model.score)]) == [wanted]
    assert "GREAT" not in table
    assert "failed inside" not in sentences(app)


def test_different_scores_are_not_put_side_by_side(logits_file, tmp_path):
    for name, audit in radius_audits().items():
        audit.save(tmp_path / "runs" / name / "audit.json")
    app = opened(logits_file, tmp_path / "runs")
    assert [each.label.replace("\\", "") for each in app.slider] == [
        "Least robust accuracy, %",
        "Threshold τ (GREAT score)",
        "Threshold τ (first-order radius, Linf)",
        "Threshold τ (given score, Linf)",
        "Threshold τ (certified radius (lipschitz), L2)",
    ]
    app.selectbox[0].select_index(3).run()
    slider(app, "Temperature T").set_value(T).run()
    assert "The temperature does not apply: the score of second has none." in sentences(app)
    app.session_state["tab"] = "Compare models"
    app.run()
    assert list(app.dataframe[0].value["model"]) == ["net"]  # of the first one's kind
    app.multiselect[0].select(str(tmp_path / "runs" / "first-order" / "audit.json") + "#0").run()
    assert "Different scores are not comparable (GREAT score; first-order radius, Linf)." in sentences(app)
    assert all("model" not in table.value for table in app.dataframe)
    assert "failed inside" not in sentences(app)


def test_a_class_shows_its_samples_and_confusions(logits_file):
    app = opened(logits_file)
    samples = gfscore.read_samples(logits_file)
    box = app.selectbox[1]
    assert box.value == "ant"  # the worst
    box.set_value("bee").run()
    rows = table_with(app, "sample")
    local = gfscore.local_scores(samples.logits, samples.labels)
    assert list(rows["score"]) == sorted(local[samples.labels == 1])
    predicted = samples.logits.argmax(axis=1)[samples.labels == 1]
    mistaken = np.bincount(predicted[predicted != 1], minlength=4)
    first = samples.class_names[int(mistaken.argmax())]
    assert any(text.value.startswith(f"{first}: {100 * mistaken.max() / 50:.1f} %") for text in app.text)


def test_images_are_shown_where_the_data_is(tmp_path):
    digits = gfscore.zoo.test_set()
    logits = np.random.default_rng(0).normal(0, 1, (900, 10)) + 3 * np.eye(10)[digits.labels]
    np.savez(tmp_path / "own.npz", logits=logits, labels=digits.labels)
    app = opened(tmp_path / "own.npz", data="zoo:digits")
    assert len(app.get("image")) == 12
    scores = gfscore.local_scores(logits, digits.labels)
    worst = gfscore.audit(logits, digits.labels).wcr.class_
    lowest = np.sort(scores[digits.labels == int(worst)])[:12]
    shown = [text.value.split()[0] for text in app.text if text.value.endswith("✓") or " as " in text.value]
    assert sorted(shown) == sorted(map(views.number, lowest))
    np.savez(tmp_path / "other.npz", logits=logits[:-1], labels=digits.labels[:-1])
    assert "has other labels than zoo:digits" in sentences(opened(tmp_path / "other.npz", data="zoo:digits"))


def test_models_are_compared_side_by_side(tmp_path):
    for name, seed in {"one": 0, "two": 1}.items():
        (tmp_path / f"{name}.npz").write_bytes(npz(samples_of(seed=seed)))
    app = opened(tmp_path / "one.npz", tmp_path / "two.npz")
    app.session_state["tab"] = "Compare models"
    app.run()
    table = app.dataframe[0].value
    wanted = gfscore.audit_models({name: gfscore.read_samples(tmp_path / f"{name}.npz") for name in ("one", "two")})
    assert list(table["model"]) == ["one", "two"]
    warning = "A higher score does not make a model more robust than one that was trained differently."
    assert warning in [text.value for text in app.text]
    assert list(table["RDI"]) == [views.estimate(model.rdi.value, model.rdi.interval) for model in wanted.models]
    samples = {name: gfscore.read_samples(tmp_path / f"{name}.npz") for name in ("one", "two")}
    change = gfscore.compare(samples["one"], samples["two"])
    assert change.paired
    assert list(app.dataframe[1].value["lower"]) == [
        views.floored(entry.change.interval[0], 3) for entry in change.classes
    ]
    assert list(app.dataframe[1].value["verdict"]) == [entry.verdict for entry in change.classes]
    app.multiselect[0].unselect(app.multiselect[0].value[0]).run()
    assert list(app.dataframe[0].value["model"]) == ["two"]
    assert warning not in [text.value for text in app.text]  # nothing beside it
    assert not app.exception


def test_pictures_that_compare_say_whom_they_leave_out_and_tables_what_they_are_about(logits_file, tmp_path):
    many_models(2, 10).save(tmp_path / "audit.json")
    app = opened(tmp_path / "audit.json", logits_file)
    app.session_state["tab"] = "Compare models"
    app.run()
    texts = [text.value for text in app.text]
    assert "Not in the picture above: net, as their robust accuracy is not known." in texts
    found = compare_audits(*many_models(2, 10).models)
    titles = [text.replace("\\", "") for text in app.markdown.values]
    assert titles[-2:] == ["**Robust accuracy at eps = 2/255, in percent**", "**Mean GREAT score**"]
    robust, scores = (table.value for table in list(app.dataframe)[1:3])
    assert list(robust["verdict"]) == [entry.verdict for entry in found.robustness[0].classes]
    assert list(robust["to"]) == [100 * entry.new for entry in found.robustness[0].classes]
    assert list(scores["to"]) == [entry.new for entry in found.classes]
    slider(app, "Size of the attack, eps (Linf)").set_value(EPS[0]).run()
    assert "**Robust accuracy at eps = 0.5/255, in percent**" in [
        text.replace("\\", "") for text in app.markdown.values
    ]
    assert not app.exception


def test_robust_accuracies_against_different_attacks_are_not_set_side_by_side(tmp_path):
    same = many_models(2, 10).models
    smaller = at_eps(same[1].model_copy(update={"name": "smaller"}), EPS[0])
    found = same[0].robustness.model_copy(update={"norm": "l2"})
    other = same[0].model_copy(update={"name": "other", "robustness": found})
    strange = many_models(1, 12).models[0].model_copy(update={"name": "strange"})
    audit = many_models(2, 10).model_copy(update={"models": (*same, smaller, other, strange)})
    audit.save(tmp_path / "audit.json")
    app = opened(tmp_path)
    app.session_state["tab"] = "Compare models"
    app.run()
    texts = "\n".join(text.value for text in app.text)
    assert "in this table are not comparable, as the attacks differ: a network of some length, 0" in texts
    assert "; smaller at 0.5/255 (Linf)" in texts
    assert "Not in the picture above: other, as their radii are of another norm or kind." in texts
    assert "Not in the picture above: smaller, as they were audited at another size of the attack" in texts
    assert f"Not in the picture above: strange, as they have no classes of {same[0].name}." in texts
    app.multiselect[0].set_value([key for key in app.multiselect[0].value if key[-1] in "012"]).run()
    slider(app, "Size of the attack, eps (Linf)").set_value(EPS[2]).run()
    texts = "\n".join(text.value for text in app.text)
    assert "not comparable" not in texts
    assert "Not in the picture" not in texts
    assert not app.exception


def test_a_stored_audit_follows_what_it_can_and_says_what_not(logits_file, tmp_path):
    samples = gfscore.read_samples(logits_file)
    gfscore.audit_models({"net": samples}).save(tmp_path / "runs" / "a" / "audit.json")
    app = opened(tmp_path / "runs")
    assert slider(app, "Error level δ").disabled
    slider(app, "Fairness weight λ").set_value(1.0).run()
    assert cards(app) == expected_cards(
        gfscore.audit_models({"net": samples}, gfscore.Options(fairness_weight=1)).model
    )
    slider(app, "Temperature T").set_value(T).run()
    wanted = expected_cards(
        gfscore.audit_models({"net": samples}, gfscore.Options(fairness_weight=1, temperature=T)).model
    )
    assert cards(app) == {name: (value, "no interval") for name, (value, _) in wanted.items()}
    assert "no intervals and no noise floor without the samples" in sentences(app)
    slider(app, "Threshold τ").set_value(0.1).run()
    assert "**UNDECIDED**" in sentences(app)


def test_nothing_is_judged_before_a_threshold_is_chosen(logits_file):
    app = opened(logits_file)
    assert not any(word in sentences(app) for word in ("PASS", "FAIL", "UNDECIDED"))
    assert any(text.value.startswith("No verdict yet: move the threshold") for text in app.text)
    assert any(text.value.startswith("This result has no robust accuracy, which takes the model.") for text in app.text)
    assert not any("verdict" in table.value for table in app.dataframe)
    slider(app, "Threshold τ").set_value(0.01).run()
    assert "**PASS**" in sentences(app)
    assert any("verdict" in table.value for table in app.dataframe)


def test_robust_accuracy_comes_first_where_an_audit_has_it(tmp_path):
    audit = radius_audits()["first-order"]
    assert audit.model.robustness is not None
    audit.save(tmp_path / "audit.json")
    app = opened(tmp_path)
    app.session_state["more-sizes"] = True
    app.run()
    assert table_with(app, "eps").to_numpy().tolist() == robust_words.ladder_rows(audit.model)
    whole = views.percent(audit.model.robustness.headline.value)
    assert any(f"would leave an estimated {whole}" in text.value.replace("\\", "") for text in app.markdown)


def test_the_zoo_has_robust_accuracy_without_an_audit(tmp_path, monkeypatch):
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path))
    first = zoo_subjects(lambda _done, _name: None)[0]
    wanted = gfscore.audit(model="zoo:standard", data="zoo:digits", delta=0.1).model
    settings = Settings(temperature=1.0, fairness_weight=0.5, thresholds={}, delta=0.1)
    assert audit_at(first, settings)[0].robustness is None  # the page does not wait for it
    radii = ZooRadii([first])
    radii.start()
    radii.work.thread.join(120)
    radii.work.result()
    model, notes = audit_at(radii.added_to([first])[0], settings)
    assert (model.robustness, notes) == (wanted.robustness, [])
    assert model.robustness is not None


def test_the_slider_for_eps_moves_every_robust_number(tmp_path):
    audit = radius_audits()["first-order"]
    audit.save(tmp_path / "audit.json")
    app, model = opened(tmp_path), audit.model
    found = model.robustness
    for rung in (found.rungs[0], found.rungs[-1]):
        slider(app, "Size of the attack, eps (Linf)").set_value(rung.eps).run()
        at = robust_words.eps_text(found, rung.eps)
        assert cards(app)[f"Robust accuracy at {at}"] == (
            views.percent(rung.value),
            views.between(rung.interval).strip(),
        )
        assert cards(app)[f"Worst class at {at}: {rung.worst}"][0] == views.percent(rung.lowest.value)
        wanted = [round(100 * share.value, 1) for share in rung.classes]
        assert list(table_with(app, "robust")["robust"]) == wanted
        whole = views.percent(rung.value)
        assert any(f"estimated {whole}" in text.value.replace("\\", "") for text in app.markdown)
    assert not app.exception


def test_curves_have_bands_only_where_there_are_intervals_and_hidden_ones_are_named():
    model = radius_audits()["first-order"].model
    spec = curves_at_eps(model).to_dict()
    area = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "area")
    sizes = {row["eps"] for row in spec["datasets"][area["data"]["name"]]}
    assert len(sizes) == len(model.robustness.rungs)
    assert 0 not in sizes
    twin = model.model_copy(update={"name": "twin"})
    assert f"The curves of {model.name} and twin are the same" in curve_notes([model, twin])
    other = model.robustness.model_copy(update={"rungs": model.robustness.rungs[1:]})
    assert "the same" not in curve_notes([model, twin.model_copy(update={"robustness": other})])


def test_a_least_robust_accuracy_is_judged_by_intervals(tmp_path):
    audit = radius_audits()["first-order"]
    audit.save(tmp_path / "audit.json")
    app = opened(tmp_path)
    eps = audit.model.robustness.rungs[0].eps
    slider(app, "Size of the attack, eps (Linf)").set_value(eps).run()
    rung = audit.model.robustness.rungs[0]
    low, high = rung.lowest.interval
    assert "**" not in sentences(app)
    for percent in (math.floor(100 * low), math.ceil(100 * (low + high) / 2)):
        slider(app, "Least robust accuracy, %").set_value(percent).run()
        ends = [share.interval for share in rung.classes]
        wanted = ["PASS" if a >= percent / 100 else "FAIL" if b < percent / 100 else "UNDECIDED" for a, b in ends]
        assert list(table_with(app, "robust enough")["robust enough"]) == wanted
        assert ("**PASS**" in sentences(app)) == (low >= percent / 100)


def test_a_changed_audit_is_seen(logits_file, tmp_path):
    samples, path = gfscore.read_samples(logits_file), tmp_path / "runs" / "audit.json"
    gfscore.audit_models({"net": samples}).save(path)
    app = opened(tmp_path / "runs")
    before = cards(app)
    changed = gfscore.audit_models({"net": samples_of(seed=9)})
    changed.save(path)
    app.run()
    assert cards(app) == expected_cards(changed.model) != before
    gfscore.audit_models({"second": samples}).save(tmp_path / "runs" / "more" / "audit.json")
    app.run()
    assert app.selectbox[0].options == ["net", "second"]
    path.write_text(path.read_text().replace('"name": "net"', '"name": "nut"'))  # as many bytes
    app.run()
    assert app.selectbox[0].options == ["nut", "second"]
    assert len(stamps_of([str(tmp_path / "runs")])) == 2


def test_audits_can_be_uploaded_and_each_logits_file_has_its_own_kind(logits_file):
    app = opened(logits_file)
    audit = gfscore.audit_models({"old": samples_of(seed=3)})
    logits = samples_of(seed=4).logits
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    buffer = io.BytesIO()
    np.savez(buffer, logits=shares, labels=samples_of().labels)
    kind = "application/octet-stream"
    app.file_uploader[0].set_value(
        [("audit.json", audit.to_json().encode(), kind), ("soft.npz", buffer.getvalue(), kind)]
    ).run()
    assert "choose probabilities in its box" in sentences(app)
    assert "--probabilities" not in sentences(app)
    assert app.selectbox(key="model").options == ["old", "net"]
    assert cards(app) == expected_cards(audit.model)
    box = next(box for box in app.selectbox if box.label.endswith("holds"))
    box.set_value("probabilities").run()
    wanted = gfscore.audit(shares, samples_of().labels, probabilities=True).model
    assert cards(app) == expected_cards(wanted)
    assert not app.exception


def test_nothing_of_an_upload_is_left_when_it_is_removed(logits_file):
    app = opened(logits_file)
    app.file_uploader[0].set_value([("mine.npz", npz(samples_of(seed=5)), "application/zip")]).run()
    (found,) = app.session_state["uploads"].values()
    kept, samples = found[0].kept, weakref.ref(found[0].samples.logits)
    assert kept.made
    del found
    slider(app, "Temperature T").set_value(T).run()
    for tab in ("Compare models", "Download", "Repair", "One model"):
        app.session_state["tab"] = tab
        app.run()
        if tab == "Repair":
            app.button[0].click().run()
            (work,) = app.session_state["repairs"].values()
            work.thread.join(120)
    app.file_uploader[0].set_value([]).run()
    assert app.session_state["uploads"] == {}
    assert not kept.made
    assert not app.session_state["repairs"]
    gc.collect()
    assert samples() is None  # without another run of the page
    assert not app.exception


def test_a_repair_ends_with_its_upload(logits_file, monkeypatch):
    def waits(_subject, _words, face: Watched) -> None:
        while True:
            face.step()
            time.sleep(0.001)

    monkeypatch.setattr("gfscore.dashboard.repair_tab._repair", waits)
    app = opened(logits_file)
    app.file_uploader[0].set_value([("mine.npz", npz(samples_of(seed=5)), "application/zip")]).run()
    app.session_state["tab"] = "Repair"
    app.run()
    app.button[0].click().run()
    (work,) = app.session_state["repairs"].values()
    assert work.is_running
    app.file_uploader[0].set_value([]).run()
    work.thread.join(20)
    assert not work.is_running


def test_work_can_be_cancelled_and_says_how_far_it_is():
    begun, told = Event(), []

    def job(face: Watched) -> str:
        moved = face.bar("net", "slopes")
        for done in range(100_000):
            moved(done, 100_000)
            told.append(face.share)
            begun.set()
            time.sleep(0.001)
        return "done"

    work = Work(job)
    assert begun.wait(20)
    assert work.is_running
    work.cancel()
    work.thread.join(20)
    assert work.is_cancelled
    assert work.result() is None
    assert told == sorted(told)
    assert work.face.text.startswith("net: slopes, ")


def test_a_job_that_fails_says_so_where_it_is_looked_at():
    def job(_face: Watched) -> None:
        raise FileError("is torn.")

    work = Work(job)
    work.thread.join(20)
    with pytest.raises(FileError, match="is torn"):
        work.result()


def test_a_repair_is_slid_along_and_its_bias_downloaded(tmp_path):
    (tmp_path / "net.npz").write_bytes(npz(uneven()))
    app = opened(tmp_path / "net.npz")
    app.session_state["tab"] = "Repair"
    app.run()
    assert "what is balanced here is accuracy, and that is all" in sentences(app)
    app.button[0].click().run()
    next(iter(app.session_state["repairs"].values())).thread.join(120)
    app.run()
    assert sentences(app).count("Logits show no slopes") == 1  # said once, not by the result again
    assert "logits show no slopes" not in sentences(app)
    found = next(iter(app.session_state["repairs"].values())).result()
    points = sorted({*found.frontier, found.chosen}, key=lambda point: (-point.mean, point.worst))
    for place in (0, len(points) - 1):
        slider(app, "Along the trade-offs: the best mean first, the best worst class last").set_value(place).run()
        point = points[place]
        table = table_with(app, "change in points")
        assert list(table["after"]) == [round(100 * share, 1) for share in point.shares]
        assert (min(point.shares), np.mean(point.shares)) == pytest.approx((point.worst, point.mean))
        assert list(csv.reader(io.StringIO(bias_file(found, point).decode())))[1:] == [
            [name, repr(bias)] for name, bias in zip(found.class_names, point.bias, strict=True)
        ]
    assert not app.exception


@pytest.mark.parametrize(("tab", "kept"), [("Repair", "repairs"), ("Download", "prepared")])
def test_what_was_pressed_is_kept_when_the_page_runs_again_by_itself(logits_file, monkeypatch, tab, kept):
    app = opened(logits_file)
    app.session_state["tab"] = tab
    app.run()
    again = [True]
    monkeypatch.setattr("gfscore.dashboard.page._watch", lambda *_: again and again.pop() and streamlit.rerun())
    monkeypatch.setattr("gfscore.dashboard.downloads.zip_figures", lambda *_: b"")  # not what is tested here
    app.button[0].click().run()
    assert not again
    assert app.session_state[kept]
    assert not app.exception


def lab(colour: str) -> np.ndarray:
    """A colour by CIELAB, in which distances are about as large as they look."""
    rgb = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / [0.95047, 1.0, 1.08883]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_colours_of_models_are_told_apart_in_the_dark_as_well():
    colours = [style.BLUE, style.VERMILION, style.GREEN, style.ORANGE, style.PURPLE, style.SKY, BROWN, style.INK]
    for shown in (colours, darken({"range": colours})["range"]):
        pairs = combinations(map(lab, shown), 2)
        assert min(float(np.linalg.norm(one - other)) for one, other in pairs) > 20


def test_dark_charts_keep_names_that_look_like_colours():
    spec = {
        "background": "white",
        "config": {"axis": {"labelColor": "#222222"}},
        "encoding": {"color": {"scale": {"domain": ["white"], "range": ["#0072B2"]}}},
        "datasets": {"a": [{"name": "white"}]},
    }
    dark = darken(spec)
    assert dark["background"] != "white"
    assert dark["config"]["axis"]["labelColor"] != "#222222"
    assert dark["encoding"]["color"]["scale"]["domain"] == ["white"]
    assert dark["encoding"]["color"]["scale"]["range"] != ["#0072B2"]
    assert dark["datasets"] == spec["datasets"]


def test_a_stored_audit_opens_with_its_own_weight_and_temperature(logits_file, tmp_path):
    samples = gfscore.read_samples(logits_file)
    audit = gfscore.audit_models({"net": samples}, gfscore.Options(fairness_weight=1.23, temperature=3))
    audit.save(tmp_path / "audit.json")
    for others in ([], [logits_file]):
        app = opened(tmp_path, *others)
        assert cards(app) == expected_cards(audit.model)
    app.selectbox[0].select_index(1).run()  # of logits: as an audit gives it when nothing is said
    assert cards(app) == expected_cards(gfscore.audit_models({"net": samples}).model)
    slider(app, "Fairness weight λ").set_value(2.0).run()
    app.selectbox[0].select_index(0).run()
    wanted = gfscore.Options(fairness_weight=2, temperature=3)
    assert cards(app) == expected_cards(gfscore.audit_models({"net": samples}, wanted).model)


def test_stored_audits_are_compared_by_their_intervals_while_they_have_any(tmp_path):
    gfscore.audit_models({name: samples_of(seed=seed) for seed, name in enumerate(["one", "two"])}).save(
        tmp_path / "audit.json"
    )
    app = opened(tmp_path)
    app.session_state["tab"] = "Compare models"
    app.run()
    assert any("not compared sample by sample" in text.value for text in app.text)
    slider(app, "Temperature T").set_value(T).run()
    table = app.dataframe[1].value
    assert list(table["verdict"]) == ["unclear"] * 4
    assert table["lower"].isna().all()
    assert "failed inside" not in sentences(app)


def test_an_audit_without_curves_stays_at_its_temperature(logits_file, tmp_path):
    audit = gfscore.audit_models({"net": gfscore.read_samples(logits_file)})
    bare = audit.model_copy(update={"models": (audit.model.model_copy(update={"curves": None}),)})
    bare.save(tmp_path / "audit.json")
    app = opened(tmp_path / "audit.json", logits_file)
    assert app.selectbox[0].options[0] == f"net ({tmp_path / 'audit.json'})"
    app.selectbox[0].select_index(0).run()
    slider(app, "Temperature T").set_value(T).run()
    slider(app, "Error level δ").set_value(0.2).run()
    assert cards(app) == expected_cards(audit.model)
    assert "The temperature does not apply: this result holds the scores by temperature of 0 of 4" in sentences(app)
    assert "Delta does not apply: these intervals are for 0.05" in sentences(app)


def test_broken_files_are_sentences_and_the_others_are_shown(logits_file, tmp_path):
    audit = json.loads(gfscore.audit_models({"old": gfscore.read_samples(logits_file)}).to_json())
    (tmp_path / "audit.json").write_text(json.dumps(audit | {"schema": "gfscore.audit/2"}))
    (tmp_path / "cut.npz").write_bytes(logits_file.read_bytes()[:300])
    (tmp_path / "empty").mkdir()
    app = opened(tmp_path / "audit.json", tmp_path / "cut.npz", tmp_path / "empty", logits_file)
    said = sentences(app)
    assert (
        "audit.json: has schema 'gfscore.audit/2'; this version reads 'gfscore.audit/1'. Run the audit again." in said
    )
    assert "cut.npz: is not an npz archive, or is cut short." in said
    assert "empty: holds no audit.json." in said
    assert app.selectbox[0].options == ["net"]
    assert not app.exception
    assert "Nothing is open." in sentences(opened(tmp_path / "empty"))


def test_uploads_are_opened_and_broken_ones_are_sentences(logits_file):
    app = opened(logits_file)
    good = ("mine.npz", npz(samples_of(seed=5)), "application/zip")
    broken = ("torn.npz", npz(samples_of())[:200], "application/zip")
    app.file_uploader[0].set_value([good, broken]).run()
    assert app.selectbox[0].options == ["mine", "net"]
    assert app.selectbox[0].format_func(app.selectbox[0].value) == "mine"
    wanted = gfscore.audit_models({"mine": samples_of(seed=5)}).model
    assert cards(app) == expected_cards(wanted)
    assert "torn.npz: is not an npz archive, or is cut short. Save it again with numpy.savez." in sentences(app)
    assert not app.exception


def test_a_pickle_is_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    buffer = io.BytesIO()
    np.savez(buffer, logits=np.array([[Bomb()]], dtype=object), labels=[0])
    with pytest.raises(FileError, match=r"^x\.npz: array 'logits' holds Python objects, which only pickle can load"):
        uploaded_subjects("x.npz", buffer.getvalue(), "k")
    with pytest.raises(FileError, match=r"x\.pkl: has the ending '\.pkl'"):
        uploaded_subjects("x.pkl", b"", "k")
    assert not (tmp_path / "ran").exists()


def test_what_should_not_happen_is_a_sentence_too(logits_file, monkeypatch):
    def fails(*_arguments):
        raise RuntimeError("lost *it*")

    monkeypatch.setattr("gfscore.dashboard.page.audit_at", fails)
    app = opened(logits_file)
    assert "failed inside (RuntimeError: lost *it*). The log has the traceback: report it." in sentences(app)
    assert not app.exception


def test_models_of_one_name_are_told_apart(logits_file, tmp_path):
    audit = gfscore.audit_models({"net": gfscore.read_samples(logits_file)})
    for folder in "abc":
        audit.save(tmp_path / folder / "audit.json")
    subjects, broken = file_subjects([str(tmp_path), str(tmp_path / "a")])
    names = [subject.name for subject in tell_apart(subjects)]
    assert len(set(names)) == len(names) == 3  # a file that is named twice is opened once
    assert broken == []


def test_uploads_of_a_name_that_is_open_stay_beside_it(logits_file):
    app = opened(logits_file)
    found = {seed: samples_of(seed=seed) for seed in (5, 6)}
    app.file_uploader[0].set_value([("net.npz", npz(samples), "application/zip") for samples in found.values()]).run()
    box = app.selectbox[0]
    assert box.options == ["net (net.npz) 3", "net (net.npz) 2", "net (net.npz)"]
    shown = {}
    for position, name in enumerate(box.options):
        app.selectbox[0].select_index(position).run()
        assert any(text.value.startswith(f"{name}: ") for text in app.text)
        shown[name] = cards(app)
    models = gfscore.audit_models({"1": gfscore.read_samples(logits_file), "2": found[5], "3": found[6]}).models
    assert list(shown.values()) == [expected_cards(model) for model in reversed(models)]


def test_a_number_that_is_taken_is_not_given_again():
    sample = Subject(name="a", key="k", source="s")
    names = ["a", "a", "a (s) 2"]
    assert [each.name for each in tell_apart([replace(sample, name=name) for name in names])] == [
        "a (s)",
        "a (s) 2",
        "a (s) 2 2",
    ]


@pytest.mark.parametrize(
    "suffix", [".svg", *(pytest.param(s, marks=pytest.mark.long) for s in (".png", ".pdf", ".html"))]
)
def test_the_archive_holds_every_figure(suffix):
    audit = gfscore.audit_models({name: samples_of(seed=seed) for seed, name in enumerate(["a/b", "a b"])})
    with zipfile.ZipFile(io.BytesIO(zip_figures(audit, suffix))) as archive:
        names = archive.namelist()
    assert {f"forest-a-b{suffix}", f"forest-a-b-2{suffix}", f"heatmap{suffix}", f"noise{suffix}"} <= set(names)


def test_markdown_shows_text_as_it_is():
    assert plain_text("a *b* <c> $d$ #e") == r"a \*b\* \<c\> \$d\$ \#e"
    for sign in (":smile:", ":red[x]", "https://x.example", "www.x.example", "a@x.example"):
        assert JOINER in plain_text(sign)
    assert JOINER not in plain_text("score: 0.5")
    assert "\n" not in plain_text("a\nb")


def test_the_server_is_told_to_stay_at_home(monkeypatch, tmp_path):
    from streamlit.web import cli

    seen = []
    monkeypatch.setattr(cli, "main", lambda arguments, **_options: seen.extend(arguments))
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port = trial.getsockname()[1]
    assert run(["dashboard", str(tmp_path), "--port", str(port), "--upload-limit", "7"]) == 0
    for flag in (
        "--server.address=127.0.0.1",
        f"--server.port={port}",
        "--server.headless=true",
        "--server.maxUploadSize=7",
        "--browser.gatherUsageStats=false",
        "--client.showErrorDetails=none",
        "--server.enableXsrfProtection=true",
        "--server.enableCORS=true",
        f"--server.corsAllowedOrigins=http://127.0.0.1:{port}",
        "--server.allowedHosts=127.0.0.1",
        "--server.enableStaticServing=false",
        "--theme.dark.font=sans-serif",
    ):
        assert flag in seen
    assert serving.arguments_of(seen[-1:]) == ([str(tmp_path)], None)


def test_the_command_refuses_what_cannot_work(capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run(["dashboard", "--port", str(port)]) == 2
    said = capsys.readouterr()
    assert f"cannot listen at 127.0.0.1, port {port}" in said.err
    assert said.err.endswith("Choose another with --port.\n")
    assert said.out == ""  # no address that nothing answers at
    assert run(["dashboard", str(tmp_path / "none.json")]) == 2
    assert "none.json: does not exist." in capsys.readouterr().err


@pytest.mark.parametrize("host", ["no-such-host.invalid", "192.0.2.1", "a..b"])  # unknown, another's, no name
def test_a_host_that_is_not_this_machine_is_refused(capsys, host):
    assert run(["dashboard", "--host", host]) == 2
    said = capsys.readouterr()
    assert f"cannot listen at {host}, port 8501 (" in said.err
    assert said.err.endswith("Choose another with --host.\n")
    assert said.out == ""


def test_a_missing_extra_is_named(tmp_path):
    code = "import sys; sys.modules['streamlit'] = None; from gfscore.cli.main import main; main(['dashboard'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "gfscore: the dashboard needs streamlit, which is not installed. Run: pip install 'gfscore[dashboard]'\n"
    )
