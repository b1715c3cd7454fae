"""Refuters on networks: what is no radius falls, what is one stands, and what cannot be tried is said."""

import json
import math
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from gfscore.attacks import Refuter, ScoredRun, refute, with_refutation
from gfscore.attacks.gradient_attacks import confidence_gradients, minimal_attacks
from gfscore.errors import ModelError, OptionError
from gfscore.inputs.data import Data, load_data
from gfscore.inputs.models import CallableModel, load_model, wrap_module
from gfscore.inputs.models.gradients import TOLERANCE, differentiable, rounding_errors
from gfscore.inputs.preprocessing import Preprocessing
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_scores
from gfscore.measures import Run
from gfscore.measures.sized_attacks import autoattack, quick_attack
from gfscore.measures.targets import Targets, verify
from gfscore.outputs import sentences
from gfscore.samples import Samples
from gfscore.scores import great_scores, local_scores

needs_attacks = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
SIDE, CLASSES = 8, 4


def subject(run, n, **scoring):
    samples = Samples.of(run.logits_of(run.pixels(slice(0, n))), run.data.labels[:n])
    return ScoredRun(run=run, samples=samples, local=great_scores(samples, **scoring))


def images(pixels, labels):
    return Data(
        source="made up", labels=labels, layout="NCHW", digest=lambda: "made-up", read=lambda rows: pixels[rows]
    )


@pytest.fixture(scope="module")
def lipschitz():
    """Orthogonal layers and sorted pairs, so logits move no further than pixels.

    The Jacobian of softmax has norm at most 1/2 and a difference of two of its entries at most 1/sqrt(2): logits times
    2/sqrt(pi) make the margin of confidences exactly sqrt(2/pi)-Lipschitz, and the GREAT score a true radius.
    """
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)

    class Sorted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (torch.nn.Linear(SIDE * SIDE, SIDE * SIDE, bias=False) for _ in range(2))
            torch.nn.init.orthogonal_(self.first.weight)
            torch.nn.init.orthogonal_(self.second.weight)

        def forward(self, x):
            pairs = self.first((x - 0.5).flatten(1)).unflatten(1, (-1, 2))
            return 2 / math.sqrt(math.pi) * self.second(pairs.sort(dim=2).values.flatten(1))[:, :CLASSES]

    return wrap_module(Sorted().eval(), name="orthogonal")


def corners(rng):
    return rng.random((400, 1, SIDE, SIDE), dtype=np.float32).round()  # black and white: no way out of the cube


def interior(rng):
    return rng.random((400, 1, SIDE, SIDE), dtype=np.float32)


def labelled(model, pixels, **scoring):
    """Images whose labels are what the network says."""
    labels = model(pixels).argmax(axis=1).astype(np.int64)
    return subject(Run(model=model, data=images(pixels, labels)), len(pixels), **scoring)


@needs_attacks
@pytest.mark.parametrize("drawn", [corners, interior])
def test_a_network_with_a_true_lipschitz_bound_is_refuted_on_none(lipschitz, drawn):
    tested = labelled(lipschitz, drawn(np.random.default_rng(0)))
    found = refute(tested, list(Refuter), per_class=20)
    assert len(found.rows) == 20 * CLASSES
    assert tested.local.values[found.rows].mean() > 0.05  # not refuted for want of a claim
    assert not found.refuted.any()
    assert not found.violated.any()


