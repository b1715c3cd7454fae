"""Every training method against its formula, written out again with loops, on random statistics."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from gfscore.training import STRATEGIES
from gfscore.training.class_statistics import Tally
from gfscore.training.methods import Batch
from gfscore.training.methods.csr import confusion_penalty
from gfscore.training.methods.dafa import similarity_weights

K, N = 5, 60


def softmax(logits):
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return raised / raised.sum(axis=1, keepdims=True)


@pytest.fixture(params=range(3))
def drawn(request):
    """Labels, logits before and after an attack, and their statistics."""
    rng = np.random.default_rng(request.param)
    labels = rng.integers(0, K, N)
    clean = rng.normal(0, 1, (N, K)) + 2 * np.eye(K)[labels]
    attacked = clean + rng.normal(0, 1, (N, K))
    tally = Tally.empty(K)
    for half in (slice(0, 23), slice(23, None)):  # pieces add up
        tally.add(labels[half], clean[half], attacked[half])
    return Batch(labels=labels, clean=clean, attacked=attacked), tally.statistics()


def test_statistics_are_what_they_are_called(drawn):
    batch, found = drawn
    before, after = softmax(batch.clean), softmax(batch.attacked)
    for k in range(K):
        rows = np.flatnonzero(batch.labels == k)
        assert found.counts[k] == len(rows)
        right = [batch.clean[i].argmax() == k for i in rows]
        stands = [batch.attacked[i].argmax() == k for i in rows]
        assert found.clean_accuracy[k] == pytest.approx(np.mean(right))
        assert found.robust_accuracy[k] == pytest.approx(np.mean(stands))
        assert found.boundary_error[k] == pytest.approx(
            np.mean([r and not s for r, s in zip(right, stands, strict=True)])
        )
        assert found.clean_loss[k] == pytest.approx(np.mean([-math.log(before[i, k]) for i in rows]))
        kl = [sum(before[i, j] * math.log(before[i, j] / after[i, j]) for j in range(K)) for i in rows]
        assert found.boundary_loss[k] == pytest.approx(np.mean(kl))
        assert found.robust_loss[k] == pytest.approx(np.mean([-math.log(after[i, k]) for i in rows]))
        margins = [max(after[i, j] for j in range(K) if j != k) - after[i, k] for i in rows]
        assert found.margins[k] == pytest.approx(np.mean(margins))
        for j in range(K):
            assert found.confusion[k, j] == pytest.approx(np.mean([batch.attacked[i].argmax() == j for i in rows]))
            assert found.probabilities[k, j] == pytest.approx(after[rows, j].mean())


def test_plain_methods_weigh_all_alike(drawn):
    batch, _ = drawn
    plain, trades = (STRATEGIES[name](K).terms(batch) for name in ("at", "trades"))
    assert (plain.clean.sum(), plain.boundary.sum(), plain.attacked.sum()) == (0, 0, N)
    assert (trades.clean.sum(), trades.boundary.sum(), trades.attacked.sum()) == (N, N, 0)
    assert STRATEGIES["trades"](K).beta.tolist() == [6.0] * K


def test_faal_weighs_the_margins_of_the_batch_by_the_worst_of_its_ball(drawn):
    batch, statistics = drawn
    weights = STRATEGIES["faal"](K).terms(batch).attacked
    by_class = np.array([weights[batch.labels == k][0] for k in range(K)]) / K
    assert np.log((1 / K) / by_class).mean() == pytest.approx(0.5)  # on the edge of the ball
    # the condition of optimality: margin_k + s u / p_k is the same number for all classes
    scale = np.linalg.lstsq(np.stack([-1 / by_class, np.ones(K)], axis=1), statistics.margins, rcond=None)[0]
    assert scale[0] > 0
    assert -scale[0] / by_class + scale[1] == pytest.approx(statistics.margins, abs=1e-9)


def test_faal_leaves_out_classes_that_a_batch_has_not(drawn):
    batch, _ = drawn
    some = batch.labels < 3
    few = Batch(labels=batch.labels[some], clean=None, attacked=batch.attacked[some])
    weights = STRATEGIES["faal"](K).class_weights(few)
    assert weights[3:].tolist() == [0, 0]
    assert weights[:3].sum() == pytest.approx(3)


def test_coda_weighs_standardised_class_losses(drawn):
    batch, statistics = drawn
    strategy, loss = STRATEGIES["coda"](K), statistics.robust_loss
    strategy.size = 0.2  # of the ball: small enough that no class of these draws is left out
    expected = 1 + math.sqrt(0.2) * (loss - loss.mean()) / loss.std()
    assert expected.min() > 0
    assert strategy.terms(batch).attacked == pytest.approx(expected[batch.labels])


def test_wat_is_hedge_over_the_classes_and_their_mean(drawn):
    batch, statistics = drawn
    strategy, total = STRATEGIES["wat"](K), np.zeros(K + 1)
    for _ in range(3):
        strategy.after_epoch(statistics, statistics)
        cost = [statistics.clean_loss[k] + 6 * statistics.boundary_loss[k] for k in range(K)]
        total += [*cost, sum(cost) / K]
    raised = np.array([math.exp(0.1 * each) for each in total])
    shares = raised / raised.sum()
    terms = strategy.terms(batch)
    for i, label in enumerate(batch.labels):
        assert terms.clean[i] == pytest.approx(K * (shares[label] + shares[K] / K))
    assert terms.boundary.tolist() == terms.clean.tolist()


@pytest.mark.parametrize(("method", "tolerance"), [("frl", 0.1), ("frl-remargin", 0.07)])
def test_frl_raises_multipliers_by_its_rule(method, tolerance, drawn):
    batch, held = drawn
    strategy, own = STRATEGIES[method](K), {"clean": np.zeros(K), "boundary": np.zeros(K), "margin": np.zeros(K)}
    for _ in range(40):
        strategy.after_epoch(held, held)
        for name, step in (("clean", 0.05), ("boundary", 0.1), ("margin", 0.2)):
            error = 1 - held.clean_accuracy if name == "clean" else held.boundary_error
            for k in range(K):
                own[name][k] = max(0.0, own[name][k] + step * (error[k] - sum(error) / K - tolerance))
            if sum(own[name]) > 0.5:
                own[name] = own[name] * 0.5 / sum(own[name])
    terms, u = strategy.terms(batch), 1 / K
    for i, label in enumerate(batch.labels):
        for name, weights in (("clean", terms.clean), ("boundary", terms.boundary)):
            lam = own[name]
            assert weights[i] == pytest.approx(K * (u + lam[label] - u * sum(lam)))
    larger = [min(max(math.exp(2 * each), 0.98), 3) for each in own["margin"]]
    assert max(larger) > 1
    assert strategy.radius == pytest.approx(larger if method == "frl-remargin" else np.ones(K))
    assert strategy.beta.tolist() == [1.5] * K


def test_frl_bounds_what_multipliers_sum_to(drawn):
    held = replace(drawn[1], boundary_error=np.array([0.9, 0.0, 0.0, 0.8, 0.0]))
    strategy = STRATEGIES["frl"](K)
    for _ in range(60):
        strategy.after_epoch(held, held)
    found = strategy.state["boundary"]
    assert found.sum() == pytest.approx(0.5)
    assert found[0] > found[3] > 0
    assert strategy.weights("boundary") == pytest.approx(1 + K * found - 0.5)


def test_cfa_follows_the_robust_accuracy_of_training(drawn):
    batch, trained = drawn
    strategy = STRATEGIES["cfa"](K)
    assert strategy.radius.tolist() == [1.0] * K  # before the first epoch
    strategy.after_epoch(trained, trained)
    assert strategy.radius == pytest.approx([0.3 + each for each in trained.robust_accuracy])
    assert strategy.beta == pytest.approx([6 * (0.5 + each) for each in trained.robust_accuracy])
    terms = strategy.terms(batch)
    for i, label in enumerate(batch.labels):
        assert terms.clean[i] == terms.boundary[i] == pytest.approx(1 / (1 + strategy.beta[label]))
    assert strategy.moves_average(trained) is bool(trained.robust_accuracy.min() >= 0.2)


def test_csr_weighs_the_direction_of_the_largest_singular_value(drawn):
    batch, attacked = drawn
    strategy = STRATEGIES["csr"](K)
    strategy.before_epoch(attacked)
    errors = attacked.confusion.T - np.diag(np.diag(attacked.confusion))
    right = np.ones(K) / math.sqrt(K)
    for _ in range(5000):  # power iteration, independent of the singular value decomposition
        right = errors.T @ (errors @ right)
        right /= np.linalg.norm(right)
    left = errors @ right / np.linalg.norm(errors @ right)
    outer = np.outer(left, right)
    expected = 0.01 + 2 * (outer - outer.min()) / (outer.max() - outer.min())
    assert strategy.state["penalty"] == pytest.approx(expected, abs=1e-6)
    terms = strategy.terms(batch)
    for i, label in enumerate(batch.labels):
        assert terms.attacked[i] == pytest.approx(0.3 * expected[batch.attacked[i].argmax(), label], abs=1e-6)
    assert set(terms.clean) == {0.7}
    assert set(terms.boundary) == {1.0}
    assert (confusion_penalty(np.eye(3)) == 1).all()  # nothing is confused


def test_dafa_lets_similar_classes_share(drawn):
    batch, trained = drawn
    s, expected = trained.probabilities, []
    for i in range(K):
        total = 1.0
        for j in range(K):
            if j != i:
                total += s[i, j] * s[j, j] if s[i, i] < s[j, j] else -s[j, i] * s[i, i]
        expected.append(total)
    assert similarity_weights(s) == pytest.approx(expected)
    strategy = STRATEGIES["dafa"](K)
    strategy.after_epoch(trained, trained)
    first = strategy.radius.copy()
    assert first == pytest.approx(expected)
    strategy.after_epoch(Tally.empty(K).statistics(), trained)  # once and for all
    assert strategy.radius.tolist() == first.tolist()
    assert strategy.terms(batch).clean == pytest.approx(first[batch.labels])


def test_bat_is_its_formula(drawn):
    torch = pytest.importorskip("torch")
    batch, _ = drawn
    rng = np.random.default_rng(7)
    points = {name: rng.normal(size=(N, K)) for name in ("clean", "right", "wrong")}
    tensors = {name: torch.from_numpy(each) for name, each in points.items()}
    found = STRATEGIES["bat"](K).extra_loss(torch, {**tensors, "labels": torch.from_numpy(batch.labels)}).numpy()
    clean, right, wrong = (softmax(points[name]) for name in ("clean", "right", "wrong"))
    for i, label in enumerate(batch.labels):
        expected = -math.log(right[i, label])
        expected += 6 * sum(clean[i, j] * math.log(clean[i, j] / wrong[i, j]) for j in range(K))
        expected += sum(right[i, j] * math.log(K * right[i, j]) for j in range(K))
        expected += sum(wrong[i, j] * math.log(K * wrong[i, j]) for j in range(K))
        assert found[i] == pytest.approx(expected)


def test_every_method_says_where_it_is_from_and_what_it_costs():
    asked = {"faal", "coda", "wat", "frl", "cfa", "bat", "csr", "dafa", "at", "trades"}
    assert set(STRATEGIES) == asked | {"frl-remargin"}
    for strategy in STRATEGIES.values():
        assert strategy.reference
        assert ".. math::" in strategy.__doc__ or ":math:" in strategy.__doc__
        assert "Costs" in strategy.__doc__


def test_every_method_names_a_paper_that_can_be_found():
    for strategy in STRATEGIES.values():
        number = re.search(r"arXiv:(\d{2})(\d{2})\.\d{5}", strategy.reference)
        assert number is not None, strategy.name
        assert int(number[2]) in range(1, 13)
        year = int(re.search(r" (20\d\d),", strategy.reference)[1])
        assert year - 2000 - int(number[1]) in (0, 1)  # published in the year of the preprint, or in the next
        assert number[0] in strategy.__doc__


@pytest.mark.parametrize("method", ["trades", "wat", "frl", "cfa", "bat", "csr", "dafa"])
def test_the_weight_of_the_divergence_is_the_one_that_is_said(method, drawn):
    torch = pytest.importorskip("torch")
    batch, statistics = drawn
    one, three = (STRATEGIES[method](K, beta) for beta in (1.0, 3.0))
    if method == "bat":  # it has the divergence in a term of its own
        logits = {name: torch.from_numpy(batch.clean) for name in ("clean", "right")}
        logits |= {"wrong": torch.from_numpy(batch.attacked), "labels": torch.from_numpy(batch.labels)}
        rise = (three.extra_loss(torch, logits) - one.extra_loss(torch, logits)).numpy()
        before, after = softmax(batch.clean), softmax(batch.attacked)
        assert rise == pytest.approx(2 * (before * np.log(before / after)).sum(axis=1))
        return
    assert one.beta.tolist() == [1.0] * K
    assert three.beta.tolist() == [3.0] * K
    if method == "cfa":
        three.after_epoch(statistics, statistics)
        assert three.beta == pytest.approx(3 * (0.5 + statistics.robust_accuracy))
    if method == "wat":
        three.after_epoch(statistics, statistics)
        assert three.state["costs"][:K] == pytest.approx(statistics.clean_loss + 3 * statistics.boundary_loss)
