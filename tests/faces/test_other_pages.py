"""The pages of a repair and of a leaderboard in a real browser: as readable as the report, on every screen."""

import re
from functools import cache

import numpy as np
import pytest
from measuring import faults, torn_numbers

import gfscore
from gfscore.cli.main import run
from gfscore.outputs.figures import figure_bytes, repair_frontier
from gfscore.outputs.report.leaderboard_page import leaderboard_page
from gfscore.outputs.report.repair_page import repair_page
from gfscore.results import Repair, Training
from many_models import many_models

PHONE, PAPER = {"width": 400, "height": 800}, {"width": 680, "height": 1000}
LOOKS = {
    "wide": {},
    "wide-dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE},
    "phone-dark": {"viewport": PHONE, "color_scheme": "dark"},
    "paper": {"viewport": PAPER, "color_scheme": "dark"},
}


@cache
def repaired(k: int = 10) -> Repair:
    """A repair of random logits, of which the first classes are the weakest."""
    rng, labels = np.random.default_rng(0), np.arange(150 * k) % k
    logits = rng.normal(0, 1, (len(labels), k)) + np.linspace(1.2, 4, k)[labels][:, None] * np.eye(k)[labels]
    return gfscore.repair(logits, labels)


def trained() -> Repair:
    """The same as though a network had been trained, with baselines and curves."""
    result, k = repaired(), 10
    start = [0.3 + 0.6 * place / k for place in range(k)]
    epochs = [
        {
            "number": number,
            "lr": 0.01,
            "eps": 0.1,
            "trained": start,
            "clean": start,
            "watched": 0.5,
            "robust": [each + number / 100 for each in start],
        }
        for number in range(1, 6)
    ]
    judged = result.decisive.model_dump()
    training = Training.model_validate(
        {
            "inner": "nfgsm",
            "epochs": 5,
            "done": 5,
            "chosen": 4,
            "lr": 0.01,
            "batch": 128,
            "seed": 0,
            "is_ramped": False,
            "train_n": 1000,
            "select_n": 500,
            "held_n": 500,
            "train_source": "made up",
            "forward_passes": 1,
            "backward_passes": 1,
            "then": "bias",
            "start_clean": start,
            "start_robust": start,
            "curves": epochs,
            "baselines": [
                {"name": name, "gained": False, "epoch": 5, "bias": result.bias, "judged": judged, "against": judged}
                for name in ("at", "average")
            ],
        }
    )
    return result.model_copy(update={"training": training, "method": "faal"})


MADE = {
    "repair": lambda: repair_page(repaired()),
    "repair-of-many": lambda: repair_page(repaired(30)),
    "repair-by-training": lambda: repair_page(trained()),
    "leaderboard": lambda: leaderboard_page(gfscore.leaderboard([many_models(8, 10)])),
}
FIGURES = {"repair": 2, "repair-of-many": 2, "repair-by-training": 3, "leaderboard": 0}


@pytest.mark.parametrize("name", MADE)
def test_it_reads_on_every_screen_and_on_paper(open_page, tmp_path, artefact, accessibility, name):
    path = tmp_path / "page.html"
    path.write_text(MADE[name](), encoding="utf-8")
    for look, options in LOOKS.items():
        page = open_page(**options)
        page.goto(path.as_uri())
        if look == "paper":
            page.emulate_media(media="print")
        page.screenshot(path=artefact(f"{look}.png"), full_page=True)
        assert faults(page) == [], look
        assert torn_numbers(page, "td, .key") == [], look
        sizes = page.locator(".drawn img").evaluate_all(
            "all => all.map(e => (e.clientWidth - 2 * parseFloat(getComputedStyle(e).paddingLeft)) / e.naturalWidth)"
        )
        assert len(sizes) == FIGURES[name]
        assert all(size > 0.99 for size in sizes), look  # letters are as large as they were drawn
        if look != "paper":
            assert accessibility(page) == []
            dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
            assert dark == look.endswith("dark")


@pytest.mark.parametrize("name", MADE)
def test_each_number_has_its_heading_beside_it_on_a_phone(open_page, tmp_path, name):
    page = open_page(viewport=PHONE)
    path = tmp_path / "page.html"
    path.write_text(MADE[name](), encoding="utf-8")
    page.goto(path.as_uri())
    cells = page.locator("td").evaluate_all(
        """cells => cells.map(e => {
          const range = document.createRange();
          range.selectNodeContents(e);
          const [first, ...others] = [...range.getClientRects()].filter(box => box.width > 0).map(box => box.left);
          return [getComputedStyle(e, "::before").content, first ?? 400, Math.min(first ?? 400, ...others)];
        })"""
    )
    assert all(heading not in ("none", '""') or name == "leaderboard" for heading, _, _ in cells)
    assert sum(heading in ("none", '""') for heading, _, _ in cells) == (8 if name == "leaderboard" else 0)  # strips
    assert all(left > 140 for _, _, left in cells)  # what a cell holds stands beside its heading, on every line


@pytest.mark.parametrize(("style", "inches"), [("paper", 3.25), ("paper-wide", 6.75)])
def test_the_command_draws_a_repair_and_a_leaderboard_for_a_paper(tmp_path, capsys, style, inches):
    trained().save(tmp_path / "repair.json")
    board = gfscore.leaderboard([many_models(8, 10)])
    board.save(tmp_path / "board.json")
    out = tmp_path / "figures"
    for result in (tmp_path, tmp_path / "board.json"):
        words = ["figures", str(result), "--style", style, "--format", "svg", "--out", str(out), "--quiet"]
        assert run(words) == 0, capsys.readouterr().err
    assert {path.stem for path in out.iterdir()} == {"arrows", "frontier", "training", "ranks"}
    for path in out.iterdir():
        width = re.search(r'<svg[^>]*? width="([0-9.]+)pt"', path.read_text(encoding="utf-8"))[1]
        assert float(width) / 72 == pytest.approx(inches, abs=0.01)


def test_a_figure_of_another_kind_of_result_is_refused_by_name(tmp_path, capsys):
    repaired().save(tmp_path / "repair.json")
    assert run(["figures", str(tmp_path), "--only", "forest", "--out", str(tmp_path / "out")]) == 2
    assert "forest is no figure of a repair. Choose from: arrows, frontier, training." in capsys.readouterr().err
    assert run(["figures", str(tmp_path), str(tmp_path / "repair.json")]) == 2
    assert "Name one file." in capsys.readouterr().err


def test_places_along_an_axis_have_different_names():
    """Where the means of all trade-offs are near each other, tenths of a per cent were written twice."""
    result = repaired()
    near = [
        point.model_copy(update={"mean": 0.9941 + place / 10_000, "clean": 0.9941 + place / 10_000})
        for place, point in enumerate(result.frontier)
    ]
    ends = {"unrepaired": near[0], "chosen": near[-1]}
    svg = figure_bytes(repair_frontier(result.model_copy(update={"frontier": near, **ends})), ".svg").decode()
    places = re.findall(r">(99\.\d+%)</text>", svg)
    assert len(places) == len(set(places)) > 2