@needs_attacks
@pytest.mark.parametrize("halvings", [14, 20, 24])
def test_rounding_near_the_boundary_does_not_violate_a_premise_that_holds(lipschitz, halvings):
    """Radii down to a hundred-millionth, over which float32 logits change by little more than their rounding."""
    rng = np.random.default_rng(1)
    inside, beyond = interior(rng), interior(rng)
    labels = lipschitz(inside).argmax(axis=1)
    low, high = np.zeros((400, 1, 1, 1)), np.ones((400, 1, 1, 1))

    def between(share):
        return (inside + share * (beyond - inside)).astype(np.float32)

    for _ in range(halvings):
        middle = (low + high) / 2
        same = (lipschitz(between(middle)).argmax(axis=1) == labels)[:, None, None, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    tested = labelled(lipschitz, between(low)[lipschitz(beyond).argmax(axis=1) != labels])
    found = refute(tested, [Refuter.PREMISE], per_class=None)
    assert len(found.rows) > 200
    assert np.median(tested.local.values) < 4 / 2**halvings
    assert not found.violated.any()


@needs_attacks
@pytest.mark.parametrize("drawn", [corners, interior])
def test_the_same_network_is_refuted_when_its_score_is_blown_up(lipschitz, drawn):
    """A low temperature raises every score and moves no boundary: the refuters are not blind on this network."""
    tested = labelled(lipschitz, drawn(np.random.default_rng(0)), temperature=0.02)
    assert refute(tested, [Refuter.ATTACK], per_class=20).refuted.all()
    assert refute(tested, [Refuter.BISECTION], per_class=20).refuted.mean() >= 0.9
    found = refute(tested, [Refuter.PREMISE], per_class=20)
    targets = Targets(
        classify=tested.run.logits_of,
        pixels=tested.run.data.images(slice(None))[found.rows],
        labels=found.labels,
        radii=tested.local.values[found.rows],
    )
    gradients = confidence_gradients(targets, tested.run.differentiable(), activation="softmax", temperature=0.02)
    slopes = np.linalg.norm(gradients.reshape(len(gradients), -1), axis=1) / math.sqrt(2 / math.pi)
    assert (slopes > 1.05).sum() > 10
    assert found.violated[slopes > 1.05].all()
    assert not found.violated[slopes < 0.5].any()  # where confidences are saturated, a short step sees nothing


def real(folder, name, n, batch_size=128):
    entry = next(
        entry
        for entry in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        if entry["file"] == f"models/{name}.onnx"
    )
    preprocessing = Preprocessing(mean=tuple(entry["mean"]), std=tuple(entry["std"]))
    model, data = load_model(folder / entry["file"]), load_data(folder / "cifar10_test.npz")
    return subject(Run(model=model, data=data, preprocessing=preprocessing, batch_size=batch_size), n)


@needs_attacks
@pytest.mark.parametrize(
    ("n", "per_class"), [(200, 2), pytest.param(2000, 30, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_the_score_of_a_standard_resnet_is_refuted_on_nearly_all_its_correct_samples(realdata, n, per_class):
    tested = real(realdata, "cifar_resnet20", n)
    found = refute(tested, [Refuter.ATTACK], per_class=per_class)
    assert len(found.rows) == 10 * per_class
    assert found.refuted.mean() > 0.9
    for pair in found.strongest:  # looked at once more, here
        assert np.linalg.norm((pair.witness - pair.sample).ravel().astype(np.float64)) < pair.radius
        logits = tested.run.logits_of(pair.witness[None])
        assert logits.argmax() == pair.predicted != tested.samples.labels[pair.row]


@needs_attacks
def test_a_saved_witness_is_one_to_anybody_who_loads_it(realdata, tmp_path):
    """With numpy and onnxruntime alone; the pixels of the picture would not do."""
    onnxruntime = pytest.importorskip("onnxruntime")
    tested = real(realdata, "cifar_resnet20", 100)
    found = refute(tested, [Refuter.ATTACK], per_class=1)
    audited = audit_scores(tested.samples, tested.local, Options(permutations=0), name="../a net")
    witnesses = with_refutation(audited, tested, found, delta=0.05, folder=tmp_path).claim.witnesses
    assert len(witnesses) > 5
    session = onnxruntime.InferenceSession(realdata / "models" / "cifar_resnet20.onnx")
    how = tested.run.preprocessing

    def label(pixels):
        mean, std = (np.array(values).reshape(3, 1, 1) for values in (how.mean, how.std))
        inputs = ((pixels - mean) / std)[None].astype(np.float32)
        return session.run(None, {session.get_inputs()[0].name: inputs})[0].argmax()

    still = 0
    for witness in witnesses:
        assert (tmp_path / witness.data).resolve().is_relative_to(tmp_path)
        pair = np.load(tmp_path / witness.data, allow_pickle=False)
        assert pair["sample"].dtype == pair["witness"].dtype == np.float32
        assert (str(pair["label_name"]), str(pair["predicted_name"])) == (witness.class_, witness.predicted)
        assert (label(pair["sample"]), label(pair["witness"])) == (pair["label"], pair["predicted"])
        apart = np.linalg.norm((pair["witness"].astype(np.float64) - pair["sample"]).ravel())
        assert apart == pytest.approx(witness.distance, rel=1e-12)
        assert witness.distance == pair["distance"] < pair["radius"] == witness.radius
        still += label(np.rint(255 * pair["witness"]) / 255) == pair["predicted"]
    assert still < len(witnesses)  # why the picture is not enough


def linear(weights):
    """A linear network and twenty images that small attacks do not move to black or white."""
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, len(weights), bias=False)).eval()
    module[1].weight.data = torch.from_numpy(weights)
    pixels = (0.3 + 0.4 * np.random.default_rng(1).random((20, 1, 8, 8))).astype(np.float32)
    return labelled(wrap_module(module, name="linear"), pixels)


@needs_attacks
def test_the_gradient_of_the_margin_is_its_slope():
    tested = linear(0.1 * np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32))
    pixels, labels = tested.run.data.images(slice(None)), tested.samples.labels
    targets = Targets(classify=tested.run.logits_of, pixels=pixels, labels=labels, radii=tested.local.values)
    direction = np.random.default_rng(1).standard_normal(pixels.shape).astype(np.float32)
    logits_of, module = tested.run.logits_of, tested.run.differentiable()
    for activation, temperature in (("softmax", 0.5), ("sigmoid", 2.0)):
        gradients = confidence_gradients(targets, module, activation=activation, temperature=temperature)
        ahead, behind = (
            local_scores(logits_of(pixels + h * direction), labels, activation=activation, temperature=temperature)
            for h in (1e-3, -1e-3)
        )
        slopes = (ahead - behind) / 2e-3 * math.sqrt(2 / math.pi)
        np.testing.assert_allclose((gradients * direction).sum(axis=(1, 2, 3)), slopes, atol=2e-3)


@needs_attacks
def test_rounding_of_logits_is_measured_in_double_precision_or_bounded_by_what_was_checked():
    tested = linear(np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32))
    pixels, logits, module = tested.run.data.images(slice(None)), tested.samples.logits, tested.run.differentiable()
    exact = pixels.reshape(20, 64).astype(np.float64) @ module.inner[1].weight.detach().numpy().astype(np.float64).T
    np.testing.assert_allclose(
        rounding_errors(module, pixels, logits), np.abs(logits - exact).max(axis=1), rtol=0, atol=1e-13
    )
    assert module.inner[1].weight.dtype == module.scale.dtype  # still single precision
    module.inner[1]._apply = None  # what does not turn into doubles
    for scale in (1, 1e-5):  # relative, as the check of a converted network is
        unknown = rounding_errors(module, pixels, scale * logits)
        np.testing.assert_allclose(unknown, TOLERANCE * np.abs(scale * logits).max())


