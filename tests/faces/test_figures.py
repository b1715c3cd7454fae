"""Every figure for the zoo, the paper's 17 models and its 1,000 classes; and what poor or hostile results do."""

import io
import json
import re
import subprocess
import sys
from itertools import pairwise

import altair as alt
import numpy as np
import pytest
from made_results import complete, made_up_robustness, with_temperatures
from PIL import Image

from gfscore import Samples, audit_models
from gfscore.cli.main import run
from gfscore.cli.output_commands import FigureFormat
from gfscore.errors import OptionError, ResultError
from gfscore.jobs.plan import audit_radii
from gfscore.outputs.figures import (
    FIGURES,
    SUFFIXES,
    attack_agreement,
    class_heatmap,
    class_picker,
    disparity_bars,
    forest,
    html_page,
    noise_floor,
    radar,
    reranking,
    robust_curves,
    robust_models,
    robustness_disparity,
    save,
    side_by_side,
)
from gfscore.outputs.figures.attack_agreement import NAMED
from gfscore.outputs.figures.model_ranks import Box, place_labels
from gfscore.outputs.figures.style import TEXT_SIZE, width_of
from gfscore.results import (
    AttackedPart,
    Audit,
    FewAttacks,
    ModelAudit,
)
from gfscore.temperature.curve import ALL_CLASSES, LOWEST_CLASSES

METRICS = ("rdi", "nrgc", "wcr", "fp_great", "theil", "atkinson")
HOSTILE = ["</script><script>alert(1)</script>", "datum.score", "' + alert(1) + '", "<b>&amp;</b>", "{{x}}", "a\nb"]


def drawn(name: str, audit: Audit):
    figure = FIGURES[name]
    subject = audit.models[0] if figure.per_model else audit
    numbers = {"radii": audit_radii(audit), "calibration": audit.calibration}
    return figure.draw(subject, **({figure.takes: numbers[figure.takes]} if figure.takes else {}))


def notes(chart) -> str:
    """The lines below the title, as one."""
    return " ".join(chart.to_dict()["title"]["subtitle"])


def written(chart, path) -> bytes:
    save(chart, path, scale=1)
    return path.read_bytes()


CASES = [
    (name, result)
    for name in FIGURES
    for result in ("zoo", "cifar10", "imagenet")
    if (name, result) not in {("noise", "cifar10"), ("noise", "imagenet")}  # the samples were not published
]


@pytest.mark.parametrize(("name", "result"), CASES)
def test_every_figure_can_be_seen_and_names_what_it_shows(name, result, results, tmp_path):
    audit = complete(results[result])
    chart = drawn(name, audit)
    picture = Image.open(io.BytesIO(written(chart, tmp_path / "figure.png"))).convert("L")
    assert 350 < picture.width < 1400
    assert 200 < picture.height < 1500
    inked = np.mean(np.asarray(picture) < 200)
    assert 0.005 < inked < 0.9
    text = written(chart, tmp_path / "figure.svg").decode()
    counts = {f"{len(audit.models[0].classes):,} classes", "samples", "n = "}
    assert all(count in text for count in counts)
    for part in expected_names(name, audit):
        assert f">{part}" in text, part


def expected_names(name: str, audit: Audit) -> list[str]:
    first = audit.models[0]
    highest, lowest = first.rdi.classes
    top = max(audit.models, key=lambda model: model.aggregate)
    if name == "forest":
        return [highest[:12], lowest[:12]]
    if name in ("heatmap", "radar"):
        shown = {"heatmap": audit.models, "radar": first_middle_last(audit)}[name]
        ordered = by_mean(shown)
        ends = {"heatmap": 10, "radar": 6}[name]
        return [part[:12] for part in (ordered if len(ordered) <= 2 * ends else ordered[:ends] + ordered[-ends:])]
    if name == "vulnerability":
        return [part[:12] for model in audit.models for part in model.rdi.classes]
    if name == "temperature" and len(first.classes) > ALL_CLASSES:
        return [f"lowest: {lowest}"[:20], f"Scores of the {LOWEST_CLASSES} lowest classes, by temperature<"]
    if name == "temperature":
        return [f"lowest: {lowest}"[:20], f"highest: {highest}"[:20]]
    if name == "robustness":
        return [f"worst: {first.robustness.headline.worst}"[:18], "all samples"]
    if name == "robustness-models":
        return [f"{model.name}: "[:20] for model in audit.models if model.robustness is not None]
    if name == "attacked":
        return [highest[:12], lowest[:12]] if len(first.classes) <= NAMED else []
    if name in ("disparity", "robustness-rdi", "reranking", "noise"):
        return [top.name]
    return []


