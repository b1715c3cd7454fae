"""What the report says in words, as Markdown, and to the Hugging Face hub."""

import re

import numpy as np
import pytest
import yaml
from huggingface_hub.repocard import ModelCard
from rich.console import Console

from gfscore import Options, Samples, audit_models, views
from gfscore.jobs.given_gradients import audit_first_order
from gfscore.outputs import report, robust_words, sentences
from gfscore.outputs.report import report_words as words
from gfscore.outputs.report.key_sentences import key_sentences
from gfscore.outputs.terminal import show_audit
from gfscore.results import Audit, Claim, CrossCheck, Flag, Metric, ModelAudit
from many_models import many_models

HOSTILE = [
    "a|b",
    "c\nd: - #",
    "`e` *f*",
    "'\": {}[]&*!|>%@",
    "\u0085\u2028\ufeff\U0001f408",
    "<b>",
    "---",
    "y" * 4_000,
]


def made(gaps=(3.0, 3.0, 0.5), n=90, names=None, **options) -> ModelAudit:
    k = len(gaps)
    rng, labels = np.random.default_rng(0), np.arange(n) % k
    logits = rng.normal(0, 1, (n, k)) + np.array(gaps)[labels, None] * np.eye(k)[labels]
    samples = Samples.of(logits, labels, class_names=names)
    return audit_models({"net": samples}, Options(permutations=199, **options)).model


@pytest.fixture(scope="module")
def uneven():
    return made()


def in_one_piece(page: str) -> str:
    """The page without the marks that keep a number on one line."""
    return re.sub(r"<span class=u>(.*?)</span>", r"\1", page)


def audit_of(*models: ModelAudit) -> Audit:
    return audit_models({"m": Samples.of([[1, 0], [0, 2]], [0, 1])}).model_copy(update={"models": models})


@pytest.fixture(scope="module")
def model() -> ModelAudit:
    weights, rng = 4 * np.eye(3), np.random.default_rng(0)
    labels = np.arange(90) % 3
    images = np.clip(0.35 * np.eye(3)[labels] + rng.uniform(0, 0.3, (90, 3)) - 0.2 * (labels == 2)[:, None], 0, 1)
    found = audit_first_order(
        lambda x: x @ weights, images, labels, norm="linf", max_radius=1, eps=0.11, class_names=["a", "<b>", "c"],
        gradients=lambda x, y, rivals: weights[y][:, None] - weights[rivals],
    )  # fmt: skip
    return found.model


