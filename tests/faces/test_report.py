"""The report in a real browser: complete without script, readable on every screen and on paper, no name is markup."""

import json
import re
from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from measuring import faults, torn_numbers
from page_reading import Shown, numbers_shown, source

import gfscore
import photograph_report
from gfscore import Options, Samples, audit_models, views
from gfscore.outputs import report, robust_words, sentences
from gfscore.outputs.report.class_table import headings
from gfscore.outputs.report.key_sentences import key_sentences
from gfscore.paper import published, published_audit
from gfscore.results import Audit, CrossCheck, Metric
from gfscore.temperature import TOLERANCE
from many_models import many_models

NAMES = [f"animal {k}" for k in range(30)]
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
SHOWN = 0.5e-3 + 1e-9  # a number with three digits, rounded once
FEWER = "fewer than 100 samples"  # which classes have a shrunken score: no result
MEGABYTES = 1e6
PAPER = {"width": 680, "height": 1000}  # pixels of a sheet of A4 between its margins
# Of a printed page's outline: what a heading says, as far as it is plain text, and how high it stands.
HEADINGS = re.compile(rb"/Title ([^\n]*)\n/Dest \[\d+ 0 R /XYZ [\d.]+ ([\d.]+) ")
BELOW_HEADING = 42.5 + 75  # points: the margin, and what a caption, a row of headings and one row take
BELOW = {
    b"(Samples)": 42.5 + 45,  # no table: the margin, and what the heading and its only line take
    b"(Metrics)": 42.5 + 250,  # the whole table
}


def logits(model: str, k: int = 30, n: int = 1200) -> tuple[np.ndarray, np.ndarray]:
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
    def open_report(audit, on=None, head=None):
        path = tmp_path / "report.html"
        path.write_text(report.html(audit, head), encoding="utf-8")
        target = on or page
        target.goto(path.as_uri())
        return target

    return open_report


def column(page, number, model=0, *, shown=True):
    rows = page.locator(f"#m{model} table.classes tbody tr{':visible' if shown else ''} > :nth-child({number})")
    return rows.evaluate_all("cells => cells.map(e => e.textContent)")


def heading(page, text, model=0):
    return page.locator(f"#m{model} table.classes thead button", has_text=re.compile(f"^{text}$"))


