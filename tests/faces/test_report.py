"""The report in a real browser: it loads, answers, shows the right numbers, prints, and takes no name for markup."""

import re
from functools import cache

import numpy as np
import pytest

import gfscore
from gfscore import Options, Samples, audit_models, views
from gfscore.outputs import report
from gfscore.paper import published, published_audit
from gfscore.results import Audit, CrossCheck, Metric
from gfscore.temperature import TOLERANCE

NAMES = [f"animal {k}" for k in range(12)]
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "\"' onmouseover='alert(1)'",
    "&lt;b&gt; $title ${title} {{7*7}}",
    "left \u202eright\u200f \u0000 \u2028 line",
    "very " * 800 + "long",
    "__proto__",
    "猫 \U0001f408",
]
MODELS = ("north", "south", "west")
SHOWN = 0.5e-3 + 0.5e-6  # a number with three digits, written from one with six
MEGABYTES = 1e6


def logits(model: str, k: int = 12, n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(sum(map(ord, model)))
    labels = np.arange(n) % k
    return rng.normal(0, 1, (n, k)) + (rng.uniform(0.5, 6, k)[labels, None] * np.eye(k)[labels]), labels


@cache
def three_models() -> Audit:
    samples = {model: Samples.of(*logits(model), class_names=NAMES) for model in MODELS}
    return audit_models(samples, Options(permutations=99))


@cache
def many_classes() -> Audit:
    names = list(published("imagenet").class_names)
    return audit_models({"big": Samples.of(*logits("big", 1000, 5000), class_names=names)}, Options(permutations=20))


def hostile() -> Audit:
    samples = {name: Samples.of(*logits("m", len(HOSTILE), 80), class_names=HOSTILE) for name in HOSTILE[:4]}
    audit = audit_models(samples, Options(permutations=20))
    made = audit.provenance.model_copy(update={"command": HOSTILE[1], "inputs": {HOSTILE[0]: HOSTILE[2]}})
    return audit.model_copy(update={"provenance": made})


@pytest.fixture
def opened(page, tmp_path):
    def open_report(audit, on=None):
        path = tmp_path / "report.html"
        path.write_text(report.html(audit), encoding="utf-8")
        target = on or page
        target.goto(path.as_uri())
        return target

    return open_report


def column(page, number):
    return page.locator(f"#classes tbody tr > :nth-child({number})").all_text_contents()


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_with_the_verdict_first(open_page, opened, artefact, scheme):
    page = opened(three_models(), open_page(color_scheme=scheme))
    assert page.locator("h2").first.text_content() == "Verdict"
    headline = page.locator("[data-model='0'] .headline").text_content()
    assert headline.startswith("The classes are not protected alike.")
    assert page.locator("#profile svg .row").count() == 12
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark == (scheme == "dark")
    page.screenshot(path=artefact("page.png"), full_page=True)


def test_the_words_stand_without_scripts(open_page, opened):
    page = opened(three_models(), open_page(java_script_enabled=False))
    assert page.locator("[data-model='0'] .headline").is_visible()
    assert page.locator("noscript").is_visible()


def test_the_page_runs_no_script_but_its_own(opened):
    page = opened(three_models())
    add = "s => { const e = document.createElement('script'); e.textContent = s; document.body.append(e) }"
    page.evaluate(add, "window.hacked = 1")
    page.evaluate("s => document.body.insertAdjacentHTML('beforeend', s)", '<img src=x onerror="window.hacked = 1">')
    page.wait_for_timeout(100)
    assert page.evaluate("window.hacked") is None
    refused = [text for text in page.complaints if "Content Security Policy" in text]
    assert len(refused) >= 2
    page.complaints.clear()


def test_headings_sort_and_names_are_found(opened):
    page = opened(three_models())
    classes = three_models()["north"].classes
    by_score = [entry.name for entry in sorted(classes, key=lambda entry: entry.score)]
    assert column(page, 1) == by_score
    page.click("[data-sort=score]")
    assert column(page, 1) == by_score[::-1]
    assert page.locator("th[aria-sort=descending]").text_content() == "score"
    page.click("[data-sort=name]")
    assert column(page, 1) == NAMES  # "animal 2" before "animal 10"
    page.click("[data-sort=accuracy]")
    shares = [float(text.rstrip(" %")) for text in column(page, 7)]
    assert shares == sorted(shares)
    page.fill("#search", "MAL 1")
    assert sorted(column(page, 1)) == ["animal 1", "animal 10", "animal 11"]
    assert page.text_content("#found") == "3 of 3 shown"
    page.fill("#search", "no such thing")
    assert column(page, 1) == []


def test_another_model_can_be_chosen_and_put_beside(opened, artefact):
    page, audit = opened(three_models()), three_models()
    page.select_option("#model", label="south")
    assert page.locator("[data-model='0']").first.is_hidden()
    worst = audit["south"].wcr
    assert worst.class_ in page.locator("[data-model='1'] .verdict").text_content()
    assert column(page, 1)[0] == worst.class_
    page.select_option("#beside", label="west")
    assert page.locator("[data-model]:visible h3").all_text_contents()[:2] == ["south", "west"]
    beside = {entry.name: f"{entry.score:.3f}" for entry in audit["west"].classes}
    assert [text.split()[0] for text in column(page, 4)] == [beside[name] for name in column(page, 1)]
    page.screenshot(path=artefact("beside.png"), full_page=True)
    page.locator("#spread [data-choose='2']").click()
    assert page.input_value("#model") == "2"
    assert column(page, 1)[0] == audit["west"].wcr.class_


def test_pointing_at_a_class_tells_its_numbers(opened):
    page = opened(three_models())
    lowest = min(three_models()["north"].classes, key=lambda entry: entry.score)
    page.locator("#profile svg .row").first.hover()
    tip = page.locator("#tip").text_content()
    assert lowest.name in tip
    assert views.estimate(lowest.score, lowest.interval) in tip
    page.locator("#temperature svg").first.hover(position={"x": 300, "y": 80})
    assert re.search(r"animal \d+\d\.\d{3} at T = ", page.locator("#tip").text_content())
    page.mouse.move(5, 5)
    assert page.locator("#tip").is_hidden()


METRICS = ("wcr", "rdi", "nrgc", "fp_great", "theil", "atkinson")


@pytest.mark.parametrize("stop", [0, 40, 101])
def test_the_slider_shows_what_an_audit_at_that_temperature_gives(opened, stop):
    page = opened(three_models())
    temperature = three_models()["north"].curves.temperature[stop]
    page.locator("#slider").fill(str(stop))
    assert page.text_content("#at") == f"T = {float(f'{temperature:.3g}'):g}"
    there = gfscore.audit(*logits("north"), class_names=NAMES, temperature=temperature).model
    slack = SHOWN + 4 * TOLERANCE / min(1, there.class_mean)  # the curve's own error; some are shares of the mean
    shown = {
        cell.get_attribute("data-metric"): number(cell.text_content())
        for cell in page.locator("#temperature td[data-metric]").all()
    }
    expected = {name: getattr(there, name).value for name in METRICS}
    assert shown == pytest.approx(expected | {"aggregate": there.aggregate, "class_mean": there.class_mean}, abs=slack)
    rows = page.locator("#temperature .tall tbody tr").all()
    scores = {row.locator("th").text_content(): number(row.locator(".number").text_content()) for row in rows}
    assert scores == pytest.approx({entry.name: entry.score for entry in there.classes}, abs=slack)
    assert list(scores.values()) == sorted(scores.values())
    page.get_by_role("button", name="The audit's, T = 1").click()
    assert page.text_content("#at") == "T = 1"


def test_a_thousand_classes_are_a_curve_and_their_ends(opened, artefact, accessibility):
    page, model = opened(many_classes()), many_classes().model
    assert page.locator("#profile svg").count() == 3
    assert page.text_content("#found") == "25 of 1,000 shown"
    page.click("#more")
    assert page.text_content("#found") == "1,000 of 1,000 shown"
    page.locator("#slider").fill("80")
    assert page.locator("#temperature .tall tbody tr").count() == 20
    shown = page.locator("#temperature td[data-metric=rdi]").text_content()
    there = gfscore.audit(*logits("big", 1000, 5000), temperature=model.curves.temperature[80]).model
    assert number(shown) == pytest.approx(there.rdi.value, abs=SHOWN + 2 * TOLERANCE)
    page.click("#more")
    page.screenshot(path=artefact("page.png"), full_page=True)
    assert accessibility(page) == []


def test_names_are_text_wherever_they_stand(opened, artefact):
    page = opened(hostile())
    page.on("dialog", lambda dialog: page.complaints.append(f"dialog: {dialog.message}"))
    assert page.locator("script").count() == 2  # the data and the page's own
    assert set(column(page, 1)) >= {HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], HOSTILE[6], HOSTILE[7]}
    assert "left \\u202eright\\u200f \\x00 \\u2028 line" in column(page, 1)
    assert max(map(len, column(page, 1))) == 120
    for index in range(4):
        page.select_option("#model", str(index))
        page.select_option("#beside", str(3 - index))
        assert page.locator("[data-model]:visible h3").first.text_content() == HOSTILE[index]
    page.locator("#profile svg .row").first.hover()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=artefact("page.png"), full_page=True)