class TestRobustAccuracyFirst:
    """Where accuracy under attack is known, every form of the report begins with it."""

    def test_the_headline_says_how_accurate_how_robust_and_who_is_worst(self, model):
        rung, said = model.robustness.headline, words.verdict(model)
        worst = f"“{rung.worst}” at {views.share_text(rung.lowest)} robust accuracy; "
        assert said.headline.startswith(
            f"The model decides {views.percent(model.accuracy)} of all 90 samples correctly; attacks up to eps = 0.11 "
            f"(Linf) would leave an estimated {views.share_text(rung.whole)} correct. Worst class: {worst}"
        )
        assert said.sentences[0].startswith("By midpoint radii by gradients (90 samples, Linf). An estimate, no bound")
        assert said.tone == ("uneven" if len(rung.worst_set) < 3 else "open")

    def test_what_the_score_says_comes_later(self, model):
        place = [sentence.startswith("By first-order radius: ") for sentence in words.verdict(model).sentences]
        assert place.index(True) > 1

    def test_the_ladder_is_in_the_page_and_in_markdown(self, model):
        page, text = in_one_piece(report.html(audit_of(model))), report.markdown(audit_of(model))
        assert 'aria-label="Robust accuracy of ' in page
        assert text.index("### Robust accuracy") < text.index("### Score of each class")
        for eps, *cells in robust_words.ladder_rows(model, named=str):
            assert f'<tr><th scope="row">{eps}</th>' in page
            assert f"| {eps} | " in text
            assert all(f">{cell.replace('<b>', '&lt;b&gt;')}</td>" in page for cell in cells)

    def test_the_card_names_eps_and_how_it_was_found(self, model):
        metrics = {
            metric["type"]: metric
            for metric in yaml.safe_load(report.model_card(audit_of(model)).split("---")[1])["model-index"][0][
                "results"
            ][0]["metrics"]
        }
        rung = model.robustness.headline
        assert metrics["gfscore_robust_accuracy"]["value"] == rung.value
        assert metrics["gfscore_class_robust_accuracy"]["value"] == rung.lowest.value
        name = metrics["gfscore_class_robust_accuracy"]["name"]
        assert name.startswith(f"Robust accuracy of the worst class ({rung.worst}), estimated, eps = 0.11 (Linf), by ")

    def test_it_is_claimed_as_an_estimate(self, model):
        assert words.claimed(model)[0].endswith("above eps, which estimates the accuracy under attacks.")
        assert words.not_claimed(model)[0].startswith("That attacks leave what the robust accuracy says")

    def test_without_radii_nothing_is_said_of_it(self, uneven):
        page = report.html(audit_of(uneven))
        assert 'aria-label="Robust accuracy of ' not in page
        assert "obust accuracy" not in report.markdown(audit_of(uneven))

    def test_models_side_by_side_have_columns_of_it(self, model):
        bare = model.model_copy(update={"name": "bare", "robustness": None, "robust_accuracy": None})
        page = report.html(audit_of(model, bare))
        rung = model.robustness.headline
        worst = f"{rung.worst}: {views.share_text(rung.lowest)}".replace("<b>", "&lt;b&gt;")
        whole = views.share_text(rung.whole)
        page = re.sub(r"</?span[^>]*>", "", page)  # which keep numbers whole
        assert f'<td data-l="robust at 0.11">{whole}</td><td data-l="worst class">{worst}</td>' in page
        assert '<th scope="col">robust at 0.11</th><th scope="col">worst class</th>' in page
        assert '<td data-l="robust at 0.11">–</td><td data-l="worst class">–</td>' in page
        assert "<p>Not measured." in page


class TestLevels:
    """What all intervals on a page are worth together: each kind has a level of its own, and they add up."""

    def with_shares(self, model, *, attacked):
        claim = Claim(
            premise="If it holds.", radius_refuted_share=0.5, radius_refuted_interval=(0.4, 0.6), tried_on=9, delta=0.02
        )
        check = CrossCheck(
            attack="pgd", norm="l2", eps=0.5, n=9, accuracy=Metric(value=0.5, interval=(0.2, 0.8)), delta=0.05,
            seconds={}, scores={}, agreement={},
        )  # fmt: skip
        return model.model_copy(update={"claim": claim, "cross_check": check if attacked else None})

    def test_an_audit_by_itself_has_one_level(self, uneven):
        assert sentences.brackets(uneven) == (
            "Brackets: all intervals together hold with probability 0.95 (betting, population)."
        )
        assert "All of a model hold together with probability 0.95" in words.claimed(uneven)[1]

    @pytest.mark.parametrize(
        ("attacked", "beside", "together"),
        [
            (False, "Intervals of refuted shares have a level of their own", 0.93),
            (True, "Intervals of refuted shares and of accuracy under attack have levels of their own", 0.88),
        ],
    )
    def test_levels_of_their_own_add_up(self, uneven, attacked, beside, together):
        expected = f"{beside}; with them, all hold together with probability {together}."
        model = self.with_shares(uneven, attacked=attacked)
        first = (
            "Brackets: all intervals of scores and metrics together hold with probability 0.95 (betting, population)."
        )
        assert sentences.brackets(model) == f"{first} {expected}"
        assert "Those of a model's scores and metrics hold together with probability 0.95" in words.claimed(model)[1]
        assert expected in words.claimed(model)
        for form in (report.html, report.markdown):
            assert expected in form(audit_of(model))