def first_middle_last(audit: Audit) -> list[ModelAudit]:
    ordered = sorted(audit.models, key=lambda model: -model.aggregate)
    return [ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]]


def by_mean(models) -> list[str]:
    """Class names from the lowest mean over the models up."""
    means = np.mean([[entry.score for entry in model.classes] for model in models], axis=0)
    return [models[0].classes[place].name for place in np.argsort(means, kind="stable")]


def test_curves_of_the_lowest_classes_show_no_highest(results, tmp_path):
    """An audit of many classes keeps only the lowest curves: the last of them is far from the highest class."""
    chart = drawn("temperature", with_temperatures(results["imagenet"]))
    assert "Shown are the 20 lowest of 1,000 classes in the audit; by name: the lowest." in notes(chart)
    text = written(chart, tmp_path / "figure.svg").decode()
    assert "lowest: " in text
    assert "highest" not in text


def test_the_zoo_shows_its_own_curves(zoo):
    assert with_temperatures(zoo) == zoo
    assert zoo.calibration is not None


SHOW_SCORES = {  # of the models, one beside the other
    "heatmap": class_heatmap,
    "disparity": disparity_bars,
    "robustness-rdi": robustness_disparity,
    "reranking": reranking,
    "radar": radar,
    "side by side": lambda audit: side_by_side(audit.models, 0.5),
}


@pytest.mark.parametrize("draw", SHOW_SCORES.values(), ids=SHOW_SCORES)
def test_scores_side_by_side_order_no_models(draw, results):
    zoo = results["zoo"]
    shown = notes(draw(zoo))
    assert shown.count("higher score does not make a model more robust than one that was trained differently") == 1
    radius = {"score": zoo.models[0].score.model_copy(update={"name": "first-order"})}
    others = zoo.model_copy(update={"models": tuple(model.model_copy(update=radius) for model in zoo.models)})
    assert "trained differently" not in notes(draw(others))


def test_one_model_is_not_warned_of_others(results):
    for draw in (class_heatmap, disparity_bars, radar):
        assert "trained differently" not in notes(draw(results["zoo"].models[0]))


@pytest.mark.parametrize("name", FIGURES)
def test_no_figure_takes_a_score_for_protection(name, results):
    text = drawn(name, complete(results["zoo"])).to_json().lower()
    assert not re.search(r"how robust|well protected|best protected|is better", text)


