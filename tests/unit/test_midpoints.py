"""Midpoint radii against plain loops and networks whose boundary is known."""

import itertools

import numpy as np
import pytest

from gfscore.scores import FirstOrder, Norm, first_order_radii, gradient_norms
from gfscore.scores.midpoints import margins_to, midpoint_radii, refined_norms

SIDE = 6
WEIGHTS = np.random.default_rng(0).normal(size=(SIDE, 5))
INNER = np.random.default_rng(1).normal(size=(5, 4))


def logits(pixels):
    """A small network with a bend in it: softplus between two layers."""
    return np.log1p(np.exp(pixels @ WEIGHTS)) @ INNER


def gradient(pixel, label, rival):
    """Of the margin, by the chain rule."""
    inner = 1 / (1 + np.exp(-(pixel @ WEIGHTS)))
    return WEIGHTS @ (inner * (INNER[:, label] - INNER[:, rival]))


def looker(labels, count):
    def look(pixels):
        found = logits(pixels)
        chosen = np.array(
            [
                sorted((k for k in range(4) if k != label), key=lambda k, row=row: -row[k])[:count]
                for row, label in zip(found, labels, strict=True)
            ]
        )
        slopes = [
            [gradient(pixel, label, rival) for rival in rivals]
            for pixel, label, rivals in zip(pixels, labels, chosen, strict=True)
        ]
        return margins_to(found, labels, chosen), np.array(slopes)

    return look


def by_hand(pixel, label, norm, steps):
    """The definition, one sample at a time."""
    look = looker(np.array([label]), 3)

    def nearest(point, count):
        margins, slopes = (each[0][:count] for each in look(point[None]))
        dual = [np.linalg.norm(g) if norm is Norm.L2 else np.abs(g).sum() for g in slopes]
        best = int(np.argmin(margins / dual))
        direction = slopes[best] / dual[best] if norm is Norm.L2 else np.sign(slopes[best])
        return margins.min(), margins[best] / dual[best], direction

    here, radius, way = nearest(pixel, 3)
    found = []
    for _ in range(steps):
        middle = np.clip(pixel - radius / 2 * way, 0, 1)
        there, rest, turned = nearest(middle, 1)
        radius = radius / 2 + rest if there > 0 else radius / 2 * here / (here - there)
        way = np.clip(way + turned, -1, 1) if norm is Norm.LINF else (way + turned) / np.linalg.norm(way + turned)
        found.append(radius)
    return min(found) if found else radius


@pytest.fixture
def images():
    pixels = np.random.default_rng(2).random((60, SIDE))
    return pixels, logits(pixels).argmax(axis=1)


@pytest.mark.parametrize("norm", Norm)
@pytest.mark.parametrize("steps", [0, 1, 2, 6])
def test_midpoints_are_those_of_the_definition(images, norm, steps):
    pixels, labels = images
    at_samples = looker(labels, 3)(pixels)
    found = midpoint_radii(looker(labels, 1), pixels, *at_samples, norm, steps)
    wanted = [by_hand(pixel, label, norm, steps) for pixel, label in zip(pixels, labels, strict=True)]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("norm", Norm)
def test_the_norms_that_are_kept_give_the_refined_radius(images, norm):
    pixels, labels = images
    labels = labels.copy()
    labels[:5] = (labels[:5] + 1) % 4  # misclassified: nothing to refine
    margins, slopes = looker(labels, 3)(pixels)
    how = FirstOrder(norm=norm, refine=4)
    norms = refined_norms(looker(labels, 1), pixels, margins, slopes, how)
    wanted = midpoint_radii(looker(labels, 1), pixels, margins, slopes, norm, 4)
    np.testing.assert_allclose(first_order_radii(margins, norms)[5:], wanted[5:], rtol=1e-12)
    np.testing.assert_array_equal(norms[:5], gradient_norms(slopes[:5], norm))
    unrefined = refined_norms(looker(labels, 1), pixels, margins, slopes, FirstOrder(norm=norm, refine=0))
    np.testing.assert_array_equal(unrefined, gradient_norms(slopes, norm))


def test_more_midpoints_never_give_a_larger_radius(images):
    pixels, labels = images
    at_samples = looker(labels, 3)(pixels)
    radii = [midpoint_radii(looker(labels, 1), pixels, *at_samples, Norm.LINF, steps) for steps in (1, 2, 4, 8)]
    assert all((more <= fewer).all() for fewer, more in itertools.pairwise(radii))


@pytest.mark.parametrize("norm", Norm)
def test_two_linear_classes_are_exact(norm):
    slope = np.array([1.0, -2.0, 0.5])
    pixels = np.random.default_rng(0).uniform(0.4, 0.6, size=(20, 3))
    margins = (pixels - 0.38) @ slope + 0.6

    def look(moved):
        return ((moved - 0.38) @ slope + 0.6)[:, None], np.tile(slope, (len(moved), 1, 1))

    wanted = margins / gradient_norms(slope, norm)
    assert (pixels - wanted[:, None] / 2 > 0).all()  # no midpoint is clipped
    found = midpoint_radii(look, pixels, *look(pixels), norm, 3)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("slope", [0.0, np.nan, np.inf])
def test_a_midpoint_without_a_slope_changes_nothing(slope):
    pixels = np.full((2, 3), 0.5)
    margins, gradients = np.ones((2, 1)), np.full((2, 1, 3), 4.0)

    def look(moved):
        return np.ones((2, 1)), np.full((2, 1, 3), slope)

    np.testing.assert_array_equal(midpoint_radii(look, pixels, margins, gradients, Norm.LINF, 2), [1 / 12, 1 / 12])


def test_a_boundary_that_was_passed_is_interpolated():
    """The margin drops from 1 at the sample to -1 at the midpoint: the boundary is a quarter of the way."""

    def look(moved):
        return np.where(moved > 0.4, 1.0, -1.0)[:, :1], np.ones((1, 1, 1))

    found = midpoint_radii(look, np.array([[0.5]]), np.ones((1, 1)), np.full((1, 1, 1), 4.0), Norm.L2, 1)
    assert found == pytest.approx([0.125 / 2])