class TestVerdict:
    def test_a_class_that_stands_out_is_named(self, uneven):
        said = words.verdict(uneven)
        assert said.headline == "The classes are not protected alike. Least protected: “2”."
        assert said.tone == "uneven"
        low, high = views.ends(uneven.classes[2].interval)
        assert f"“2” scores {uneven.wcr.value:.3f} (the data allow {low} to {high})" in said.sentences[0]
        assert f"{uneven.noise.rdi.null_mean:.3f} on average" in said.sentences[1]

    def test_what_may_be_chance_is_called_so(self):
        said = words.verdict(made((2.0, 2.0, 2.0)))
        assert said.headline == "No class stands out: the differences between the classes may be chance."
        assert said.tone == "open"

    def test_a_test_alone_names_nobody_and_says_that_it_is_one(self):
        """As on ImageNet, 5 samples a class: by chance the gap is as large, the inequality of all classes is not."""
        k, n, rng = 1000, 5, np.random.default_rng(0)
        labels = np.repeat(np.arange(k), n)
        right = rng.random(k * n) < rng.beta(4, 1.5, k)[labels]
        logits = 12 * np.eye(k, dtype=np.float32)[np.where(right, labels, (labels + 1) % k)]
        model = audit_models({"net": Samples.of(logits, labels)}, Options(permutations=199)).model
        assert model.noise.rdi.p_holm > 0.05 >= model.noise.nrgc.p_holm
        said = words.verdict(model)
        assert said.headline == "The classes differ by more than chance, but the data cannot tell which is worst."
        assert said.tone == "open"
        assert "A test says so, no interval: it is exact for classes of one distribution" in " ".join(said.sentences)
        lines = {line.key: line.floor for line in words.metric_lines(model)}
        assert lines["rdi"].endswith("by itself it may be noise")
        assert lines["nrgc"].endswith("more than noise")
        assert "differ by more than chance, but the data cannot tell which is worst. A test says so" in repr(model)

    def test_a_normal_approximation_is_not_called_exact(self, uneven):
        normal = uneven.noise.model_copy(update={"kind": "normal"})
        reaching = uneven.rdi.model_copy(update={"interval": (0.0, 1.0)})
        text = sentences.noise_text(uneven.model_copy(update={"noise": normal, "rdi": reaching}))
        assert "exact" not in text
        assert text.endswith("and where scores are nearly all 0 or at the maximum.")

    def test_a_p_value_without_an_interval_is_no_strong_headline(self, uneven):
        reaching = uneven.rdi.model_copy(update={"interval": (0.0, 1.0)})
        assert uneven.noise.rdi.p_holm <= 0.05
        assert words.verdict(uneven.model_copy(update={"rdi": reaching})).tone == "open"

    def test_an_interval_that_leaves_0_out_is_never_called_noise(self, uneven):
        weak = uneven.noise.rdi.model_copy(update={"p_holm": 0.4, "p_value": 0.4})
        model = uneven.model_copy(update={"noise": uneven.noise.model_copy(update={"rdi": weak, "nrgc": weak})})
        assert words.verdict(model).headline.startswith("The classes are not protected alike.")
        assert all(line.floor.endswith("more than noise") for line in words.metric_lines(model) if line.floor)
        assert "more than noise: the interval of the gap (RDI) leaves 0 out" in sentences.noise_text(model)

    @pytest.mark.parametrize(
        ("candidates", "expected"),
        [
            (2, "Least protected: “0” or “1”; the data cannot tell which."),
            (4, "Least protected: “0”, “1”, “2” or “3”; the data cannot tell which."),
            (5, "Least protected: one of 5 of the 6 classes; the data cannot tell which."),
            (6, "Which of the 6 classes is least protected, the data cannot tell."),
        ],
    )
    def test_candidates_are_named_while_they_are_few(self, candidates, expected):
        model = made((3, 3, 3, 3, 3, 0)).model_copy(update={"worst_set": tuple("012345"[:candidates])})
        assert words.verdict(model).headline == f"The classes are not protected alike. {expected}"

    def test_without_a_noise_floor_nothing_is_said_of_chance(self, uneven):
        unbounded = uneven.rdi.model_copy(update={"interval": None})
        said = words.verdict(uneven.model_copy(update={"noise": None, "rdi": unbounded}))
        assert said.headline.endswith("Whether the classes differ by more than chance was not tested.")

    def test_nothing_but_zeros_is_no_verdict_on_classes(self):
        wrong = audit_models({"m": Samples.of([[0, 2.0], [2.0, 0]] * 40, [0, 1] * 40)}).model
        assert words.verdict(wrong).headline.startswith("Every class scores 0")
        assert words.verdict(wrong).tone == "broken"

    def test_warnings_come_before_the_numbers(self, uneven):
        flags = (Flag(code="one", message="mind this"),)
        warned = audit_of(uneven.model_copy(update={"flags": flags}))
        for form, after in ((report.html, "All classes</h2>"), (report.markdown, "### Score of each class")):
            assert form(warned).index("mind this") < form(warned).index(after)


