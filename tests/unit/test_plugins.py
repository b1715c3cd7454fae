"""A metric and a score from outside the package: ten lines each, and they are everywhere; no file lists metrics."""

import ast
import json
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore import plugins, score_titles, views
from gfscore.assemble import at_temperature
from gfscore.cli.main import run
from gfscore.errors import OptionError, PluginError, ResultError
from gfscore.integrations.sklearn_scorer import RobustnessScorer
from gfscore.metrics import BUILT_IN, METRICS, ModelMetric, Unit, register
from gfscore.outputs import report
from gfscore.outputs.figures import disparity_bars
from gfscore.outputs.tables import Layout, TableFormat, render_table
from gfscore.results import Audit
from gfscore.scores import REGISTERED, LocalScores, ScoreTitle, register_score

SOURCE = Path(gfscore.__file__).parent


def add_median():
    """What a stranger writes for a metric."""
    register(
        ModelMetric(
            key="median",
            title="Median",
            note="half of the {n} {parts} score more",
            value=lambda classes: float(np.median(classes.scores)),
            monotone=True,
        )
    )


def add_confidence():
    """What a stranger writes for a score: how far the true class is above even odds, 0 where the decision is wrong."""
    title = ScoreTitle(name="above-even", title="confidence above even", meaning="how sure it is", maximum=0.5)

    def compute(samples):
        odds = np.exp(samples.logits - samples.logits.max(axis=1, keepdims=True))
        own = (odds / odds.sum(axis=1, keepdims=True))[np.arange(samples.n_samples), samples.labels]
        predicted, values = samples.logits.argmax(axis=1), np.clip(own - 0.5, 0.0, 0.5)
        return LocalScores(name="above-even", values=values, maximum=0.5, predicted=predicted, premise="None.")

    register_score(title, compute)


@pytest.fixture(autouse=True)
def tables(monkeypatch):
    """No plug-in is installed, and the tables are afterwards what they were."""
    kept = [(table, dict(table)) for table in (METRICS, score_titles.SCORES, REGISTERED)]
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    plugins.load_plugins.cache_clear()
    yield
    plugins.load_plugins.cache_clear()
    for table, known in kept:
        table.clear()
        table.update(known)


@pytest.fixture
def logits(tmp_path, monkeypatch):
    """A file of 600 samples whose three classes are not alike."""
    monkeypatch.chdir(tmp_path)
    labels = np.arange(600) % 3
    gains = np.array([1.0, 2.0, 4.0])[labels][:, None]
    values = np.random.default_rng(0).normal(0, 1, (600, 3)) + gains * np.eye(3)[labels]
    np.savez("m.npz", logits=values, labels=labels, class_names=["cat", "dog", "owl"])
    np.savez("n.npz", logits=values[::-1], labels=labels[::-1], class_names=["cat", "dog", "owl"])
    return values, labels


def middle(model):
    """The median of three by sorting, and of both ends of their intervals."""
    ends = [sorted(entry.interval[side] for entry in model.classes)[1] for side in (0, 1)]
    return sorted(entry.score for entry in model.classes)[1], tuple(ends)


