"""Places for the names of points, so that no two texts lie on each other."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from gfscore.outputs.figures.style import TEXT_SIZE, width_of

Align = Literal["left", "right", "center"]
RADIUS = 6.0  # of a point, in pixels
NEAR = 10.0  # from the point to its text
RINGS = (1.0, 1.9, 3.0, 4.4, 6.0)
FAR = 16.0  # a text this far away needs a line to its point


class Place(NamedTuple):
    """Where a text stands, in pixels from the top left."""

    x: float
    y: float
    align: Align
    far: bool


class Box(NamedTuple):
    """A rectangle that something covers."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        """Area that both cover."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


def place_labels(points: Sequence[tuple[float, float, str]], width: float, height: float) -> list[Place]:
    """A place for the text of each point ``(x, y, text)`` in a frame: the nearest free one, or the least crowded.

    >>> [place.align for place in place_labels([(50, 50, "one"), (60, 50, "two")], 200, 100)]
    ['right', 'left']
    """
    dots = [Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y, _ in points]
    taken: list[Box] = []
    places = []
    for index, (x, y, text) in enumerate(points):
        others = [dot for other, dot in enumerate(dots) if other != index]
        best, least = None, math.inf
        for candidate in _candidates(x, y):
            box = _box(candidate, text)
            outside = max(0.0, -box.left, box.right - width, -box.top, box.bottom - height)
            crowded = sum(box.overlap(other) for other in (*others, *taken)) + 1e3 * outside
            if crowded < least:
                best, least = (candidate, box), crowded
            if crowded == 0:
                break
        if best is not None:
            places.append(best[0])
            taken.append(best[1])
    return places


def _candidates(x: float, y: float) -> list[Place]:
    """Right and left of the point, above and below, then between, then the same further away."""
    directions: tuple[tuple[float, float, Align], ...] = (
        (1, 0, "left"),
        (-1, 0, "right"),
        (0, -1.2, "center"),
        (0, 1.2, "center"),
        (0.8, -0.9, "left"),
        (0.8, 0.9, "left"),
        (-0.8, -0.9, "right"),
        (-0.8, 0.9, "right"),
    )
    return [
        Place(x + ring * NEAR * dx, y + ring * NEAR * dy, align, ring * NEAR > FAR)
        for ring in RINGS
        for dx, dy, align in directions
    ]


def _box(place: Place, text: str) -> Box:
    width = width_of(text)
    left = place.x - {"left": 0.0, "center": width / 2, "right": width}[place.align]
    return Box(left, place.y - TEXT_SIZE / 2, left + width, place.y + TEXT_SIZE / 2)