def number(text: str) -> float:
    return float(text.replace("−", "-"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_answers_in_three_sentences(open_page, opened, artefact, scheme):
    for audit in (many_models(3, 10), many_models(1, 10)):
        page = opened(audit, open_page(color_scheme=scheme, viewport={"width": 1200, "height": 600}))
        said = page.locator(".key")
        assert said.all_text_contents()[:3] == list(key_sentences(audit.models))
        assert all(said.nth(place).is_visible() for place in range(3))
        assert said.nth(2).bounding_box()["y"] + said.nth(2).bounding_box()["height"] < 600
        dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        assert dark == (scheme == "dark")
    page.screenshot(path=artefact("page.png"), full_page=True)


def test_everything_stands_without_scripts(open_page, opened, artefact):
    audit = many_models(3, 10)
    page = opened(audit, open_page(java_script_enabled=False))
    for place, model in enumerate(audit.models):
        assert page.locator(f"#m{place}").is_visible()
        assert sorted(column(page, 1, place)) == sorted(entry.name for entry in model.classes)
        titles = page.locator(f"#m{place} h3").all_text_contents()
        assert titles == [
            *("Warnings", "Robust accuracy", "All classes", "Metrics", "What this rests on"),
            *("What is claimed, and what is not", "Temperature", "Samples"),
        ]
        assert page.locator(f"#m{place} svg[role=img]").count() == 2  # over eps, and over the temperature
    assert page.locator("table.heat tbody tr").count() == 3
    assert page.locator("button, input, select, details, .need-js:visible").count() == 0
    page.screenshot(path=artefact("page.png"), full_page=True)


def unknown_numbers(page, audit: Audit, folder) -> list[Shown]:
    """Numbers that the page shows and the audit's file does not hold where they should be."""
    audit.save(folder / "audit.json")
    file = json.loads((folder / "audit.json").read_text(), parse_float=Decimal, parse_int=Decimal)
    made = audit.provenance
    texts = [model.name for model in audit.models]
    texts += [f"{name} {getattr(made, name)}" for name in ("gfscore", "python", "numpy", "scipy")]
    shown = list(numbers_shown(page, [*texts, file["provenance"]["created"], FEWER]))
    assert len(shown) > 800
    return [each for each in shown if not each.is_one_of(source(each, file))]


def test_every_number_is_one_of_the_file_rounded_once(open_page, opened, tmp_path):
    audit = many_models(3, 10)
    page = opened(audit, open_page(java_script_enabled=False))
    assert unknown_numbers(page, audit, tmp_path) == []


def test_a_number_that_is_not_in_the_file_would_be_seen(open_page, opened, tmp_path):
    audit = many_models(3, 10)
    first = audit.models[0]
    changed = first.classes[0].model_copy(update={"score": first.classes[0].score + 0.002, "accuracy": 0.123})
    wrong = first.model_copy(update={"classes": (changed, *first.classes[1:])})
    page = opened(audit.model_copy(update={"models": (wrong, *audit.models[1:])}), open_page(java_script_enabled=False))
    found = unknown_numbers(page, audit, tmp_path)
    assert {(each.model, each.table, each.row) for each in found if each.table} == {(0, "classes", changed.name)}
    assert {Decimal("0.123"), Decimal(f"{changed.score:.3f}")} <= {each.value for each in found}


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
    assert column(page, 1, shown=False) == by_score
    assert column(page, 1) == by_score[:25]
    section = page.locator("#m0")
    assert section.get_by_role("status").text_content() == "25 of 30 shown"
    section.get_by_role("button", name="Show all 30").click()
    heading(page, "GREAT").click()
    heading(page, "GREAT").click()
    shown = [number(text.split()[0]) for text in column(page, 2)]
    assert shown == sorted(shown, reverse=True)
    assert section.locator("th[aria-sort=descending]").text_content() == "GREAT"
    heading(page, "class").click()
    assert column(page, 1) == NAMES  # "animal 2" before "animal 10"
    section.get_by_label("Find by name").fill("MAL 1")
    assert sorted(column(page, 1)) == ["animal 1", *(f"animal 1{k}" for k in range(10))]
    assert section.get_by_role("status").text_content() == "11 of 11 shown"
    section.get_by_label("Find by name").fill("no such thing")
    assert column(page, 1) == []


def test_models_are_sorted_and_chosen_in_their_table(opened, artefact):
    audit = many_models(3, 10)
    page, (first, second, third) = opened(audit), (model.name for model in audit.models)
    page.locator("table.models thead button", has_text="accuracy").first.click()
    shares = page.locator("table.models tbody tr > :nth-child(2)").all_text_contents()
    accuracies = sorted(model.accuracy for model in audit.models)
    assert shares == [views.percent(accuracy) for accuracy in accuracies]
    page.get_by_label(f"Choose {second}").check()
    page.get_by_label(f"Choose {third}").check()
    assert [page.locator(f"#m{place}").is_visible() for place in range(3)] == [False, True, True]
    assert page.locator("table.heat tbody tr:visible").count() == 2
    assert page.get_by_text("2 of 3 models chosen").is_visible()
    assert page.get_by_label(f"Choose {first}").is_visible()  # the table keeps all
    page.screenshot(path=artefact("chosen.png"), full_page=True)
    page.emulate_media(media="print")
    assert page.locator("#m0").is_visible()  # paper has every model, whatever was chosen
    page.emulate_media(media="screen")
    page.get_by_role("button", name="Show all models").click()
    assert page.locator("#m0").is_visible()
    page.get_by_role("link", name=third).last.click()
    assert page.evaluate("location.hash") == "#m2"


def test_of_many_models_the_chosen_lines_have_a_colour(opened):
    page = opened(many_models(9, 2))
    assert page.locator(".crowd .lines li:visible").count() == 0
    page.locator("[data-choose='4']").check()
    assert page.locator(".crowd .lines li:visible").all_text_contents() == [f" {many_models(9, 2).models[4].name}"]
    assert page.locator(".crowd g.chosen").count() == 2
    assert page.locator(".crowd g:visible").count() == 18  # the others stay, grey


def test_lines_over_eps_are_told_apart_where_some_models_have_none(opened):
    """Of the demo's sixteen models every other has radii: eight lines, eight looks."""
    with_radii, without = many_models(16, 10), many_models(16, 10, robust=False)
    models = [pair[place % 2] for place, pair in enumerate(zip(with_radii.models, without.models, strict=True))]
    page = opened(with_radii.model_copy(update={"models": tuple(models)}))
    looks = """groups => groups.map(e => {
      const look = getComputedStyle(e.querySelector('.line'));
      return [look.stroke, look.strokeDasharray, e.dataset.model].join(' ');
    })"""
    drawn = page.locator(".curves figure").first.locator("g[data-model]").evaluate_all(looks)
    assert len(drawn) == 8
    assert len({look.rpartition(" ")[0] for look in drawn}) == 8
    assert page.locator(".curves .lines li").evaluate_all(looks) == drawn
    assert "(–: not measured)" in page.locator("table.heat caption").text_content()


def test_lines_that_are_chosen_of_many_are_told_apart(opened):
    page = opened(many_models(18, 2))
    for place in (1, 9, 17):
        page.locator(f"[data-choose='{place}']").check()
    figures = page.locator(".crowd figure").all()
    colours = "groups => groups.map(e => getComputedStyle(e.querySelector('.line')).stroke)"
    assert all(len(set(each.locator("g.chosen").evaluate_all(colours))) == 3 for each in figures)
    listed = page.locator(".crowd .lines li.chosen").evaluate_all(colours)
    assert listed == figures[0].locator("g.chosen").evaluate_all(colours)


METRICS = ("wcr", "rdi", "nrgc", "fp_great", "theil", "atkinson")


@pytest.mark.parametrize("stop", [0, 40, 101])
def test_the_slider_shows_what_an_audit_at_that_temperature_gives(opened, stop):
    page = opened(three_models())
    temperature = three_models()["north"].curves.temperature[stop]
    section = page.locator("#m0")
    section.locator("summary").click()
    section.locator("input[type=range]").fill(str(stop))
    assert section.locator("output").text_content() == f"T = {float(f'{temperature:.3g}'):g}"
    there = gfscore.audit(*logits("north"), class_names=NAMES, temperature=temperature).model
    slack = SHOWN + 4 * TOLERANCE / min(1, there.class_mean)  # the curve's own error; some are shares of the mean
    cells = section.locator("details tr[data-key]")
    shown = {
        row.get_attribute("data-key"): number(row.locator("td").text_content())
        for row in cells.all()
        if row.get_attribute("data-key") != "score"
    }
    expected = {name: getattr(there, name).value for name in METRICS}
    assert shown == pytest.approx(expected | {"aggregate": there.aggregate, "class_mean": there.class_mean}, abs=slack)
    rows = section.locator("details tr[data-key=score]").all()
    scores = {row.locator("th").text_content(): number(row.locator("td").text_content()) for row in rows}
    assert scores == pytest.approx({entry.name: entry.score for entry in there.classes}, abs=slack)
    assert list(scores.values()) == sorted(scores.values())
    section.get_by_role("button", name="The audit's, T = 1").click()
    assert section.locator("output").text_content() == "T = 1"


def test_a_thousand_classes_are_found_by_name_and_small_ones_shrunken(opened, artefact, accessibility):
    page, model = opened(many_classes()), many_classes().model
    section = page.locator("#m0")
    assert section.get_by_role("status").text_content() == "25 of 1,000 shown"
    lowest = sentences.by_score(model)[0]
    cells = section.locator("table.classes tbody tr").first.locator("td")
    assert cells.nth(1).text_content() == views.number(lowest.shrunken)
    assert cells.nth(0).locator("line.t").count() == 1  # drawn beside the score
    section.get_by_role("button", name="Show all 1,000").click()
    assert len(column(page, 1)) == 1000
    section.get_by_label("Find by name").fill(model.classes[777].name)
    assert model.classes[777].name in column(page, 1)
    section.get_by_label("Find by name").fill("")
    section.get_by_role("button", name="Show 25").click()
    section.locator("summary").click()
    section.locator("input[type=range]").fill("80")
    assert section.locator("details tr[data-key=score]").count() == 20
    there = gfscore.audit(*logits("big", 1000, 5000), temperature=model.curves.temperature[80]).model
    shown = section.locator("details tr[data-key=rdi] td").text_content()
    assert number(shown) == pytest.approx(there.rdi.value, abs=SHOWN + 2 * TOLERANCE)
    page.screenshot(path=artefact("page.png"), full_page=True)
    assert accessibility(page) == []


def test_names_are_text_wherever_they_stand(opened, artefact):
    head = report.ReportHead(title=HOSTILE[0], author=HOSTILE[1], subject=HOSTILE[2], date="x", notes=(HOSTILE[1],))
    page = opened(hostile(), head=head)
    page.on("dialog", lambda dialog: page.complaints.append(f"dialog: {dialog.message}"))
    assert page.locator("script").count() == 2  # the data and the page's own
    assert set(column(page, 1)) >= {HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], HOSTILE[6], HOSTILE[7]}
    assert "left \\u202eright\\u200f \\x00 \\u2028 line" in column(page, 1)
    assert max(map(len, column(page, 1))) == 120
    assert page.locator("h1").text_content() == HOSTILE[0]
    assert page.locator("header .facts").text_content() == f"Subject: {HOSTILE[2]} · Author: {HOSTILE[1]} · Date: x"
    assert page.locator("main > section > p").first.text_content() == HOSTILE[1]
    assert page.locator("section.model > h2").all_text_contents() == HOSTILE[:4]
    for box in page.locator("[data-choose]").all():
        box.check()
    assert faults(page) == []
    page.screenshot(path=artefact("page.png"), full_page=True)


@pytest.mark.parametrize(("m", "k"), [(50, 10), (5, 1000), (8, 1000)])
def test_it_stays_small_and_opens_at_once(opened, m, k):
    """Under 3 MB, and there within a second; the fastest of three, as the machine may have other work."""
    audit = many_models(m, k)
    assert len(report.html(audit).encode()) < 3 * MEGABYTES
    taken = []
    for _ in range(3):
        page = opened(audit)
        taken.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd"))
    assert min(taken) < 1000
    assert page.locator(f"#m{m - 1} .key").count() == 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_in_it_is_hard_to_reach(open_page, opened, accessibility, scheme):
    page = opened(many_models(3, 10), open_page(color_scheme=scheme))
    assert accessibility(page) == []
    page.locator("[data-choose='1']").check()
    page.locator("#m1 summary").click()
    page.locator("#m1 input[type=range]").fill("20")
    assert accessibility(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert accessibility(page) == []


def test_the_keyboard_alone_reaches_everything(opened):
    page = opened(many_models(2, 10))
    page.locator("#m1 summary").focus()
    page.keyboard.press("Enter")
    page.evaluate("document.activeElement.blur()")
    page.mouse.click(2, 2)
    wanted = page.evaluate(
        "[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex=\"0\"]')]"
        ".filter(e => e.checkVisibility()).map((e, i) => (e.dataset.stop = i, i)).length"
    )
    seen = set()
    for _ in range(wanted + 3):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.dataset.stop"))
    assert len(seen - {None}) == wanted > 30
    page.get_by_label("Choose", exact=False).first.focus()
    page.keyboard.press("Space")
    assert page.locator("#m1").is_hidden()


LOOKS = {
    "wide": {},
    "phone": {"viewport": {"width": 400, "height": 800}},
    "phone-dark-no-script": {
        "viewport": {"width": 400, "height": 800}, "color_scheme": "dark", "java_script_enabled": False,
    },
}  # fmt: skip


NUMBERS_WHOLE = ".key, td"  # where no number is torn at the end of a line


def look_at(audit, opened, open_page, artefact):
    """Nothing small, cut or off the screen in any look or on paper; what was seen is kept for people."""
    for name, options in LOOKS.items():
        page = opened(audit, open_page(**options))
        if len(audit.models) < 20 and options.get("java_script_enabled", True):
            page.evaluate(photograph_report.DRAW_ALL)  # what is seen when one scrolls
        page.screenshot(path=artefact(f"{name}.png"), full_page=len(audit.models) < 20)
        assert faults(page) == [], name
        assert torn_numbers(page, NUMBERS_WHOLE) == [], name
    page = opened(audit, open_page(viewport=PAPER, color_scheme="dark"))
    page.emulate_media(media="print")
    assert faults(page) == [], "paper"
    assert torn_numbers(page, NUMBERS_WHOLE) == [], "paper"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"  # never dark
    assert page.locator("button:visible, input:visible, details:visible").count() == 0
    for place, model in enumerate(audit.models):
        printed_heads = page.locator(f"#m{place} table.classes thead th").evaluate_all(
            "heads => heads.map(e => JSON.parse(getComputedStyle(e, '::after').content))"
        )
        assert printed_heads == list(headings(model))  # the text of the buttons that paper does not show
        shown = len(model.classes) if len(model.classes) <= 100 else 25
        lowest = [views.printable(entry.name) for entry in robust_words.by_robustness(model)[:shown]]
        assert column(page, 1, place) == lowest
    printed = page.pdf(path=artefact("paper.pdf"), format="A4", outline=True, tagged=True)
    headings_seen = HEADINGS.findall(printed)
    assert len(headings_seen) >= 8 * len(audit.models)
    for title, height in headings_seen:  # none is parted from what it is the heading of
        assert float(height) > BELOW.get(title, BELOW_HEADING), title


@pytest.mark.parametrize(("m", "k"), [(1, 2), (8, 10)])
def test_it_reads_on_every_screen_and_on_paper(opened, open_page, artefact, m, k):
    look_at(many_models(m, k), opened, open_page, artefact)


@pytest.mark.long
@pytest.mark.parametrize("k", [2, 10, 24, 1000])
@pytest.mark.parametrize("m", [1, 8, 50])
def test_it_reads_on_every_screen_and_on_paper_whatever_the_size(opened, open_page, artefact, m, k):
    if (m, k) == (50, 1000):
        pytest.skip("12 MB, which nobody would send")
    look_at(many_models(m, k), opened, open_page, artefact)


def test_scores_alone_read_as_well(opened, open_page, artefact):
    audit = many_models(3, 10, robust=False)
    look_at(audit, opened, open_page, artefact)
    page = opened(audit)
    assert "was not measured, which takes the model" in page.locator(".key").nth(1).text_content()
    assert page.locator("table.heat caption").text_content() == "GREAT score, on its scale from 0 to 1.253"


def test_what_attacks_and_refuters_found_is_in_the_table_and_in_the_sentences(opened):
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
    said = page.locator(".key").nth(1).text_content()
    assert said == "Attacked by AutoAttack (standard), Linf 0.1, 61.0 % [50.0 %, 70.0 %] stay correct."
    why = page.locator(".why").text_content()
    assert "Under autoattack (Linf, eps = 0.1) 61.0 % [50.0 %, 70.0 %] of 40 samples keep their true class." in why
    assert "Radius reading refuted on 61.0 % of samples (40 tried, by bisection). There the model is fooled" in why
    heads = page.locator("table.classes thead th").all_text_contents()
    assert heads[1] == "radii refuted"
    assert heads[4] == "accuracy under autoattack"
    assert column(page, 2)[0] == "61.0 % [50.0 %, 70.0 %]"


def test_published_numbers_have_no_curves_and_say_so(opened):
    page = opened(published_audit("cifar10"))
    assert page.locator("#m0 .temperature").text_content().endswith("This result holds no scores by temperature.")
    assert page.locator("table.heat tbody tr").count() == 17
    assert faults(page) == []