class TestClaims:
    def claimed(self, model, **shares):
        return model.model_copy(update={"claim": Claim(premise="If it holds.", **shares)})

    def test_an_untried_radius_is_not_claimed(self, uneven):
        said = words.not_claimed(uneven)
        assert said[0] == f"That no change smaller than its score fools the model. {uneven.claim.premise}"
        assert said[1].startswith("Nothing has tried to refute")

    @pytest.mark.parametrize("form", [report.html, report.markdown, report.model_card])
    def test_a_refuted_radius_changes_the_wording_everywhere(self, uneven, form):
        refuted = self.claimed(uneven, radius_refuted_share=0.61, premise_violated_share=0.8)
        text = form(audit_of(refuted))
        assert text.count("Radius reading refuted on 61.0 % of samples") == 2  # in the verdict, and among the claims
        assert "The premise was found violated on 80.0 % of samples." in text
        assert "That no change smaller" not in text
        assert "Radius reading refuted" not in form(audit_of(uneven))

    @pytest.mark.parametrize("share", [0.996, 0.004])
    def test_nearly_all_is_not_all_and_nearly_none_is_not_none(self, uneven, share):
        said = words.not_claimed(self.claimed(uneven, radius_refuted_share=share))
        assert said[0].startswith(f"Radius reading refuted on {100 * share:.1f} % of samples")

    @pytest.mark.parametrize("form", [report.html, report.markdown, report.model_card])
    def test_a_certificate_is_claimed_unless_it_was_refuted(self, uneven, form):
        proven = self.claimed(uneven, certified=True)
        assert "A certificate. If it holds." in words.claimed(proven)
        assert words.not_claimed(proven)[0].startswith("Anything about changes that are larger than the radius")
        text = form(audit_of(proven))
        assert "A certificate. If it holds." in text
        assert "Nothing has tried to refute" not in text
        assert "That no change smaller" not in text
        assert "A certificate." not in form(audit_of(self.claimed(uneven, certified=True, radius_refuted_share=0.1)))

    def test_the_accuracy_of_a_smoothed_classifier_is_not_the_models_own(self, uneven):
        score = uneven.score.model_copy(update={"name": "smoothing"})
        model = uneven.model_copy(update={"score": score})
        assert any(text.startswith("Under noise, the smoothed classifier") for text in words.verdict(model).sentences)
        assert "smoothed accuracy 80.00 %" in str(model)
        assert "clean accuracy" not in report.markdown(audit_of(model))

    def test_a_search_without_a_find_is_no_proof(self, uneven):
        said = words.not_claimed(self.claimed(uneven, radius_refuted_share=0.0))
        assert "That is no proof" in said[1]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("first-order", "first-order radius"),
        ("smoothing", "certified radius"),
        ("given", "given score"),
        ("own", "own score"),
    ],
)
def test_other_scores_are_called_by_their_name(uneven, name, title):
    info = uneven.score.model_copy(
        update={
            "name": name,
            "activation": None,
            "temperature": None,
            "norm": "linf",
            "eps": 2 / 255,
            "range": (0, 0.1),
        }
    )
    model = uneven.model_copy(update={"score": info, "curves": None})
    for form in (report.html, report.markdown, report.model_card):
        text = form(audit_of(model))
        assert title in text
        assert "GREAT score" not in text.replace(model.claim.premise, "")
        assert "Linf, eps = 0.007843" in text
        assert f"{model.aggregate:.4f}" in text  # a small scale shows a digit more
    assert "That no change smaller" in words.not_claimed(model)[0]  # not certified: whatever it is called


def test_the_model_card_is_read_by_the_hub():
    model = made()
    card = ModelCard(report.model_card(audit_of(model)))
    assert card.data.model_name == "net"
    values = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert values["accuracy"] == model.accuracy
    assert values["gfscore_wcr"] == model.wcr.value
    assert {(result.task_type, result.dataset_name) for result in card.data.eval_results} == {("other", "arrays")}
    assert "## Robustness by class" in card.text


