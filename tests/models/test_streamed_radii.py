"""First-order radii of a stream: the numbers of the audit that holds everything, from sums that merge in any order."""

import itertools
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

import gfscore
from gfscore.cli.main import run as command
from gfscore.engines.local import first_order_rows, summed
from gfscore.errors import FileError, ModelError, SamplesError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import CallableModel, load_model
from gfscore.jobs import radius_trust
from gfscore.judge import radius_flags
from gfscore.judge.robust_accuracy import eps_ladder
from gfscore.measures import RadiusSums, Run, radii
from gfscore.measures.summary_files import _metadata, summary_from_bytes, summary_to_bytes
from gfscore.scores import FirstOrder, Norm, RadiusCounts
from gfscore.storage.store import Store
from gfscore.summaries import merge_summaries

with_gradients = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")
EPS = 2 / 255
HOW = FirstOrder(norm="linf", eps=EPS, directions=4)
LADDER = tuple(eps_ladder(Norm.LINF, EPS, HOW.largest))


def digits_run(folder, n_per_class=None, model=None):
    model = model or load_model("zoo:trades", threads=1)
    return Run(model=model, data=load_data("zoo:digits", n_per_class=n_per_class), store=Store(folder), batch_size=32)


def audits(folder, **words):
    """The audit that holds everything, and the one that keeps sums."""
    words = {"model": "zoo:trades", "data": "zoo:digits", "permutations": 0, **words}
    return [gfscore.audit(store=folder / str(stream), stream=stream, **words).model for stream in (False, True)]


def assert_alike(whole, streamed):
    for one, other in zip(whole.classes, streamed.classes, strict=True):
        assert other.score == pytest.approx(one.score, rel=1e-12)
        assert other.accuracy == one.accuracy
    assert [flag.code for flag in streamed.flags] == [flag.code for flag in whole.flags]
    found, expected = streamed.robustness, whole.robustness
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.rungs == expected.rungs  # shares are counts, divided once: equal to the last bit
        assert found.classes == expected.classes
        assert_same_settings(found.settings, expected.settings)


def assert_same_settings(found, expected):
    """Counts and words as they are, whatever is summed to 1e-9."""
    assert found == {
        name: pytest.approx(value, rel=1e-9) if isinstance(value, float) else value for name, value in expected.items()
    }


def contents(summary):
    """Everything in the file of a summary: all of it was read into its checksum."""
    return _metadata(summary_to_bytes(summary))["checksum"]


BESIDE = (
    pytest.param({}, marks=with_gradients),
    {"gradients": "no", "directions": 4},
    {"gradients": "no", "directions": 4, "radii": 7, "eps": 3 / 255},
    pytest.param({"radii": "all", "norm": "l2"}, marks=with_gradients),
)
AS_SCORE = (
    pytest.param({"norm": "linf", "eps": EPS}, marks=with_gradients),
    {"norm": "l2", "gradients": "no", "directions": 4},
    {"norm": "linf", "gradients": "no", "directions": 4, "eps": EPS},
)


@pytest.mark.parametrize("words", BESIDE)
def test_robust_accuracy_beside_a_stream_is_that_of_the_audit_that_holds_everything(tmp_path, words):
    whole, streamed = audits(tmp_path, **words)
    assert_alike(whole, streamed)
    assert streamed.robustness is not None


@pytest.mark.parametrize("words", AS_SCORE)
def test_a_stream_of_radii_has_the_scores_of_the_audit_that_holds_everything(tmp_path, words):
    whole, streamed = audits(tmp_path, score="first-order", interval="kl", **words)
    assert_alike(whole, streamed)
    score = {**streamed.score.model_dump(), "settings": None}
    assert score == {**whole.score.model_dump(), "settings": None}
    assert_same_settings(streamed.score.settings, whole.score.settings)
    # KL needs the mean alone. Sums have no order to bet on for the RDI, so they spend its share of the level on a bound
    # of the best class instead, which cuts all upper ends: that one number is theirs, and nothing else differs.
    highest = max(entry.interval[1] for entry in streamed.classes)
    assert highest >= max(entry.score for entry in whole.classes)
    for one, other in zip(whole.classes, streamed.classes, strict=True):
        assert other.interval == pytest.approx((one.interval[0], min(one.interval[1], highest)), rel=1e-9)
    assert streamed.claim == whole.claim
    assert not [
        path for path in (tmp_path / "True").rglob("*") if path.suffix == ".safetensors" and "sum" not in path.name
    ]