@pytest.mark.parametrize("name", FIGURES)
def test_pages_work_offline(name, results, tmp_path):
    audit = complete(results["zoo"])
    page = written(drawn(name, audit), tmp_path / "figure.html").decode()
    assert not re.search(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "default-src 'none'" in page  # so that the browser refuses what the library might ask for
    assert "editor: false" in page


def test_a_page_opens_in_a_browser(page, artefact, results, tmp_path):
    """Without a complaint or a request, which the fixture looks for, and with tooltips."""
    path = tmp_path / "figure.html"
    save(drawn("heatmap", results["zoo"]), path)
    page.goto(path.as_uri())
    first = max(results["zoo"].models, key=lambda model: model.aggregate)
    page.locator("#chart svg").get_by_text(first.name).wait_for()
    page.locator("#chart text[aria-roledescription='text mark']").first.hover()  # the number in the first cell
    page.locator("#vg-tooltip-element").get_by_text(first.name).wait_for()
    page.screenshot(path=artefact("page.png"))


def test_pdf_and_page_come_from_the_same_chart(results, tmp_path):
    chart = drawn("heatmap", results["cifar10"])
    assert written(chart, tmp_path / "a.pdf").startswith(b"%PDF")
    assert json.loads(
        re.search(r'vegaEmbed\("#chart", (.*), {actions', written(chart, tmp_path / "a.html").decode())[1]
    )


@pytest.mark.parametrize("name", FIGURES)
def test_hostile_names_are_text(name, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(120) % len(HOSTILE)
    samples = {model: Samples.of(rng.normal(0, 2, (120, 6)), labels, class_names=HOSTILE) for model in HOSTILE[:3]}
    audit = complete(audit_models(samples))
    chart = drawn(name, audit)
    page = written(chart, tmp_path / "figure.html").decode()
    assert page.count("<script>") == page.count("</script>") == 2
    text = written(chart, tmp_path / "figure.svg").decode()
    assert "<script" not in text
    assert "NaN" not in text
    for name in HOSTILE[:3]:  # no name became part of an expression or of a field's name
        assert not any(name in expression for expression in expressions(chart.to_dict()))


def expressions(part):
    """Everything in a chart that Vega evaluates or takes for a field."""
    if isinstance(part, dict):
        for key, value in part.items():
            if key in ("expr", "test", "calculate", "filter", "signal", "field") and isinstance(value, str):
                yield value
            elif key != "datasets":
                yield from expressions(value)
    elif isinstance(part, list):
        for value in part:
            yield from expressions(value)


def test_results_without_what_a_figure_needs_say_so(results):
    bare = results["zoo"].models[0].model_copy(update={"curves": None})
    one = Audit(models=[bare], provenance=results["zoo"].provenance)
    for name, message in {
        "robustness-rdi": "the plot of score by RDI compares at least 2 models; this result holds 1. Audit several.",
        "reranking": "the re-ranking compares at least 2 models; this result holds 1. Audit several.",
        "vulnerability": "the count of worst classes compares at least 2 models; this result holds 1. Audit several.",
        "calibration": "this result has no calibration curve. Calibrate first: gfscore audit --calibrate OBJECTIVE.",
        "temperature": "there are no scores by temperature in this result. Run gfscore audit on the logits.",
        "robustness-models": "this figure compares robust accuracies of at least 2 models; this result has 1. "
        "Audit several with --model.",
        "attacked": "this figure sets what radii predict against an attack, and this result lacks one of them. "
        "Run gfscore check --autoattack --budget N.",
    }.items():
        with pytest.raises(ResultError) as caught:
            drawn(name, one)
        assert str(caught.value) == message
    with pytest.raises(ResultError) as caught:
        drawn("noise", results["cifar10"])
    assert str(caught.value) == (
        "this result has no noise floor to draw. Run gfscore audit on the logits, which computes it."
    )


class TestAttackAgreement:
    """What radii predict against what an attack left: the points are the result's."""

    def points(self, chart) -> list[tuple]:
        spec = chart.to_dict()
        (layer,) = (each for each in spec["layer"] if each["mark"]["type"] == "point")
        rows = spec["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
        return [tuple(row[key] for key in ("name", "predicted", "attacked", "low", "high")) for row in rows]

    def test_points_are_shares_of_the_result_at_the_eps_of_the_attack(self):
        model = complete(few_samples(["m"])).model
        predicted = [part.value for part in model.robustness.at(model.cross_check.eps).classes]
        assert self.points(attack_agreement(model)) == [
            (entry.name, share, entry.attacked.value, *entry.attacked.interval)
            for entry, share in zip(model.classes, predicted, strict=True)
        ]
        assert "Lines: intervals of what the attack leaves; all hold together with probability 0.95." in notes(
            attack_agreement(model)
        )

    def test_of_few_attacks_both_shares_stand_there(self):
        model = complete(few_samples(["m"])).model
        parts = tuple(
            AttackedPart(
                name=entry.name, n=5, right=4, attacked=2, mistaken=1, value=0.3, interval=(0.1, 0.6), predicted=p
            )
            for entry, p in zip(model.classes, (0.2, 0.4, 0.8), strict=True)
        )
        few = FewAttacks.model_construct(classes=parts)
        spared = model.model_copy(update={"cross_check": model.cross_check.model_copy(update={"few": few})})
        assert self.points(attack_agreement(spared)) == [
            (entry.name, p, 0.3, 0.1, 0.6) for entry, p in zip(model.classes, (0.2, 0.4, 0.8), strict=True)
        ]

    @pytest.mark.parametrize("change", [{"norm": "l2"}, {"eps": 3 / 255}])
    def test_radii_of_another_norm_or_eps_predict_nothing(self, change):
        model = complete(few_samples(["m"])).model
        other = model.model_copy(update={"cross_check": model.cross_check.model_copy(update=change)})
        with pytest.raises(ResultError, match="and this result lacks one of them"):
            attack_agreement(other)


class TestRobustCurves:
    """Robust accuracy over eps: what is drawn is what the result says."""

    def model(self, **made) -> ModelAudit:
        model = few_samples(["m"]).model
        return model.model_copy(update={"robustness": made_up_robustness(model, **made)})

    def rows(self, chart, kind: str) -> list[list[dict]]:
        """The rows of each layer with a mark of this kind."""
        spec = chart.to_dict()
        return [spec["datasets"][each["data"]["name"]] if "name" in each["data"] else each["data"]["values"]
                for each in spec["layer"] if each["mark"]["type"] == kind]  # fmt: skip

    def test_lines_go_through_the_shares_of_the_result(self):
        model = self.model()
        rungs = model.robustness.rungs
        drawn_lines = {rows[0]["name"]: rows for rows in self.rows(robust_curves(model), "line")}
        assert set(drawn_lines) == {"all samples", "worst: 2", "0", "1"}
        wanted = {"all samples": [rung.value for rung in rungs], "1": [rung.classes[1].value for rung in rungs]}
        for name, values in wanted.items():
            assert [row["value"] for row in drawn_lines[name]][1:] == values
            assert [row["eps"] for row in drawn_lines[name]] == [0, 0.5, 2, 8]
        assert drawn_lines["1"][0]["value"] == model.classes[1].accuracy

    def test_bands_are_the_intervals_of_the_whole_and_of_the_worst(self):
        model = self.model()
        whole, worst = self.rows(robust_curves(model), "area")
        assert [(row["low"], row["high"]) for row in whole] == [rung.interval for rung in model.robustness.rungs]
        assert [(row["low"], row["high"]) for row in worst] == [
            rung.classes[2].interval for rung in model.robustness.rungs
        ]

    def test_clean_accuracy_of_other_samples_is_not_joined_to_the_lines(self):
        chart = robust_curves(self.model(n=2))
        assert all(rows[0]["eps"] == 0.5 for rows in self.rows(chart, "line"))
        assert "Circles: clean accuracy, of all 15 samples." in notes(chart)

    def test_it_says_what_the_numbers_are(self):
        said = notes(robust_curves(self.model()))
        assert "By first-order radii by forward passes alone (15 samples, Linf). An estimate, no bound:" in said
        assert "Worst at 2/255 (dotted): 2 at 0.0 % [0.0 %, 50.0 %] robust accuracy; the intervals leave no" in said
        assert "all, at every eps, hold together with probability 0.95" in said

    def test_models_without_radii_are_counted_and_mixed_norms_refused(self):
        first, second, third = few_samples(["a", "b", "c"]).models
        audit = few_samples(["a"])
        both = [each.model_copy(update={"robustness": made_up_robustness(each)}) for each in (first, second)]
        shown = notes(robust_models(audit.model_copy(update={"models": (*both, third)})))
        assert "Without robust accuracy, and not shown: 1 model." in shown
        other = second.model_copy(update={"robustness": made_up_robustness(second, norm="l2")})
        with pytest.raises(ResultError, match="of different norms or kinds"):
            robust_models(audit.model_copy(update={"models": (both[0], other)}))

    def test_without_radii_there_is_a_sentence(self):
        with pytest.raises(ResultError, match="has no robust accuracy, which takes the model"):
            robust_curves(few_samples(["m"]))

    def test_names_at_the_ends_of_lines_are_apart_and_inside(self):
        chart = robust_curves(self.model()).to_dict()
        texts = [each for each in chart["layer"] if each["mark"]["type"] == "text" and "value" in each["encoding"]["x"]]
        places = sorted(each["encoding"]["y"]["value"] for each in texts)
        assert len(places) == 4
        assert all(after - before >= TEXT_SIZE for before, after in pairwise(places))
        assert 0 <= places[0] <= places[-1] <= chart["height"]


def test_a_forest_needs_intervals(results):
    model = results["cifar10"].models[0]
    bare = [entry.model_copy(update={"interval": None}) for entry in model.classes]
    with pytest.raises(ResultError, match="shows intervals, and this result has none"):
        forest(model.model_copy(update={"classes": tuple(bare)}))


def test_scores_of_nothing_but_zeros(tmp_path):
    audit = audit_models({"m": Samples.of([[0.0, 1, 2], [1, 0, 2], [1, 2, 0]], [0, 1, 2])})
    for name in ("lorenz", "radar"):
        with pytest.raises(ResultError, match="all class scores are 0"):
            drawn(name, audit)
    for name in ("forest", "heatmap", "disparity", "concentration"):
        assert written(drawn(name, audit), tmp_path / "figure.png")


def test_unknown_models_and_endings_are_refused(results, tmp_path):
    with pytest.raises(ResultError, match="holds no model 'x'"):
        radar(results["cifar10"], names=["x"])
    with pytest.raises(OptionError, match=r"cannot be written as 'figure.gif'. End its name in .png"):
        save(class_heatmap(results["cifar10"]), tmp_path / "figure.gif")
    assert {f".{form}" for form in FigureFormat} == set(SUFFIXES)


def few_samples(names, n: int = 5) -> Audit:
    """Models with ``n`` samples of each of three classes."""
    rng = np.random.default_rng(2)
    labels = np.arange(3 * n) % 3
    return audit_models(
        {name: Samples.of(2 * np.eye(3)[labels] + rng.normal(size=(3 * n, 3)), labels) for name in names}
    )


@pytest.mark.parametrize("n", [1, 5, 200_000])
def test_the_range_of_the_concentration_reaches_every_model(n):
    audit = few_samples(["m"])
    few = [entry.model_copy(update={"n": n}) for entry in audit.model.classes]
    sized = audit.model_copy(update={"models": (audit.model.model_copy(update={"classes": tuple(few)}),)})
    sizes = [size for size, _ in audit_radii(sized)["hoeffding"]]
    assert (sizes[0], sizes[-1]) == (min(10, n), max(100_000, n))
    points = drawn("concentration", sized).to_dict()["layer"][-1]
    low, high = points["encoding"]["x"]["scale"]["domain"]
    assert low <= n <= high


def test_one_model_is_spoken_of_as_one():
    one, two = notes(drawn("concentration", few_samples(["m"]))), notes(drawn("concentration", few_samples(["a", "b"])))
    assert re.search(r"Diamond: half of its betting interval.* Grey: the RDI of the model, \d\.\d{3}\. ", one)
    assert re.search(r"Diamonds: half of each model's betting .* Grey: the RDI of the models, \S+ to \S+\. ", two)


def without_intervals(model: ModelAudit) -> ModelAudit:
    bare = {name: getattr(model, name).model_copy(update={"interval": None}) for name in METRICS}
    classes = tuple(entry.model_copy(update={"interval": None}) for entry in model.classes)
    return model.model_copy(update=bare | {"classes": classes, "aggregate_interval": None, "class_mean_interval": None})


def test_intervals_are_named_only_where_they_are_drawn():
    audit = few_samples(["a", "b"])
    bare = audit.model_copy(update={"models": tuple(map(without_intervals, audit.models))})
    for draw, words in {
        robustness_disparity: "Grey lines are betting intervals",
        disparity_bars: "Lines are betting intervals",
        noise_floor: "Lines are betting intervals",
        reranking: "neighbouring places may differ by less than",
    }.items():
        assert words in notes(draw(audit))
        assert "intervals" not in notes(draw(bare))
    assert "There are no intervals here" in notes(side_by_side(bare.models, 0.5))


def test_intervals_of_all_models_are_described_not_those_of_the_first():
    first, second = few_samples(["a", "b"]).models
    other = second.model_copy(update={"interval": second.interval.model_copy(update={"method": "kl", "delta": 0.1})})
    mixed = few_samples(["a", "b"]).model_copy(update={"models": (first, other)})
    expected = "are KL or betting intervals: all of a model hold together with probability 0.9 or 0.95."
    for draw in (disparity_bars, robustness_disparity, noise_floor, lambda audit: side_by_side(audit.models, 0.5)):
        assert expected in notes(draw(mixed))
    assert "half of each model's KL or betting interval" in notes(drawn("concentration", mixed))
    partly = notes(side_by_side([without_intervals(first), other], 0.5))
    assert "Lines are KL intervals" in partly
    assert "nothing can be decided: 1 of 2 models." in partly


def test_places_are_headed_by_the_name_of_the_score(results, tmp_path):
    assert ">GREAT score<" in written(reranking(results["cifar10"]), tmp_path / "figure.svg").decode()


def test_the_count_of_worst_classes_says_how_many_are_left_out():
    rng, labels = np.random.default_rng(4), np.arange(200) % 50
    models = {f"m{i}": Samples.of(4 * np.eye(50)[labels] + rng.normal(size=(200, 50)), labels) for i in range(30)}
    audit = audit_models(models)
    extreme = {name for model in audit.models for name in model.rdi.classes}
    assert len(extreme) > 24
    expected = f"Of 50 classes, {len(extreme)} are the worst or the best of a model: shown are 24 of them."
    assert expected in notes(drawn("vulnerability", audit))
    few = audit.model_copy(update={"models": audit.models[:3]})
    extreme = {name for model in few.models for name in model.rdi.classes}
    assert f"Of 50 classes, {len(extreme)} are the worst or the best" in notes(drawn("vulnerability", few))
    assert "of a model: they are shown." in notes(drawn("vulnerability", few))


@pytest.mark.parametrize("result", ["cifar10", "imagenet"])
def test_a_single_model_is_not_compared(result, results):
    one = results[result].models[0]
    for draw in (class_heatmap, radar):
        assert " models" not in notes(draw(one)) + " ".join(draw(one).to_dict()["title"]["text"])
    assert "each model" not in class_heatmap(one).to_json()


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "calibration"])  # its objective is about classes
def test_groups_are_not_called_classes(name, tmp_path):
    models = few_samples(["a", "b"]).models
    grouped = [model.model_copy(update={"partition": "group"}) for model in models]
    audit = complete(few_samples(["a", "b"]).model_copy(update={"models": tuple(grouped)}))
    text = " ".join(re.findall(r">([^<]+)<", written(drawn(name, audit), tmp_path / "figure.svg").decode()))
    assert "group" in text
    assert "class" not in text


def test_pages_are_named_after_the_figure_and_its_model(results):
    assert "<title>Score of each class, from the least protected up: Wu2020</title>" in html_page(
        forest(results["cifar10"]["Wu2020"])
    )
    assert "<title>Score of each class in each model: 17 models</title>" in html_page(class_heatmap(results["cifar10"]))
    one = results["cifar10"]["Wu2020"]
    picker = class_picker(one, 0.5, ["PASS"] * len(one.classes))
    assert "<title>Score of each class, from the least protected up: Wu2020</title>" in html_page(picker)
    assert "<title>gfscore</title>" in html_page(alt.Chart(alt.InlineData([])).mark_point())  # of somebody else


def test_a_very_long_name_is_shortened(results, tmp_path):
    model = results["cifar10"].models[0]
    named = [forest(model.model_copy(update={"name": name})) for name in ("short", "long" * 1000)]
    sizes = [Image.open(io.BytesIO(written(chart, tmp_path / "figure.png"))).size for chart in named]
    assert abs(sizes[1][1] - sizes[0][1]) < 40  # two lines at most
    assert "long" * 50 not in named[1].to_json()


def surrounding(place, text):
    left = place.x - width_of(text) * {"left": 0, "center": 0.5, "right": 1}[place.align]
    return Box(left, place.y - TEXT_SIZE / 2, left + width_of(text), place.y + TEXT_SIZE / 2)


def test_labels_do_not_lie_on_each_other():
    rng = np.random.default_rng(1)
    points = [(float(x), float(y), f"model {i}") for i, (x, y) in enumerate(rng.uniform(20, 380, (25, 2)))]
    boxes = [
        surrounding(place, text) for place, (_, _, text) in zip(place_labels(points, 640, 420), points, strict=True)
    ]
    overlaps = [a.overlap(b) for i, a in enumerate(boxes) for b in boxes[:i]]
    assert max(overlaps) == 0


def test_the_command_draws_all_that_apply(results, tmp_path, capsys):
    results["cifar10"].save(tmp_path / "audit.json")
    assert run(["figures", str(tmp_path / "audit.json"), "--out", str(tmp_path / "out"), "--format", "svg"]) == 0
    printed = capsys.readouterr().out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert "heatmap.svg" in names
    assert "forest-Wu2020.svg" in names
    assert len(names) == 17 + len(FIGURES) - 6  # a forest for each model; no noise floor, temperature, radii or attack
    assert "Left out: noise: this result has no noise floor" in printed
    assert "Left out: temperature of 17 models: there are no scores by temperature" in printed
    assert "Left out: attacked of 17 models: this figure sets what radii predict against an attack" in printed
    assert printed.count("Written: ") == len(names)


def test_model_names_cannot_leave_the_folder(tmp_path):
    audit = audit_models(
        {name: Samples.of([[1.0, 0], [0, 2]], [0, 1]) for name in ("../../up", "/etc/x", "..", "a/b", "a:b")}
    )
    audit.save(tmp_path / "audit.json")
    assert run(["figures", str(tmp_path / "audit.json"), "-o", str(tmp_path / "out"), "--only", "forest", "-q"]) == 0
    assert len(list((tmp_path / "out").iterdir())) == 5
    assert {path.name for path in tmp_path.iterdir()} == {"audit.json", "out"}


def test_unknown_figures_are_named(results, tmp_path, capsys):
    results["cifar10"].save(tmp_path / "audit.json")
    assert run(["figures", str(tmp_path / "audit.json"), "--only", "pie"]) == 2
    assert capsys.readouterr().err.startswith(
        "gfscore: there is no figure 'pie'. Choose from: robustness, robustness-models, forest, heatmap,"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows limits no addresses")
def test_where_addresses_are_limited_a_chart_is_one_line(tmp_path):
    """The engine that draws would end the process with a stack of its own, and 133."""
    np.savez(tmp_path / "m.npz", logits=[[3.0, 1.0], [0.0, 1.0]] * 9, labels=[0, 1] * 9)
    code = (
        "import resource; from gfscore.cli.main import run\n"
        "assert run(['audit', 'm.npz', '--out', '.', '--quiet']) == 0\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))\n"
        "raise SystemExit(run(['figures', 'audit.json', '--out', '.', '--only', 'forest']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert "charts cannot be drawn: the engine that draws reserves some 86 GB of addresses" in done.stderr