@pytest.mark.parametrize("name", HOSTILE)
def test_the_metadata_is_valid_whatever_the_names(name):
    model = made(names=[name, "b", "c"]).model_copy(update={"name": name})
    head = report.model_card(audit_of(model)).split("\n---\n")[0].removeprefix("---\n")
    read = yaml.safe_load(head)["model-index"][0]
    assert read["name"] == words.shorten(name)
    assert len(read["results"][0]["metrics"]) == 9


def test_a_number_that_does_not_exist_is_left_out_of_the_metadata():
    wrong = audit_models({"m": Samples.of([[0, 2.0], [2.0, 0]] * 40, [0, 1] * 40)}).model
    text = report.model_card(audit_of(wrong))
    assert "gfscore_nrgc" not in text
    assert "gfscore_rdi" in text


def test_markdown_keeps_names_in_their_cells():
    text = report.markdown(audit_of(made((3.0,) * len(HOSTILE), n=160, names=HOSTILE)))
    rows = [line for line in text.splitlines() if line.startswith("| ") and " | 20 | " in line]
    assert len(rows) == len(HOSTILE)
    for line in rows:
        assert len(line.replace("\\|", "").split(" | ")) == 5
    assert "<b>" not in text
    assert max(map(len, rows)) < 400


def test_many_classes_are_shown_by_their_ends():
    text = report.markdown(audit_of(made(tuple(np.linspace(0.5, 3, 30)), n=300)))
    assert "The 10 lowest and 10 highest of 30 are shown." in text
    assert sum(line.startswith("| ") and " | 10 | " in line for line in text.splitlines()) == 20


def test_the_report_names_its_command_and_inputs(uneven):
    audit = audit_of(uneven)
    made_by = audit.provenance.model_copy(update={"command": "gfscore audit 'a b.npz'", "inputs": {"a b.npz": "ab12"}})
    page = report.html(audit.model_copy(update={"provenance": made_by}))
    assert "<code>gfscore audit &#x27;a b.npz&#x27;</code>" in page
    assert "ab12" in page
    assert "gfscore audit 'a b.npz'" in report.markdown(audit.model_copy(update={"provenance": made_by}))


@pytest.fixture(scope="module")
def radii():
    rng, weights = np.random.default_rng(0), np.eye(3)
    images, labels = rng.random((60, 3)), np.arange(60) % 3
    images[np.arange(60), labels] += np.array([0.2, 0.6, 0.9])[labels]
    return audit_first_order(lambda x: x @ weights, images, labels, norm="linf", max_radius=1, eps=0.2, directions=16)


def test_a_share_of_radii_stands_in_every_form_of_the_report(radii):
    model = radii.model
    share = f"{100 * model.robust_accuracy.value:.1f} %"
    line = words.metric_lines(model)[0]
    assert line.key == "robust_accuracy"
    assert line.value.startswith(f"{share} [")
    assert "above 51/255" in line.meaning
    markdown, page = report.markdown(radii), in_one_piece(report.html(radii))
    for text in (markdown, page):
        assert share in text
    for entry in model.classes:
        assert f"{100 * entry.robust_accuracy.value:.1f} %" in markdown
    for entry in model.classes:
        assert f"<td>{views.share_text(entry.robust_accuracy)}<svg" in page
    assert "gfscore_robust_accuracy" in report.model_card(radii)


def test_of_two_classes_the_other_one_is_named():
    model = many_models(1, 2).models[0]
    worst = model.robustness.headline.worst
    (other,) = {entry.name for entry in model.classes} - {worst}
    assert set(model.robustness.headline.worst_set) == {worst, other}
    assert key_sentences([model])[2].endswith(f"robust accuracy, but the data cannot tell it from “{other}”.")


