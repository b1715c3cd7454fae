"""Models ranked by their worst class: ranks hold as often as stated, and what was measured otherwise stands apart."""

import csv
import io
import json

import numpy as np
import pytest
from scipy import stats

import gfscore
from gfscore.bounds import clopper_pearson
from gfscore.cli.main import run
from gfscore.errors import GFScoreError, SamplesError
from gfscore.outputs.leaderboard_text import ordinal, place_text, ranks_text
from gfscore.ranking import rank_intervals
from gfscore.results import (
    AttackedPart,
    Audit,
    CrossCheck,
    DataInfo,
    FewAttacks,
    Leaderboard,
    Metric,
    ModelInfo,
    PreprocessingInfo,
    Robustness,
    RobustPart,
    Rung,
    RunInfo,
)

EPS, N = 2 / 255, 100
RNG = np.random.default_rng(0)
LABELS = np.arange(60) % 3
PLAIN = gfscore.audit(
    RNG.normal(0, 1, (60, 3)) + 2 * np.eye(3)[LABELS], LABELS, class_names=["ant", "bee", "cow"], permutations=0
).model


def run_on(data="test.npz", digest="d1"):
    how = PreprocessingInfo(mean=(0.0,), std=(1.0,), resize=None, crop=None, interpolation="bilinear", grey=False)
    return RunInfo(
        model=ModelInfo(name="m", fingerprint="f"), data=DataInfo(source=data, fingerprint=digest), preprocessing=how
    )


def net(name, *right, eps=EPS, norm="linf", n=N, **more):
    """A model with so many radii of each class above eps, of n."""
    names = [entry.name for entry in PLAIN.classes]
    shares = [Metric(value=times / n, interval=(0, 1)) for times in right]
    worst = names[int(np.argmin(right))]
    rung = Rung(eps=eps, value=np.mean(right) / n, worst=worst, worst_set=tuple(names), classes=tuple(shares))
    robust = Robustness(
        kind="estimated",
        norm=norm,
        eps=eps,
        n=3 * n,
        delta=0.05,
        classes=tuple(RobustPart(name=each, n=n, size=n) for each in names),
        rungs=(rung,),
    )
    return PLAIN.model_copy(update={"name": name, "robustness": robust, "run": run_on(), **more})


def attacked(name, *shares, few=False, delta=0.05, width=0.05, attack="autoattack", target="population"):
    """A model that was attacked, with intervals of a width around the shares."""
    parts = [Metric(value=share, interval=(max(0, share - width), min(1, share + width))) for share in shares]
    classes = tuple(
        entry.model_copy(update={"attacked": part}) for entry, part in zip(PLAIN.classes, parts, strict=True)
    )
    budget = FewAttacks(
        budget=50,
        attacked=40,
        right=200,
        n=300,
        block=10,
        mistaken=1,
        predicted=0.5,
        predictor="by gradients",
        classes=tuple(
            AttackedPart(name=entry.name, n=100, right=80, attacked=13, mistaken=0, predicted=0.5, **part.model_dump())
            for entry, part in zip(PLAIN.classes, parts, strict=True)
        ),
        worst=min(parts, key=lambda part: part.value),
        worst_class="ant",
        worst_set=("ant",),
        gap=Metric(value=0.1),
        gini=Metric(value=0.1),
        delta=delta,
        target=target,
        seed=0,
    )
    check = CrossCheck(
        attack=attack,
        norm="linf",
        eps=EPS,
        n=300,
        accuracy=Metric(value=float(np.mean(shares))),
        delta=delta,
        seconds={},
        scores={},
        agreement={},
        few=budget if few else None,
    )
    return PLAIN.model_copy(update={"name": name, "classes": classes, "cross_check": check, "run": run_on()})


def test_rank_intervals_are_what_all_values_in_the_intervals_allow():
    """Against every order of values on a grid inside of them."""
    for _ in range(30):
        low = RNG.integers(0, 5, 3)
        high = low + RNG.integers(0, 4, 3)
        grids = np.stack(np.meshgrid(*[np.arange(a, b + 1) for a, b in zip(low, high, strict=True)], indexing="ij"), -1)
        points = grids.reshape(-1, 3)
        best = 1 + (points[:, None, :] > points[:, :, None]).sum(axis=2).min(axis=0)
        worst = 3 - (points[:, None, :] < points[:, :, None]).sum(axis=2).min(axis=0)
        first, last = rank_intervals(low, high)
        np.testing.assert_array_equal((first, last), (best, worst))
    with pytest.raises(SamplesError, match="a lower and an upper end of each model"):
        rank_intervals([0.5], [0.4])