@with_gradients
@pytest.mark.parametrize("words", [{}, {"score": "first-order", "norm": "l2"}, {"radii": 30}])
def test_a_stream_doubts_radii_by_the_samples_that_the_other_audit_looks_at(tmp_path, monkeypatch, words):
    real, seen = radius_trust._look, []

    def looking(*arguments):
        seen.append(real(*arguments))
        return seen[-1]

    monkeypatch.setattr(radius_trust, "_look", looking)
    monkeypatch.setattr(radius_flags, "MOST_STILL_RIGHT", -1.0)
    monkeypatch.setattr(radius_flags, "LEAST_SPREAD", 2.0)
    whole, streamed = audits(tmp_path, **words)
    assert_alike(whole, streamed)
    assert {"boundary_not_there", "slopes_in_few_pixels"} <= {flag.code for flag in streamed.flags}
    one, other = seen
    assert len(one.spread) > 30
    np.testing.assert_array_equal(one.still_right, other.still_right)
    assert other.spread == pytest.approx(one.spread, rel=1e-6)


def test_no_radii_are_measured_where_none_are_wanted(tmp_path):
    whole, streamed = audits(tmp_path, radii="none")
    assert_alike(whole, streamed)
    assert streamed.robustness is None


def test_pieces_are_merged_in_any_order_and_any_number_to_the_same_bytes(tmp_path):
    run = digits_run(tmp_path, 12)
    measure = RadiusSums(how=HOW, ladder=LADDER, gradients=False, per_class=8)
    cuts = [0, 31, 64, 90, run.n_samples]
    pieces = [measure.compute(run, slice(*ends)) for ends in itertools.pairwise(cuts)]
    first = merge_summaries(pieces)
    for order in itertools.permutations(pieces):
        assert contents(merge_summaries(order)) == contents(first)
    whole, cut = (replace(each, radii=None) for each in (measure.compute(run, slice(0, run.n_samples)), first))
    assert contents(cut) == contents(whole)
    assert first.radii.all_settings() == pytest.approx(measure.compute(run, slice(0, 120)).radii.all_settings())


def test_every_radius_counts_where_it_is_counted_by_hand(tmp_path):
    run = digits_run(tmp_path, 6)
    measure = RadiusSums(how=HOW, ladder=LADDER, gradients=False)
    found = measure.compute(run, slice(0, run.n_samples))
    local = first_order_rows(run, np.arange(run.n_samples), HOW)
    by_hand = [[int((local.values[run.data.labels == label] > eps).sum()) for eps in LADDER] for label in range(10)]
    assert found.radii.above.tolist() == by_hand
    assert found.n_rows == found.n_samples == run.n_samples


def test_rows_of_which_none_is_drawn_add_nothing(tmp_path):
    run = digits_run(tmp_path)
    measure = RadiusSums(how=HOW, ladder=LADDER, gradients=False, per_class=1)
    drawn = measure.drawn(run)
    gap = slice(int(drawn[3]) + 1, int(drawn[4]))
    nothing, something = measure.compute(run, gap), measure.compute(run, slice(0, gap.start))
    assert (nothing.n_samples, nothing.n_rows) == (0, gap.stop - gap.start)
    for pair in ((nothing, something), (something, nothing)):
        merged = merge_summaries([summary_from_bytes(summary_to_bytes(each)) for each in pair])
        assert (merged.n_samples, merged.n_rows) == (4, gap.stop)
        assert merged.radii.kind == something.radii.kind