class TestMetric:
    def test_its_value_and_interval_are_in_the_result_and_its_file(self, logits):
        add_median()
        audit = gfscore.audit(*logits)
        value, interval = middle(audit.model)
        assert audit.model.metric("median").value == pytest.approx(value)
        assert audit.model.metric("median").interval == pytest.approx(interval)
        again = Audit.from_json(audit.to_json()).model
        assert again.metric("median") == audit.model.metrics["median"]
        assert len(again.curves.metrics["median"]) == len(again.curves.temperature)
        elsewhere = at_temperature(again, again.curves.temperature[3])
        assert elsewhere.metric("median").value == pytest.approx(again.curves.metrics["median"][3], abs=1e-6)

    def test_everything_that_shows_metrics_shows_it(self, logits, capsys):
        add_median()
        assert run(["audit", "m.npz", "--out", "a"]) == 0
        model = Audit.load("a/audit.json").model
        shown = views.metric_text(model, "median")
        assert "half of the 3 classes score more" in capsys.readouterr().out
        audit = Audit.load("a/audit.json")
        both = audit.model_copy(update={"models": (model, model.model_copy(update={"name": "other"}))})
        for text in (repr(audit), report.html(audit), report.html(both), report.markdown(audit)):
            assert "Median" in text
            assert shown in text.replace("\\[", "[").replace("<span class=u>", "")
        assert "gfscore_median" in report.model_card(audit)
        for form in TableFormat:
            assert "Median" in render_table(audit, layout=Layout.MODELS, form=form)
        titles = [panel["title"] for panel in disparity_bars(both).to_dict()["hconcat"]]
        assert titles == ["GREAT score", "WCR", "RDI", "NRGC", "FP-GREAT", "Median"]
        assert "Median" in _shown(["audit", "m.npz", "n.npz"], capsys)

    def test_it_is_a_rule_of_a_gate_and_part_of_a_comparison(self, logits, capsys):
        add_median()
        assert run(["gate", "m.npz", "--rule", "median=0.2", "--json"]) == 0
        (rule,) = json.loads(capsys.readouterr().out)["models"][0]["rules"]
        assert (rule["rule"], rule["verdict"]) == ("Median ≥ 0.2", "PASS")
        Path("policy.toml").write_text("[rules]\nmedian = 1.2\n[change]\nmedian = -0.6\n")
        assert run(["gate", "m.npz", "--baseline", "m.npz", "--policy", "policy.toml", "--json"]) == 1
        assert [rule["verdict"] for rule in json.loads(capsys.readouterr().out)["models"][0]["rules"]] == [
            "FAIL",
            "PASS",
        ]
        assert run(["gate", "m.npz", "--rule", "median=2"]) == 2
        assert "the threshold of Median is 2, off its scale, which goes from 0 to 1.253" in capsys.readouterr().err
        assert "Median" in _shown(["compare", "m.npz", "n.npz"], capsys)

    def test_without_an_interval_a_rule_on_it_is_undecided(self, logits, capsys):
        def spread(classes):
            return float(classes.scores.std())

        register(ModelMetric(key="spread", title="Spread", note="std", value=spread, higher_is_better=False))
        assert run(["gate", "m.npz", "--rule", "spread=0.5"]) == 3
        assert "Spread has no interval here" in capsys.readouterr().out

    def test_a_scorer_takes_it(self):
        add_median()
        assert RobustnessScorer(metric="median").metric == "median"
        with pytest.raises(OptionError, match="metric 'mode' is not known"):
            RobustnessScorer(metric="mode")

    def test_a_file_with_one_that_is_not_installed_is_still_shown(self, logits):
        add_median()
        text = gfscore.audit(*logits).to_json().replace('"median"', '"{worst}"')
        METRICS.pop("median")
        audit = Audit.from_json(text)
        assert "{worst}" in repr(audit)
        assert "of a plug-in that is not installed here" in report.html(audit)
        assert "{worst}" in render_table(audit, layout=Layout.MODELS, form=TableFormat.CSV)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"key": "wcr"}, "there is a metric 'wcr' already"),
            ({"key": "accuracy"}, "there is a metric 'accuracy' already"),
            ({"key": "a b"}, "'a b' cannot be the key of a metric"),
            ({"title": "RDI"}, "there is a metric with the title 'RDI' already"),
            ({"note": "of {x}"}, "the text 'of {x}' of the metric 'mine' cannot be filled"),
            ({"value": None}, "the metric 'mine' needs one formula"),
            ({"values_of": lambda _: np.zeros(1)}, "the metric 'mine' needs one formula"),
        ],
    )
    def test_what_cannot_be_registered(self, changed, message):
        row = {"key": "mine", "title": "Mine", "note": "of mine", "value": lambda _: 0.0} | changed
        with pytest.raises(OptionError, match=message):
            register(ModelMetric(**row))

    def test_all_temperatures_at_once_are_the_same_as_one_after_the_other(self, logits):
        register(ModelMetric(key="one", title="One", note="by one", value=lambda c: float(np.median(c.scores))))
        register(ModelMetric(key="all", title="All", note="at once", values_of=lambda c: np.median(c.scores, axis=1)))
        model = gfscore.audit(*logits).model
        assert model.metric("one").value == model.metric("all").value
        assert model.curves.metrics["one"] == model.curves.metrics["all"]
        assert len(set(model.curves.metrics["all"])) > 50

    def test_a_number_that_is_none_is_left_out_of_a_curve(self, logits):
        register(ModelMetric(key="none", title="None", note="NaN", values_of=lambda c: np.full(len(c.scores), np.nan)))
        assert set(gfscore.audit(*logits).model.curves.metrics["none"]) == {None}

    def test_a_number_that_nobody_knows_is_refused(self, logits):
        with pytest.raises(ResultError, match="there is no metric 'mode'"):
            gfscore.audit(*logits).model.metric("mode")