def test_it_stays_small_with_many_models_and_classes(opened):
    model = many_classes().model
    models = [model.model_copy(update={"name": f"model {k}"}) for k in range(22)]
    audit = many_classes().model_copy(update={"models": tuple(models)})
    assert len(report.html(audit).encode()) < 3 * MEGABYTES
    page = opened(audit)
    page.select_option("#model", "21")
    assert page.locator("[data-model='21'] .headline").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_in_it_is_hard_to_reach(open_page, opened, accessibility, scheme):
    page = opened(three_models(), open_page(color_scheme=scheme))
    assert accessibility(page) == []
    page.select_option("#beside", "1")
    page.locator("#slider").fill("20")
    page.fill("#search", "1")
    assert accessibility(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert accessibility(page) == []


@pytest.mark.parametrize("width", [360, 794, 1200])
def test_it_fits_the_screen(opened, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    opened(three_models())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_prints(open_page, opened, artefact):
    page = opened(three_models(), open_page(color_scheme="dark", viewport={"width": 720, "height": 1000}))
    pdf = page.pdf(path=artefact("page.pdf"), format="A4")
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= pages <= 8
    page.emulate_media(media="print")
    for control in ("nav", "#search", "#slider", "#temperature button"):
        assert page.locator(control).first.is_hidden()
    assert page.locator("#classes tbody tr").last.is_visible()
    assert (
        page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    )  # paper is never dark
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every(e => e.scrollWidth <= e.clientWidth)")
    page.screenshot(path=artefact("page.png"), full_page=True)


@pytest.mark.parametrize(("k", "printed", "screen"), [(60, 60, 25), (120, 25, 25)])
def test_paper_shows_all_classes_or_says_how_many(opened, k, printed, screen):
    page = opened(audit_models({"net": Samples.of(*logits("net", k, 10 * k))}, Options(permutations=0)))
    page.evaluate(
        "addEventListener('beforeprint', () => { window.rows = document.querySelectorAll('#classes tbody tr').length })"
    )
    page.pdf()
    assert page.evaluate("window.rows") == printed
    assert page.locator("#classes tbody tr").count() == screen
    page.emulate_media(media="print")
    assert page.locator("#found").is_visible()
    assert page.get_by_text("A click on a heading sorts").is_hidden()


def test_of_many_classes_the_picture_by_temperature_names_no_highest(opened):
    page = opened(many_classes())
    drawn = page.locator("#temperature svg").first
    assert "the 20 lowest of 1,000" in drawn.text_content()
    assert "lowest: " in drawn.text_content()
    assert "highest: " not in drawn.text_content()


def test_what_attacks_and_refuters_found_is_in_the_table_and_in_the_verdict(opened):
    audit = three_models()
    model = audit.models[0]
    share = Metric(value=0.61, interval=(0.5, 0.7))
    check = CrossCheck(
        attack="autoattack", norm="linf", eps=0.1, n=40, accuracy=share, delta=0.05, seconds={}, scores={}, agreement={}
    )
    classes = tuple(each.model_copy(update={"attacked": share, "refuted": share}) for each in model.classes)
    claim = model.claim.model_copy(update={"radius_refuted_share": 0.61, "tried_on": 40, "tried_by": ("bisection",)})
    tried = model.model_copy(update={"classes": classes, "cross_check": check, "claim": claim})
    page = opened(audit.model_copy(update={"models": (tried,)}))
    verdict = page.locator(".verdict").first.text_content()
    assert "Under autoattack (Linf, eps = 0.1) 61.0 % [50.0 %, 70.0 %] of 40 samples keep their true class." in verdict
    assert "Radius reading refuted on 61.0 % of samples (40 tried, by bisection). There the model is fooled" in verdict
    headings = page.locator("#classes thead th").all_text_contents()
    assert headings[7:9] == ["radii refuted", "accuracy under autoattack"]
    assert column(page, 8)[0] == "61.0 % [50.0 %, 70.0 %]"


def test_published_numbers_have_no_curves_and_say_so(opened, artefact):
    page = opened(published_audit("cifar10"))
    assert "holds no scores of" in page.text_content("#temperature")
    assert page.locator(".headline").first.text_content().startswith("The classes are not protected alike.")
