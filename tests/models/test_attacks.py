"""Attacks as a measure: what a block finds is its own, and nothing is attacked twice."""

from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from gfscore.attacks import ScoredRun, cross_check, under_attack
from gfscore.engines.local import shard_by_shard
from gfscore.errors import OptionError
from gfscore.inputs.data import load_data
from gfscore.inputs.models import load_model
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores
from gfscore.measures import Assault, Attacks, Run
from gfscore.measures.attack_remarks import tell
from gfscore.samples import Samples
from gfscore.scores import great_scores
from gfscore.storage.store import Store

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
PGD = Assault(norm="linf", eps=0.1, quick=True)


@pytest.fixture
def run(tmp_path):
    return Run(model=load_model("zoo:standard"), data=load_data("zoo:digits"), store=Store(tmp_path))


def outcomes(run, measure, blocks):
    with shard_by_shard(run, measure) as give:
        return [give(block)[0] for block in blocks]


def test_a_block_finds_the_same_whatever_is_attacked_beside_it(run, tmp_path):
    measure = Attacks.of(PGD, [np.arange(100, 160)], block=20)
    alone = outcomes(replace(run, store=Store(tmp_path / "other")), measure, [2])
    assert 0 < np.nanmean(alone[0]) < 1
    np.testing.assert_array_equal(outcomes(run, measure, [0, 2, 1])[1], alone[0])
    longer = Attacks.of(PGD, [np.arange(140, 160), np.arange(30)], block=20)
    np.testing.assert_array_equal(outcomes(run, longer, [0])[0], alone[0])
    everything = measure.compute(run, slice(0, 60))
    np.testing.assert_array_equal(everything[40:], alone[0])


def test_a_larger_budget_goes_on_where_a_smaller_one_ended(run, monkeypatch):
    measure, attacked = Attacks.of(PGD, [np.arange(60)], block=20), []
    kept = Attacks._withstood

    def watched(self, run, rows):
        attacked.extend(rows.tolist())
        return kept(self, run, rows)

    monkeypatch.setattr(Attacks, "_withstood", watched)
    first = outcomes(run, measure, [0])
    assert attacked == list(range(20))
    again = outcomes(run, measure, [0, 1])
    assert attacked == list(range(40))
    np.testing.assert_array_equal(again[0], first[0])
    (entry,) = (each for each in run.store.entries() if each.content == "attacked")
    next(entry.path.glob("shard-000001*")).write_bytes(b"torn")
    np.testing.assert_array_equal(outcomes(run, measure, [1])[0], again[1])
    assert attacked == [*range(40), *range(20, 40)]


def test_what_is_wrong_anyway_is_broken_and_places_without_a_sample_are_empty(run):
    predicted = run.logits_of(run.pixels(slice(0, 300))).argmax(axis=1)
    wrong = np.flatnonzero(predicted != run.data.labels[:300])[:2]
    found = outcomes(run, Attacks.of(PGD, [wrong, [5]], block=4), [0, 1])
    np.testing.assert_array_equal(found[0][:, 0], [0, 0, np.nan, np.nan])
    assert np.isnan(found[1][1:]).all()


def test_the_recipe_knows_attack_order_and_seed(run):
    one = Attacks.of(PGD, [[1, 2, 3]], block=2)
    others = [
        replace(one, assault=replace(PGD, quick=False)),
        replace(one, assault=replace(PGD, eps=0.05)),
        replace(one, seed=1),
        Attacks.of(PGD, [[2, 1, 3]], block=2),
        Attacks.of(PGD, [[1, 2, 3]], block=4),
    ]
    assert len({run.recipe(each).key for each in (one, *others)}) == 6


def test_autoattack_breaks_what_the_quick_attack_breaks_and_that_is_nearly_all(run):
    rows = np.arange(20)
    (quick,) = outcomes(run, Attacks.of(PGD, [rows], block=20), [0])
    (strong,) = outcomes(run, Attacks.of(replace(PGD, quick=False), [rows], block=20), [0])
    assert not (strong > quick).any()
    assert (quick > strong).sum() <= 1


def test_a_cross_check_goes_on_where_it_was_and_times_only_what_it_did(run, tmp_path, monkeypatch):
    samples = Samples.of(run.logits_of(run.pixels(slice(0, None))), run.data.labels)
    subject = ScoredRun(run=run, samples=samples, local=great_scores(samples))
    audited = audit_scores(samples, subject.local, Options(), name="standard")
    monkeypatch.setattr(under_attack, "TOGETHER", 20)
    attacked, kept = [], Attacks._withstood
    monkeypatch.setattr(
        Attacks, "_withstood", lambda self, of, rows: attacked.append(len(rows)) or kept(self, of, rows)
    )
    first = cross_check.with_cross_check(audited, subject, PGD, per_class=6, delta=0.05).cross_check
    assert set(first.seconds) == {"pgd", "forward passes", "great from logits", "first-order"}
    whole = attacked.copy()
    assert len(whole) == 3
    (entry,) = (each for each in run.store.entries() if each.content == "attacked")
    next(entry.path.glob("shard-000001*")).write_bytes(b"torn")
    again = cross_check.with_cross_check(audited, subject, PGD, per_class=6, delta=0.05).cross_check
    assert attacked == [*whole, whole[1]]
    assert set(again.seconds) == {"forward passes", "great from logits"}
    assert again.model_copy(update={"seconds": {}}) == first.model_copy(update={"seconds": {}})


def test_remarks_of_autoattack_are_kept_block_by_block(run):
    class Probabilities:
        """The model, with probabilities instead of logits, which AutoAttack's own check notices."""

        def __init__(self, module):
            self.module, self.scale = module, module.scale

        def __call__(self, images):
            return self.module(images).softmax(dim=1)

    rows = np.flatnonzero(run.logits_of(run.pixels(slice(0, 40))).argmax(axis=1) == run.data.labels[:40])[:6]
    measure = Attacks.of(replace(PGD, quick=False), [rows], block=4, remarks=True)
    plain = measure.compute(run, slice(0, 8))
    run.__dict__["_module"] = Probabilities(run.differentiable())
    told = measure.compute(run, slice(0, 8))
    assert plain.shape == told.shape == (8, 3)
    assert np.isnan(told[6:]).all()
    sign = 2**1  # the second of the signs
    assert (plain[:6, 1].astype(int) & sign == 0).all()
    assert (told[:6, 1].astype(int) & sign == sign).all()
    assert tell(told[::4, 1:], 6)[0] == (
        "outputs look like probabilities, which hide gradients: give logits (in 2 of 2 blocks)"
    )


def test_bad_attacks_are_refused():
    with pytest.raises(OptionError, match=r"^norm 'l7' is not known. Choose l2 or linf.$"):
        Assault(norm="l7", eps=0.1)
    with pytest.raises(OptionError, match=r"^eps 0 is not the size of an attack. Give one in \[0, 1\] pixels, such as"):
        Assault(norm="l2", eps=0)