class TestTheBestWorstClass:
    """Of several models the best worst class is named, and how many others the intervals do not tell it from."""

    @pytest.mark.parametrize(
        ("ends", "said"),
        [
            ([(0.5, 0.6), (0.1, 0.2), (0.2, 0.49)], "."),
            ([(0.5, 0.6), (0.1, 0.5), (0.2, 0.4)], ", which the intervals do not tell from that of 1 other model."),
            ([(0.3, 0.6), (0.1, 0.5), (0.2, 0.4)], ", which the intervals do not tell from that of any other model."),
        ],
    )
    def test_it_is_not_sold_as_better_than_those_it_cannot_be_told_from(self, ends, said):
        models = [
            with_lowest(each, share, end)
            for each, share, end in zip(many_models(3, 3).models, (0.55, 0.15, 0.3), ends, strict=True)
        ]
        assert key_sentences(models)[2].endswith(f"robust accuracy{said}")

    def test_where_all_are_equal_none_is_the_best(self):
        models = [with_lowest(each, 0.0, (0.0, 0.1)) for each in many_models(3, 3).models]
        said = key_sentences(models)[2]
        assert said.startswith("The worst class of every model has 0.0 % robust accuracy; in 2 of 3 models it is “")
        assert "best" not in said


def test_long_names_above_columns_differ_where_the_names_do():
    """Networks in the columns, as classes have the longer names: what tells them apart is at their ends."""
    page = report.html(many_models(3, 12))
    heads = re.findall(r'<th scope="col"><span>([^<]+)</span></th>', page)
    assert heads == [f"a network …e length, {place}" for place in range(3)]


def with_lowest(model: ModelAudit, share: float, end: tuple[float, float]) -> ModelAudit:
    """The model with this robust accuracy in all classes, at every eps."""
    metric = Metric(value=share, interval=end)
    found = model.robustness
    rungs = tuple(rung.model_copy(update={"classes": (metric,) * len(rung.classes)}) for rung in found.rungs)
    return model.model_copy(update={"robustness": found.model_copy(update={"rungs": rungs})})


class TestOneOfSeveralModelsMeasured:
    """Sentences on all models where radii of some are missing: nothing is said of "every model" that holds for one."""

    def some(self, measured: int, of: int) -> list[ModelAudit]:
        with_radii, without = many_models(of, 10).models, many_models(of, 10, robust=False).models
        return [*with_radii[:measured], *without[measured:]]

    def test_of_one_it_is_said_which(self):
        models = self.some(1, 2)
        _, robust, worst = key_sentences(models)
        rung = models[0].robustness.headline
        assert robust.startswith(
            "Robust accuracy was measured in 1 of 2 models, a network of some length, 0: attacks up"
        )
        assert robust.count(f"{100 * rung.value:.1f} %") == 1
        assert worst.startswith("In a network of some length, 0 the worst class is “cat” with ")
        assert "every model" not in worst

    def test_where_all_that_are_known_are_alike_the_others_are_not_meant(self):
        models = [model.model_copy(update={"robustness": self.some(1, 1)[0].robustness}) for model in self.some(2, 3)]
        models[2] = self.some(2, 3)[2]
        assert "of every model where it was measured has" in key_sentences(models)[2]

    def test_an_attack_beside_it_is_pointed_at(self):
        first, second = self.some(1, 2)
        check = CrossCheck(
            attack="pgd", norm="linf", eps=0.1, n=40, accuracy=Metric(value=0.6, interval=(0.5, 0.7)), delta=0.05,
            seconds={}, scores={}, agreement={},
        )  # fmt: skip
        attacked = second.model_copy(update={"cross_check": check})
        assert key_sentences([first, attacked])[1].endswith(
            " What attacks left of a network of some length, 1 is in its section."
        )


@pytest.mark.parametrize("n_models", [1, 2])
def test_numbers_about_nothing_are_said_to_be_before_anything_else(n_models, capsys):
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(5), 60)
    logits = rng.normal(size=(300, 5)) + 2 * np.eye(5)[labels]
    samples = {"shifted": Samples.of(logits, (labels + 1) % 5), "sound": Samples.of(logits, labels)}
    audit = audit_models(dict(list(samples.items())[:n_models]))
    page = report.html(audit)
    assert page.index("do not quote" if n_models == 2 else "Do not quote") < page.index(" decide")
    assert 'class="verdict broken"' in page
    assert "quote what follows" not in report.html(audit_models({"sound": samples["sound"]}))
    show_audit(audit_models({"shifted": samples["shifted"]}), Console(width=80))
    said = " ".join(capsys.readouterr().out.split())
    assert said.index("classes were exchanged") < said.index("Brackets:")
