"""Whether a repair is one: intervals, the test of the worst part, and a bias on models in memory."""

import numpy as np
import pytest
from scipy import stats

from gfscore.errors import OptionError
from gfscore.inputs.models.biased import with_bias
from gfscore.judge.repairs import judge_parts, samples_to_show, worst_gain
from gfscore.judge.robust_changes import sign_p_values


def test_every_part_and_the_mean_are_what_a_loop_finds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 900)
    before, after = rng.random(900) < 0.5, rng.random(900) < np.array([0.5, 0.9, 0.1])[codes]
    found = judge_parts("clean", ["a", "b", "c"], (before * 1.0, after * 1.0), codes, delta=0.05)
    for part, name in enumerate("abc"):
        entry = found.parts[part]
        assert (entry.name, entry.n) == (name, (codes == part).sum())
        assert entry.before.value == pytest.approx(before[codes == part].mean())
        assert entry.after.value == pytest.approx(after[codes == part].mean())
        assert entry.before.interval[0] < entry.before.value < entry.before.interval[1]
        assert entry.change.interval[0] < entry.change.value < entry.change.interval[1]
    assert [entry.verdict for entry in found.parts] == ["unclear", "gained", "paid"]
    assert found.before == pytest.approx(np.mean([before[codes == part].mean() for part in range(3)]))
    assert found.change.interval[0] < found.after - found.before < found.change.interval[1]
    assert (found.worst_before.class_, found.worst_after.class_) == (
        "abc"[np.argmin([before[codes == part].mean() for part in range(3)])],
        "c",
    )
    assert [entry.name for entry in found.of("gained")] == ["b"]


def test_intervals_of_one_table_hold_together():
    times, delta, failed = 300, 0.2, 0
    rng = np.random.default_rng(1)
    truth = np.array([[0.3, 0.5], [0.6, 0.55], [0.8, 0.8], [0.5, 0.45]])
    codes = np.repeat(np.arange(4), 80)
    for _ in range(times):
        draw = rng.random(320)  # one number for both: most samples do not change
        before, after = (draw < truth[codes, side] for side in (0, 1))
        found = judge_parts("clean", list("abcd"), (before * 1.0, after * 1.0), codes, delta=delta)
        pairs = [(entry.before, truth[k, 0]) for k, entry in enumerate(found.parts)]
        pairs += [(entry.after, truth[k, 1]) for k, entry in enumerate(found.parts)]
        pairs += [(entry.change, truth[k, 1] - truth[k, 0]) for k, entry in enumerate(found.parts)]
        pairs += [(found.change, (truth[:, 1] - truth[:, 0]).mean())]
        failed += any(not entry.interval[0] <= true <= entry.interval[1] for entry, true in pairs)
    assert stats.binomtest(failed, times, delta, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize(
    "shares",
    [
        ([0.3, 0.5, 0.5], [0.3, 0.5, 0.5]),  # nothing changes
        ([0.3, 0.5, 0.5], [0.6, 0.3, 0.5]),  # another part is now where the worst was
        ([0.3, 0.3, 0.3], [0.6, 0.6, 0.3]),  # one of several that were worst stays
    ],
)
def test_a_gain_that_is_none_is_shown_no_more_often_than_delta(shares):
    times, delta, shown = 1000, 0.1, 0
    rng, codes = np.random.default_rng(0), np.repeat(np.arange(3), 60)
    before, after = (np.array(each)[codes] for each in shares)
    for _ in range(times):
        draw = rng.random((2, 180))
        held = draw[0] < before, draw[rng.integers(0, 2)] < after
        shown += worst_gain(held, codes, [0, 1, 2], delta=delta).is_shown
    assert stats.binomtest(shown, times, delta, alternative="greater").pvalue > 0.001


def test_a_clear_gain_is_shown_and_what_falls_short_is_named():
    codes = np.repeat([0, 1], 200)
    before = np.tile(np.arange(200), 2) < np.repeat([40, 120], 200)
    after = np.tile(np.arange(200), 2) < np.repeat([90, 110], 200)
    found = worst_gain((before, after), codes, [0, 1], delta=0.05)
    assert (found.is_shown, found.weakest, found.short) == (True, 0, ())
    sunk = np.tile(np.arange(200), 2) < np.repeat([90, 41], 200)
    assert worst_gain((before, sunk), codes, [0], delta=0.05).short == (1,)


def test_a_tie_for_the_worst_hides_no_gain():
    """On the samples that chose another class was weakest: that one is the next that is tried."""
    codes = np.repeat([0, 1], 500)
    before = np.tile(np.arange(500), 2) < np.repeat([320, 345], 500)
    after = np.tile(np.arange(500), 2) < np.repeat([358, 407], 500)
    assert not worst_gain((before, after), codes, [1], delta=0.05).is_shown
    assert worst_gain((before, after), codes, [1, 0], delta=0.05).is_shown


@pytest.mark.parametrize(("won", "lost"), [(3, 0), (4, 1), (10, 6)])
def test_the_number_that_would_show_a_gain_does(won, lost):
    needed = samples_to_show(won, lost, 20, 0.05)
    scale = needed / 20
    assert sign_p_values(np.array([int(won * scale)]), np.array([int(np.ceil(lost * scale))]))[0] <= 0.05
    p_value = stats.binomtest(int(won * scale), int(won * scale) + int(np.ceil(lost * scale)), alternative="greater")
    assert p_value.pvalue <= 0.05


def test_a_bias_on_a_classifier_is_on_its_decisions():
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(300, 4)), np.arange(300) % 3
    rows[:, :3] += np.eye(3)[labels]
    fitted = sklearn.LogisticRegression().fit(rows, labels)
    bias = np.array([1.0, 0.0, -1.0])
    moved = with_bias(fitted, bias)
    assert moved(rows) == pytest.approx(fitted.decision_function(rows) + bias, abs=1e-5)


def test_a_bias_on_a_module_is_a_module_with_gradients():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(4, 3)
    moved = with_bias(net, [1.0, 0.0, -1.0])
    assert isinstance(moved, torch.nn.Module)
    inputs = torch.zeros(2, 4, requires_grad=True)
    assert torch.allclose(moved(inputs), net(inputs) + torch.tensor([1.0, 0.0, -1.0]))
    moved(inputs).sum().backward()
    assert inputs.grad is not None
    assert "class_bias" in moved.state_dict()


def test_a_path_is_no_model_in_memory():
    with pytest.raises(OptionError, match=r"net.onnx is a path or spec. Say --out"):
        with_bias("net.onnx", [0.0, 1.0])