class TestScore:
    def test_it_is_audited_by_name(self, logits):
        add_confidence()
        audit = gfscore.audit(*logits, score="above-even")
        odds = [np.exp(row) / np.exp(row).sum() for row in logits[0]]
        values = np.array([max(0.0, row[label] - 0.5) for row, label in zip(odds, logits[1], strict=True)])
        assert audit.model.score.name == "above-even"
        assert audit.model.score.range == (0.0, 0.5)
        assert [entry.score for entry in audit.classes] == pytest.approx(
            [values[logits[1] == k].mean() for k in range(3)]
        )
        assert audit.model.curves is None  # it has no temperature

    def test_commands_know_it_and_call_it_by_its_title(self, logits, capsys):
        add_confidence()
        for command in (["audit", "m.npz"], ["gate", "m.npz", "--wcr", "0.01", "--rule", "aggregate=0.01"]):
            assert "onfidence above even" in _shown([*command, "--score", "above-even"], capsys)
        assert run(["audit", "m.npz", "--score", "above-even", "-q", "--out", "a"]) == 0
        audit = Audit.load("a/audit.json")
        assert "mean confidence above even of its samples. The number of one sample: how sure it is" in (
            report.markdown(audit)
        )
        assert "confidence above even" in render_table(audit, layout=Layout.MODELS, form=TableFormat.LATEX)
        audit.save("b/audit.json")
        compared = _shown(["compare", "a/audit.json", "b/audit.json"], capsys)
        assert compared.count("confidence above even") == 2  # in the headline and among the metrics

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--temperature", "2"], "--temperature is about the GREAT score, and the confidence above even has none."),
            (["--calibrate", "classes"], "--calibrate finds a temperature, which the confidence above even does not"),
            (
                ["--norm", "l2"],
                "--norm is about first-order radii, which take the model itself. Say --model and --data.",
            ),
            (["--stream"], "--score above-even needs the samples, and a stream keeps only their sums."),
        ],
    )
    def test_what_it_has_not_is_refused(self, logits, capsys, options, message):
        add_confidence()
        assert run(["audit", "m.npz", "--score", "above-even", *options]) == 2
        assert message in capsys.readouterr().err

    def test_radii_are_no_scores_of_logits(self, logits):
        with pytest.raises(OptionError, match="holds logits, and a radius takes the model itself"):
            gfscore.audit(*logits, score="first-order", norm="l2")

    def test_values_out_of_the_range_are_refused(self, logits):
        register_score(
            ScoreTitle(name="wide", title="wide", maximum=1.0),
            lambda samples: LocalScores(
                name="wide",
                values=np.full(samples.n_samples, 1.5),
                maximum=1.0,
                predicted=samples.logits.argmax(axis=1),
                premise="None.",
            ),
        )
        with pytest.raises(OptionError, match="or some outside 0 to 1"):
            gfscore.audit(*logits, score="wide")


class TestPlugIns:
    def test_an_installed_package_registers_when_something_unknown_is_asked_for(self, logits, monkeypatch, capsys):
        loaded = []

        def entries(group):
            loaded.append(group)
            return [EntryPoint(name="median", value="test_plugins:add_median", group=group)]

        monkeypatch.setattr(EntryPoint, "load", lambda _: add_median)
        monkeypatch.setattr(metadata, "entry_points", entries)
        assert run(["gate", "m.npz", "--rule", "median=0.2", "-q"]) == 0
        assert loaded == ["gfscore.plugins"]  # once
        assert "median" in gfscore.audit(*logits).model.metrics

    def test_a_broken_one_is_named(self, logits, monkeypatch):
        entry = EntryPoint(name="median", value="no_such_package", group=plugins.GROUP)
        monkeypatch.setattr(metadata, "entry_points", lambda **_: [entry])
        with pytest.raises(PluginError, match=r"the plug-in 'median' \(no_such_package\) cannot be loaded \(No module"):
            gfscore.audit(*logits)


# Where metrics are listed by name: the table itself, the public names of the formulas, and what the paper calls them.
LISTS = {"metrics/__init__.py", "__init__.py", "paper/published_numbers.py", "paper/recomputed.py"}


def test_no_file_lists_metrics_beside_the_table():
    names = {*BUILT_IN, *(METRICS[key].title for key in BUILT_IN)}
    found = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.stmt) and not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.If | ast.For):
                texts = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)} & names
                if len(texts) > 3:
                    found.setdefault(path.relative_to(SOURCE).as_posix(), texts)
    assert set(found) <= LISTS, found
    assert "metrics/__init__.py" in found, "the walk sees what it looks for"


def test_units_and_directions_are_those_of_the_definitions():
    """Written once more by hand: a slip in the table would be everywhere."""
    assert {key for key, row in METRICS.items() if not row.higher_is_better} == {"rdi", "nrgc", "theil", "atkinson"}
    assert {key for key, row in METRICS.items() if row.unit is Unit.INDEX} == {"nrgc", "theil", "atkinson"}
    assert {key for key, row in METRICS.items() if row.monotone} == {"aggregate", "class_mean", "wcr"}


def _shown(command, capsys):
    capsys.readouterr()
    run(command)
    return " ".join(capsys.readouterr().out.split())


def _dashboard(paths):
    from gfscore.dashboard.page import show

    show(paths)


def test_the_dashboard_offers_the_score_and_has_a_card_of_the_metric(logits):
    testing = pytest.importorskip("streamlit.testing.v1")
    add_median()
    add_confidence()
    path = str(Path("m.npz").resolve())
    app = testing.AppTest.from_function(_dashboard, kwargs={"paths": [path]}, default_timeout=60).run()
    names = ["cat", "dog", "owl"]
    for score, title in (("great", "GREAT score"), ("above-even", "Confidence above even")):
        app.selectbox(key="score").set_value(score).run()
        assert not app.exception
        cards = {card.label.replace("\\", ""): card.value for card in app.metric}
        model = gfscore.audit(*logits, score=score, class_names=names).model
        assert cards[title] == views.metric_text(model, "aggregate", interval=False)
        assert cards["Median"] == views.metric_text(model, "median", interval=False)