@needs_attacks
@pytest.mark.parametrize("norm", ["linf", pytest.param("l2", marks=pytest.mark.long)])
def test_attacks_of_a_size_break_what_lies_within_it_and_nothing_else(norm):
    """A linear network: which samples lie within eps of another class is known exactly."""
    weights = np.random.default_rng(0).standard_normal((5, 64)).astype(np.float32)
    tested = linear(weights)
    pixels, labels, logits = tested.run.data.images(slice(None)), tested.samples.labels, tested.samples.logits
    apart = weights[labels][:, None] - weights
    norms = np.abs(apart).sum(axis=2) if norm == "linf" else np.linalg.norm(apart, axis=2)
    with np.errstate(invalid="ignore"):
        truth = np.nanmin((logits.max(axis=1)[:, None] - logits) / norms, axis=1)
    eps = float(np.median(truth))
    clear = np.abs(truth - eps) > 0.03 * eps
    targets = Targets(classify=tested.run.logits_of, pixels=pixels, labels=labels, radii=np.full(20, eps), norm=norm)
    by_autoattack, remarks = autoattack(targets, tested.run.differentiable(), "NCHW", n_classes=5)
    assert remarks == ()
    np.testing.assert_array_equal(by_autoattack.found[clear], (truth < eps)[clear])
    quick = quick_attack(targets, tested.run.differentiable())
    np.testing.assert_array_equal(quick.found[clear], (truth < eps)[clear])