def false_ranks(draws, shares, n, delta, seed=0):
    """How often some rank of the job's leaderboard misses the true one; shares are (M, K)."""
    rng, missed = np.random.default_rng(seed), 0
    truth = np.asarray(shares).min(axis=1)
    for _ in range(draws):
        counts = rng.binomial(n, shares)
        board = gfscore.leaderboard([net(f"{place}", *row, n=n) for place, row in enumerate(counts)], delta=delta)
        for model in board.models:
            own = truth[int(model.name)]
            best, worst = 1 + (truth > own).sum(), len(truth) - (truth < own).sum()
            if not (model.ranks[0] <= best and worst <= model.ranks[1]):
                missed += 1
                break
    return missed


SETTINGS = {
    "alike": [[0.5, 0.5, 0.5]] * 4,
    "apart": [[0.2, 0.6, 0.9], [0.4, 0.4, 0.4], [0.6, 0.9, 0.9], [0.45, 0.9, 0.5]],
    "near the ends": [[0.0, 0.5, 1.0], [0.02, 0.02, 1.0], [0.98, 1.0, 0.99], [1.0, 1.0, 1.0]],
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_ranks_hold_together_as_often_as_stated(setting):
    missed = false_ranks(40, SETTINGS[setting], 40, delta=0.2)
    assert stats.binomtest(missed, 40, 0.2, alternative="greater").pvalue > 0.001


@pytest.mark.long
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n", [10, 200])
def test_ranks_hold_together_as_often_as_stated_in_many_draws(setting, n):
    missed = false_ranks(500, SETTINGS[setting], n, delta=0.2, seed=1)
    assert stats.binomtest(missed, 500, 0.2, alternative="greater").pvalue > 0.001


def test_the_level_is_shared_by_the_models_and_their_classes():
    board = gfscore.leaderboard([net("a", 90, 80, 70), net("b", 30, 80, 40), net("c", 60, 65, 70)], delta=0.06)
    assert board.delta == pytest.approx(0.06)
    low, high = clopper_pearson([90, 80, 70], [N] * 3, 0.06 / 3)
    assert board.models[0].worst.interval == pytest.approx((low.min(), high.min()))
    assert [(model.name, model.rank, model.ranks, model.worst_class) for model in board.models] == [
        ("a", 1, (1, 2), "cow"),
        ("c", 2, (1, 2), "ant"),
        ("b", 3, (3, 3), "ant"),
    ]
    assert (board.kind, board.norm, board.eps, board.data) == ("estimated", "linf", EPS, "test.npz")


def test_equal_models_share_their_rank():
    board = gfscore.leaderboard([net("b", 50, 60, 70), net("a", 50, 90, 90), net("c", 10, 10, 10)])
    assert [(model.name, model.rank) for model in board.models] == [("a", 1), ("b", 1), ("c", 3)]


def test_what_was_measured_otherwise_stands_apart_and_is_not_last():
    alike = [net("a", 90, 80, 70), net("b", 30, 80, 40)]
    other = {
        "no radii": (
            PLAIN.model_copy(update={"name": "no radii"}),
            "it has no robust accuracy, which takes the model.",
        ),
        "l2": (net("l2", 9, 9, 9, norm="l2"), "it was measured in L2, the others in Linf."),
        "eps": (net("eps", 9, 9, 9, eps=8 / 255), "it is known at 8/255, not at 2/255."),
        "data": (net("data", 9, 9, 9, run=run_on("other.npz", "d2")), "it was run on other data than the others"),
        "names": (
            net("names", 9, 9, 9, classes=tuple(e.model_copy(update={"name": e.name * 2}) for e in PLAIN.classes)),
            "it has other classes than the others.",
        ),
    }
    board = gfscore.leaderboard([*alike, *(model for model, _ in other.values())])
    assert [model.name for model in board.models] == ["a", "b"]
    assert board.models[1].ranks == (2, 2)
    assert [each.name for each in board.unranked] == list(other)
    for each in board.unranked:
        assert each.reason.startswith(other[each.name][1])
    assert "(other.npz)" in board.unranked[3].reason


def test_the_kind_is_the_strongest_that_all_have():
    both = [
        attacked(name, *shares).model_copy(update={"robustness": net(name, 50, 50, 50).robustness})
        for name, shares in {"a": (0.5, 0.6, 0.7), "b": (0.2, 0.3, 0.4)}.items()
    ]
    board = gfscore.leaderboard(both)
    assert (board.kind, board.delta) == ("attacked", pytest.approx(0.1))
    assert [(model.name, model.ranks, model.worst.interval) for model in board.models] == [
        ("a", (1, 1), pytest.approx((0.45, 0.55))),
        ("b", (2, 2), pytest.approx((0.15, 0.25))),
    ]
    third = net("c", 90, 90, 90)
    assert gfscore.leaderboard([*both, third]).kind == "estimated"
    asked = gfscore.leaderboard([*both, third], by="attacked")
    assert [each.name for each in asked.unranked] == ["c"]
    few = [attacked("a", 0.5, 0.6, 0.7, few=True), attacked("b", 0.2, 0.3, 0.4, few=True)]
    bounded = gfscore.leaderboard(few)
    assert (bounded.kind, bounded.models[0].n, bounded.delta) == ("bounded", 40, pytest.approx(0.1))
    assert "an interval that holds for the attack" in " ".join(str(bounded).split())


def test_another_attack_or_target_stands_apart():
    """A kinder attack leaves more: beside AutoAttack it would rank too high."""
    alike = [attacked("a", 0.5, 0.6, 0.7), attacked("b", 0.2, 0.3, 0.4)]
    board = gfscore.leaderboard([*alike, attacked("quick", 0.6, 0.6, 0.7, attack="pgd")])
    assert [model.name for model in board.models] == ["a", "b"]
    assert [each.reason for each in board.unranked] == ["it was attacked by pgd, the others by autoattack."]
    few = [
        attacked(name, 0.5, 0.6, 0.7, few=True, target=of)
        for name, of in zip("abc", ["finite"] * 2 + ["population"], strict=True)
    ]
    (apart,) = gfscore.leaderboard(few).unranked
    assert apart.reason == "its intervals are for --target population, those of the others for --target finite."


@pytest.mark.parametrize(
    ("audits", "words", "message"),
    [
        ([PLAIN, PLAIN], {}, "none of the models has a robust accuracy"),
        ([net("a", 9, 9, 9)], {}, "a leaderboard ranks at least two models, and 1 can be ranked here."),
        (
            [net("a", 9, 9, 9), PLAIN],
            {},
            "ranks at least two models, and 1 can be ranked here. model: it has no robust",
        ),
        ([net("a", 9, 9, 9)] * 2, {"by": "great"}, "--by 'great' is no kind of robust accuracy. Choose attacked,"),
        ([net("a", 9, 9, 9)] * 2, {"eps": 0.5}, "0 can be ranked here. a (audit 1): it is known at 2/255, not at 0.5."),
        ([5, 6], {}, "an audit is int. Give results of gfscore.audit, or audit.json files."),
        ([attacked(str(place), 0.5, 0.5, 0.5) for place in range(20)], {}, "Check each with --delta 0.0025."),
        ([net("a", 9, 9, 9)] * 2, {"delta": 2}, "2"),
    ],
)
def test_what_cannot_be_ranked_is_a_sentence(audits, words, message):
    with pytest.raises(GFScoreError) as caught:
        gfscore.leaderboard(audits, **words)
    assert message in str(caught.value)


def test_places_are_said_as_people_say_them():
    board = gfscore.leaderboard([net("a", 90, 80, 70), net("b", 60, 65, 70), net("c", 10, 80, 40)])
    assert [ranks_text(model) for model in board.models] == ["1st to 2nd", "1st to 2nd", "3rd"]
    assert place_text(board.models[0]) == "is between 1st and 2nd"
    assert place_text(board.models[2]) == f"is {ordinal(3)}"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nets = [net("<b>net</b>", 90, 80, 70), net("a-network-with-a-long-name.onnx", 60, 65, 70), net("=1+1", 10, 80, 40)]
    for place, each in enumerate([*nets, PLAIN.model_copy(update={"name": "logits"})]):
        Audit(models=(each,), provenance=gfscore.audit([[2, 0], [0, 2]], [0, 1]).provenance).save(f"{place}.json")
    return ["0.json", "1.json", "2.json", "3.json"]


def test_the_command_writes_page_table_picture_and_json(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    outs = [word for name in ("b.html", "b.csv", "b.json", "b.png") for word in ("-o", name)]
    assert run(["leaderboard", *files, *outs]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    for text in (
        "a-network-with-a-long-name.onnx",
        "1st to 2nd",
        "estimated, no bound",
        "Not ranked, which is not last:",
    ):
        assert text in printed
    page = (tmp_path / "b.html").read_text()
    assert "&lt;b&gt;net&lt;/b&gt;" in page
    assert "<b>net" not in page
    assert "script-src" not in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "estimated, no bound" in page
    rows = list(csv.DictReader(io.StringIO((tmp_path / "b.csv").read_text())))
    assert [row["rank"] for row in rows] == ["1", "2", "3", ""]
    assert rows[3]["not_ranked"].startswith("it has no robust accuracy")
    assert not rows[2]["model"].startswith("=")  # which a spreadsheet would compute
    board = Leaderboard.load("b.json")
    assert board.models[0].name == "<b>net</b>"
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert run(["leaderboard", *files, *outs]) == 0  # and again
    assert "4 earlier files in" in capsys.readouterr().err
    assert run(["leaderboard", *files, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["models"] == json.loads(board.to_json())["models"]
    assert run(["leaderboard", *files, "-o", "b.xlsx"]) == 2
    assert "--out b.xlsx has the ending '.xlsx'. End it in one of .html, .csv, .json" in capsys.readouterr().err


def test_it_shows_itself_in_a_notebook(files):
    board = gfscore.leaderboard(files)
    assert "&lt;b&gt;net" in board._repr_html_()
    assert "1st to 2nd" in repr(board)
    assert type(board.plot()).__module__.startswith("altair")
