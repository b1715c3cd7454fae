"""Witnesses: what counts as one, what finds them by forward passes, and what follows for a claim."""

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binomtest

from gfscore.attacks.claims import GAP, LEAST_SIDE, picture_path, save_picture, shares
from gfscore.attacks.witnesses import Pool, bisect
from gfscore.measures.targets import Targets, Witnesses, distance, verify

WIDTH = 6


def brighter(pixels):
    """Class 1 where the pixels sum to more than half of what they could: the boundary is a plane."""
    total = pixels.reshape(len(pixels), -1).sum(axis=1)
    return np.stack([np.full(len(total), WIDTH / 2), total], axis=1).astype(np.float32)


def image(*values):
    return np.asarray(values, np.float32).reshape(-1, 1, 1, WIDTH)


DARK = image([0.4] * WIDTH)
TRUE_DISTANCE = 0.1 * np.sqrt(WIDTH)  # of the dark image to the plane


def targets(radius=1.0, pixels=DARK, norm="l2"):
    n = len(pixels)
    return Targets(classify=brighter, pixels=pixels, labels=np.zeros(n, np.int64), radii=np.full(n, radius), norm=norm)


def test_a_true_witness_is_taken_as_it_is_stored():
    witness = image([0.55] * WIDTH)
    found = verify(targets(), witness.astype(np.float64))
    assert found.found.tolist() == [True]
    assert found.predicted.tolist() == [1]
    assert found.pixels.dtype == np.float32
    assert found.distances[0] == pytest.approx(0.15 * np.sqrt(WIDTH), rel=1e-6)


@pytest.mark.parametrize(
    ("fake", "radius"),
    [
        (image([0.45] * WIDTH), 1.0),  # the label has not changed
        (image([0.5] * WIDTH), 1.0),  # a tie: neither class is preferred
        (image([0.55] * WIDTH), 0.15 * np.sqrt(WIDTH) - 1e-6),  # outside the radius
        (image([1.2, 0.4, 0.4, 0.4, 0.4, 0.4]), 1.0),  # brighter than white
        (image([-0.1, 0.9, 0.6, 0.6, 0.6, 0.6]), 1.0),  # darker than black
        (image([np.nan] + [0.6] * (WIDTH - 1)), 1.0),
    ],
)
def test_a_fake_witness_is_rejected(fake, radius):
    found = verify(targets(radius), fake)
    assert not found.found.any()
    assert np.isinf(found.distances).all()
    assert found.predicted.tolist() == [0]
    np.testing.assert_array_equal(found.pixels, DARK)


def test_each_witness_is_looked_at_alone():
    """A model whose answer depends on the rest of the batch cannot be talked into a witness by its neighbours."""
    seen = []

    def moody(pixels):
        seen.append(len(pixels))
        return brighter(pixels + (len(pixels) > 1))

    dark = np.repeat(DARK, 3, axis=0)
    target = Targets(classify=moody, pixels=dark, labels=np.zeros(3, np.int64), radii=np.ones(3))
    assert not verify(target, dark + np.float32(0.01)).found.any()
    assert seen == [1, 1, 1]


def test_only_nearer_witnesses_replace_others():
    target = targets(pixels=np.repeat(DARK, 2, axis=0))
    far, near = (verify(target, np.repeat(image([value] * WIDTH), 2, axis=0)) for value in (0.6, 0.52))
    mixed = far.merge(np.array([1]), Witnesses(
        pixels=near.pixels[1:], distances=near.distances[1:], predicted=near.predicted[1:]
    ))  # fmt: skip
    assert mixed.distances.tolist() == [far.distances[0], near.distances[1]]
    assert near.merge(np.arange(2), far).distances.tolist() == near.distances.tolist()


def test_bisection_finds_the_boundary_of_a_plane():
    pool = Pool(pixels=image([0.9] * WIDTH, [0.1] * WIDTH), predicted=np.array([1, 0]))
    found = bisect(targets(), pool, steps=0)
    assert TRUE_DISTANCE < found.distances[0] <= TRUE_DISTANCE + 0.5 * np.sqrt(WIDTH) / 2**10 + 1e-6