def test_sums_of_radii_that_differ_are_not_merged(tmp_path):
    run = digits_run(tmp_path, 3)
    one = RadiusSums(how=HOW, ladder=LADDER, gradients=False).compute(run, slice(0, 30))
    other = replace(one, radii=replace(one.radii, settings={**one.radii.settings, "step": 0.02}))
    with pytest.raises(SamplesError, match="pieces differ in how their radii were found"):
        merge_summaries([one, other])
    with pytest.raises(SamplesError, match="pieces differ in whether radii are counted"):
        merge_summaries([one, replace(one, radii=None)])


@pytest.mark.parametrize("damage", ["more above a larger eps", "fewer rows", "another number", "another shape"])
def test_counts_that_no_radii_have_are_refused(tmp_path, damage):
    one = RadiusSums(how=HOW, ladder=LADDER, gradients=False).compute(digits_run(tmp_path, 3), slice(0, 30))
    counts = one.radii
    broken: dict[str, RadiusCounts] = {
        "more above a larger eps": replace(counts, above=counts.above[:, ::-1] + np.arange(len(LADDER))),
        "fewer rows": replace(counts, rows=29),
        "another number": replace(counts, totals={**counts.totals, "samples": 31}),
        "another shape": replace(counts, above=counts.above[:9]),
    }
    with pytest.raises(FileError, match="holds sums that no samples have"):
        summary_from_bytes(summary_to_bytes(replace(one, radii=broken[damage])))


@pytest.mark.parametrize(("per_class", "ladder"), [(None, ()), (70, LADDER)])
def test_a_stream_that_was_stopped_goes_on_where_it_was(tmp_path, monkeypatch, per_class, ladder):
    measure = RadiusSums(how=HOW, ladder=ladder, gradients=False, per_class=per_class)
    whole = summed(digits_run(tmp_path / "whole"), measure)
    real, computed = radii.radii_of_piece, []

    def stopping(run, rows, *more, **words):
        if len(computed) == 1:
            raise KeyboardInterrupt
        computed.append(rows.tolist())
        return real(run, rows, *more, **words)

    monkeypatch.setattr(radii, "radii_of_piece", stopping)
    with pytest.raises(KeyboardInterrupt):
        summed(digits_run(tmp_path / "stopped"), measure)
    done = computed[0]

    def going_on(run, rows, *more, **words):
        computed.append(rows.tolist())
        return real(run, rows, *more, **words)

    monkeypatch.setattr(radii, "radii_of_piece", going_on)
    again = summed(digits_run(tmp_path / "stopped"), measure)
    assert contents(again) == contents(whole)
    rows = [row for piece in computed for row in piece]
    assert len(rows) == len(set(rows)) == again.n_samples  # nothing twice, nothing lost
    assert done == rows[: len(done)]


def test_what_radii_lack_is_judged_of_all_of_them_and_not_of_a_shard(tmp_path):
    """A model that rounds its input has no slope anywhere: each shard is summed, and the whole is refused."""
    onnx = load_model("zoo:standard", threads=1)
    model = CallableModel(lambda inputs: onnx(np.round(16 * inputs) / 16), name="rounded", fingerprint="1")
    words = {"stream": True, "store": tmp_path, "score": "first-order", "norm": "l2", "directions": 2}
    with pytest.raises(ModelError, match="882 of 882 correct samples have no first-order radius"):
        gfscore.audit(model=model, data="zoo:digits", **words)
    beside = gfscore.audit(model=model, data="zoo:digits", stream=True, store=tmp_path, permutations=0).model
    assert beside.robustness is None
    assert any(flag.code == "no_radii" and "no first-order radius" in flag.message for flag in beside.flags)


def test_an_early_look_at_radii_has_no_shares_and_holds_at_any_time(tmp_path, capsys):
    run = ["audit", "--stream", "--model", "zoo:noise", "--data", "generator:zoo", "--n-per-class", "150"]
    how = ["--score", "first-order", "--norm", "linf", "--eps", "2/255", "--directions", "2"]
    assert command([*run, *how, "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    looks = [line for line in printed.err.splitlines() if "(early look)" in line]
    assert looks
    assert all("robust" not in line for line in looks)
    assert "Robust accuracy" in printed.out or "robust accuracy" in printed.out