@needs_attacks
@pytest.mark.parametrize("norm", ["linf", "l2"])
@pytest.mark.parametrize("scale", [1, 1000])
def test_the_quick_attack_breaks_two_classes_too_however_sure_they_are(norm, scale):
    """Two logits are too few for the DLR loss; and the gradient of a cross-entropy of such logits is 0."""
    weights = scale * np.random.default_rng(3).standard_normal((2, 64)).astype(np.float32)
    tested = linear(weights)
    logits, labels = tested.samples.logits, tested.samples.labels
    length = np.abs(weights[0] - weights[1]).sum() if norm == "linf" else np.linalg.norm(weights[0] - weights[1])
    truth = np.abs(logits[:, 0] - logits[:, 1]) / length
    eps = float(np.median(truth))
    clear = np.abs(truth - eps) > 0.03 * eps
    pixels = tested.run.data.images(slice(None))
    targets = Targets(classify=tested.run.logits_of, pixels=pixels, labels=labels, radii=np.full(20, eps), norm=norm)
    quick = quick_attack(targets, tested.run.differentiable())
    np.testing.assert_array_equal(quick.found[clear], (truth < eps)[clear])


@needs_attacks
def test_fab_finds_a_boundary_beyond_1_that_lies_inside_the_radius():
    """Two classes, told apart by a plane at L2 distance 1.1, and a claimed radius of 1.2."""
    torch = pytest.importorskip("torch")
    plane = torch.nn.Linear(64, 2)
    plane.weight.data = torch.tensor([[0.125], [-0.125]]).expand(2, 64).clone()
    plane.bias.data = torch.tensor([-4.0, 4.0])  # through grey
    module = torch.nn.Sequential(torch.nn.Flatten(), plane).eval()
    model = wrap_module(module, name="plane")
    pixels = np.full((3, 1, 8, 8), 0.5 + 1.1 / 8, np.float32)
    targets = Targets(classify=model, pixels=pixels, labels=np.zeros(3, np.int64), radii=np.full(3, 1.2))
    module = differentiable(model, Preprocessing(), pixels)
    fab = list(minimal_attacks(module, targets, 0))[2]
    found = verify(targets, fab(torch.tensor(pixels), torch.tensor(targets.labels)).numpy())
    assert found.found.all()
    assert (found.distances > 1.1 - 1e-6).all()


@needs_attacks
def test_autoattack_says_that_it_needs_four_classes(lipschitz):
    tested = labelled(lipschitz, corners(np.random.default_rng(0))[:8])
    targets = Targets(
        classify=tested.run.logits_of,
        pixels=tested.run.pixels(slice(0, 8)),
        labels=tested.samples.labels,
        radii=np.full(8, 0.1),
    )
    with pytest.raises(ModelError, match="AutoAttack needs 4"):
        autoattack(targets, tested.run.differentiable(), "NCHW", n_classes=3)


def dark_or_bright():
    """A black box: a function without gradients."""

    def bright(inputs):
        return np.stack([0 * inputs[:, 0, 0, 0], 4 * (inputs.mean(axis=(1, 2, 3)) - 0.5)], axis=1)

    pixels = np.random.default_rng(0).random((60, 1, 3, 3), dtype=np.float32)
    labels = (pixels.mean(axis=(1, 2, 3)) > 0.5).astype(np.int64)
    run = Run(model=CallableModel(bright, name="black box"), data=images(pixels, labels))
    return subject(run, 60, temperature=0.01)