def test_the_walk_comes_nearer_than_the_segment():
    pool = Pool(pixels=image([1, 1, 1, 0.4, 0.4, 0.4]), predicted=np.array([1]))  # half of the pixels do the work
    straight = 0.2 * np.sqrt(3)  # where the segment crosses the plane
    radius = (straight + TRUE_DISTANCE) / 2
    assert not bisect(targets(radius), pool, steps=0).found.any()
    walked = bisect(targets(radius), pool, steps=200)
    assert TRUE_DISTANCE < walked.distances[0] < radius


def test_no_walk_refutes_a_true_radius():
    rng = np.random.default_rng(0)
    dark = (0.45 * rng.random((40, 1, 1, WIDTH))).astype(np.float32)
    # the model sums in float32: nearer than a millionth to the plane it may decide either way
    truth = (WIDTH / 2 - dark.reshape(40, -1).sum(axis=1, dtype=np.float64)) / np.sqrt(WIDTH)
    bright = 1 - dark
    target = Targets(classify=brighter, pixels=dark, labels=np.zeros(40, np.int64), radii=(1 - 1e-5) * truth)
    assert not bisect(target, Pool(pixels=bright, predicted=np.ones(40, np.int64)), steps=300).found.any()


def test_linf_radii_are_measured_in_linf():
    pool = Pool(pixels=image([0.9] * WIDTH), predicted=np.array([1]))
    found = bisect(targets(0.11, norm="linf"), pool)
    assert 0.1 < found.distances[0] < 0.11
    assert not bisect(targets(0.1, norm="linf"), pool).found.any()


def test_a_pool_without_another_prediction_finds_nothing():
    pool = Pool(pixels=image([0.1] * WIDTH, [0.2] * WIDTH), predicted=np.array([0, 0]))
    assert not bisect(targets(), pool).found.any()


def test_distances_are_computed_in_double_precision():
    one = np.zeros((1, 1, 1000, 1000), np.float32)
    other = np.full_like(one, 1e-3)
    assert distance(one, other, "l2")[0] == pytest.approx(1000 * np.float64(np.float32(1e-3)), rel=1e-12)


def test_shares_have_the_intervals_of_clopper_and_pearson_and_hold_together():
    labels, happened = np.array([0] * 10 + [2] * 30), np.array([True] * 4 + [False] * 6 + [True] * 30)
    whole, by_class = shares(happened, labels, np.array([20, 0, 60]), ("a", "b", "c"), 0.1)  # tried in proportion
    assert list(by_class) == ["a", "c"]  # there is nothing of b: no share, not 0
    for metric, times, n in ((by_class["a"], 4, 10), (by_class["c"], 30, 30), (whole, 34, 40)):
        exact = binomtest(times, n).proportion_ci(1 - 0.1 / 3, method="exact")  # three intervals share the level
        assert metric.value == pytest.approx(times / n)
        assert metric.interval == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_a_picture_shows_sample_witness_and_difference(tmp_path):
    sample, witness = np.zeros((1, 4, 4), np.float32), np.zeros((1, 4, 4), np.float32)
    witness[0, 0, 0] = 0.5
    save_picture(tmp_path / "new" / "w.png", sample, witness, "NCHW")
    shown = np.asarray(Image.open(tmp_path / "new" / "w.png"))
    side = LEAST_SIDE
    assert shown.shape == (side, 3 * side + 2 * GAP)
    assert shown[0, 0] == 0
    assert shown[0, side + GAP] == 128
    assert shown[0, -side] == 255  # the largest difference is full
    assert shown[-1, -1] == 128  # and none is grey


def test_colours_stay_in_their_channels(tmp_path):
    sample = np.zeros((3, 2, 2), np.float32)
    sample[0] = 1
    save_picture(tmp_path / "w.png", sample, 1 - sample, "NCHW")
    assert np.asarray(Image.open(tmp_path / "w.png"))[0, 0].tolist() == [255, 0, 0]


def test_names_of_pictures_stay_in_their_folder():
    hostile = picture_path("../../etc", 1, "../..\\passwd\0")
    assert hostile.parts[0] == "witnesses"
    assert ".." not in hostile.as_posix()
    assert picture_path("a.b", 1, "x").parent != picture_path("a-b", 1, "x").parent
