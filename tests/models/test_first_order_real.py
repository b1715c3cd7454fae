"""First-order radii of networks that others trained, against their accuracy under PGD."""

from importlib.util import find_spec

import numpy as np
import pytest

from first_order_tables import ROBUST, TEN, class_shares, disordered, networks, share
from gfscore.measures.slopes import Gradients
from gfscore.ranking import spearman
from gfscore.scores.margin_slopes import REFINE
from gfscore.storage.store import Store

pytestmark = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")


@pytest.mark.parametrize("name", ["cifar_conv_small_pgd", "cifar_base_kw"])
def test_the_share_of_radii_above_eps_predicts_accuracy_under_attack(realdata, tmp_path, name):
    store = Store(tmp_path)
    (net,) = networks(realdata, [name])
    audit = net.audit(net.radii(store, gradients=Gradients.YES, refine=REFINE), store)
    assert abs(share(audit) - net.pgd) < 0.02
    assert spearman(class_shares(audit), net.pgd_classes) >= 0.90
    assert audit.flags == ()


def test_forward_passes_alone_find_nearly_the_same_share(realdata, tmp_path):
    store = Store(tmp_path)
    (net,) = networks(realdata, ["cifar_cnn_a_adv"], first=300)
    exact, forward = (net.radii(store, gradients=gradients) for gradients in (Gradients.YES, Gradients.NO))
    shares = [share(net.audit(local, store)) for local in (exact, forward)]
    assert abs(shares[0] - shares[1]) < 4 * forward.settings["share_error"]
    assert np.corrcoef(exact.values, forward.values)[0, 1] > 0.95
    assert forward.flags == ()


def passes_and_before(audit):
    """Forward passes an image, and those of 64 directions both ways, with half the step at 64 samples."""
    n = audit.samples.n
    return audit.score.settings["forward_passes"] / n, 1 + 128 * audit.accuracy * (1 + 64 / n)


def test_the_side_of_one_eps_takes_less_than_half_the_passes_and_finds_the_same_share(realdata, tmp_path):
    store = Store(tmp_path)
    (net,) = networks(realdata, ["cifar_cnn_a_adv"], first=300)
    whole = net.radii(store, gradients=Gradients.NO)
    sides = net.audit(net.radii(store, gradients=Gradients.NO, decide=True), store)
    taken, before = passes_and_before(sides)
    assert taken <= before / 2
    assert abs(share(sides) - share(net.audit(whole, store))) < 4 * whole.settings["share_error"]


@pytest.mark.long
def test_the_table_of_forward_passes_on_ten_networks_is_met(realdata, tmp_path):
    """At most half of what 64 directions both ways took, and off from PGD by no more than those were (docs)."""
    store, nets = Store(tmp_path), networks(realdata, TEN)
    audits = [net.audit(net.radii(store, gradients=Gradients.NO, decide=True), store) for net in nets]
    assert len(nets) == 10
    for net, audit in zip(nets, audits, strict=True):
        taken, before = passes_and_before(audit)
        assert taken <= before / 2, net.name
    off = [abs(share(audit) - net.pgd) for net, audit in zip(nets, audits, strict=True)]
    assert np.mean(off) <= 0.0157
    assert max(off) <= 0.0405


@pytest.mark.long
def test_gradients_predict_pgd_over_eight_networks(realdata, tmp_path):
    store, nets = Store(tmp_path), networks(realdata)
    audits = [net.audit(net.radii(store, gradients=Gradients.YES), store) for net in nets]
    estimates, truths = [share(audit) for audit in audits], [net.pgd for net in nets]
    assert len(nets) == 8
    assert np.abs(np.subtract(estimates, truths)).mean() < 0.02
    assert spearman(estimates, truths) >= 0.95
    assert disordered(estimates, truths, apart=0.02) == 0
    for net, audit in zip(nets, audits, strict=True):
        if net.pgd > ROBUST:
            assert spearman(class_shares(audit), net.pgd_classes) >= 0.90, net.name
        assert not {"zero_gradient", "broken_gradient"} & {flag.code for flag in audit.flags}, net.name


@pytest.mark.long
def test_forward_passes_predict_pgd_over_eight_networks(realdata, tmp_path):
    store, nets = Store(tmp_path), networks(realdata)
    audits = [net.audit(net.radii(store, gradients=Gradients.NO), store) for net in nets]
    off = [abs(share(audit) - net.pgd) for net, audit in zip(nets, audits, strict=True)]
    assert np.mean(off) < 0.03
    for net, audit in zip(nets, audits, strict=True):
        per_image = audit.score.settings["forward_passes"] / len(net.data.labels)
        assert per_image < 1 + 64 * (1 + 64 / len(net.data.labels)) + 1, net.name  # clean, 64 directions, half a step