def test_a_black_box_is_tried_by_forward_passes_and_the_result_says_so():
    tested = dark_or_bright()
    found = refute(tested, per_class=10)
    assert found.tried_by == (Refuter.BISECTION,)
    assert [flag.code for flag in found.flags] == ["not_all_refuters"]
    assert found.refuted.mean() > 0.5
    with pytest.raises((ModelError, ImportError)):
        refute(tested, [Refuter.ATTACK])


def test_the_claim_of_an_audit_says_what_was_found(tmp_path):
    tested = dark_or_bright()
    found = refute(tested, [Refuter.BISECTION], per_class=10)
    options = Options(permutations=0, temperature=0.01)
    audited = audit_scores(tested.samples, tested.local, options, name="box")
    claim = with_refutation(audited, tested, found, delta=0.05, folder=tmp_path)
    by_class = [found.refuted[found.labels == k].mean() for k in (0, 1)]
    counts = np.bincount(tested.samples.labels[tested.local.values > 0])
    assert claim.claim.radius_refuted_share == pytest.approx(np.average(by_class, weights=counts))
    assert claim.claim.premise_violated_share is None  # not tried
    assert claim.claim.tried_on == 20
    assert [entry.refuted.value for entry in claim.classes] == by_class
    for witness in claim.claim.witnesses:
        assert witness.distance < witness.radius
        assert (tmp_path / witness.image).is_file()
    *_, said = str(claim).splitlines()
    for line in ("headline",):
        assert getattr(sentences, line)(claim).split(".")[0] == getattr(sentences, line)(audited).split(".")[0]
    assert [entry.score for entry in claim.classes] == [entry.score for entry in audited.classes]
    assert said.startswith("  Radius reading refuted on ")


def test_a_rare_class_weighs_as_little_in_the_whole_as_it_has_samples():
    """All bright images are refuted and no dark one: equally many of each are tried, but few images are bright."""

    def steep(inputs):  # a wall where bright images are, flat where dark ones are
        brightness = inputs.mean(axis=(1, 2, 3))
        return np.stack([0 * brightness, np.where(brightness > 0.8, 50 * (brightness - 0.9), -50.0)], axis=1)

    rng = np.random.default_rng(0)
    brightness = np.concatenate([rng.uniform(0, 0.1, 190), rng.uniform(0.91, 0.95, 10)]).astype(np.float32)
    labels = np.repeat([0, 1], [190, 10])
    data = images(np.tile(brightness[:, None, None, None], (1, 1, 3, 3)), labels)
    tested = subject(Run(model=CallableModel(steep, name="wall"), data=data), 200)
    found = refute(tested, [Refuter.BISECTION], per_class=10)
    audited = audit_scores(tested.samples, tested.local, Options(permutations=0), name="wall")
    claim = with_refutation(audited, tested, found, delta=0.05).claim
    assert found.refuted.mean() == 0.5
    assert claim.radius_refuted_share == 0.05
    assert claim.radius_refuted_interval[0] < 0.05 < claim.radius_refuted_interval[1]


def test_samples_are_drawn_by_seed():
    tested = dark_or_bright()
    first, again, other = (refute(tested, [Refuter.BISECTION], per_class=5, seed=seed) for seed in (1, 1, 2))
    assert first.rows.tolist() == again.rows.tolist() != other.rows.tolist()
    assert first.distances.tolist() == again.distances.tolist()


def test_without_a_correct_sample_there_is_nothing_to_refute():
    tested = dark_or_bright()
    wrong = images(tested.run.data.images(slice(None)), 1 - tested.run.data.labels)
    with pytest.raises(OptionError, match="no sample has a positive radius"):
        refute(subject(replace(tested.run, data=wrong), 60))
