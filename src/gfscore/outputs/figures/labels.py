"""Places for the names of points, so that no two texts lie on each other."""

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from gfscore.outputs.figures.style import TEXT_SIZE, width_of

Align = Literal["left", "right", "center"]
ALIGNS: tuple[Align, ...] = get_args(Align)
RADIUS = 6.0  # of a point, in pixels
NEAR = 10.0  # from the point to its text
RINGS = (1.0, 1.9, 3.0, 4.4, 6.0)
PASSES = 8
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
    """A place for the text of each point ``(x, y, text)`` in a frame: near it, free, or else the least crowded.

    Every text takes its best place given the others, a few times over, so that late ones can push early ones aside.

    >>> [place.align for place in place_labels([(50, 50, "one"), (60, 50, "two")], 200, 100)]
    ['right', 'left']
    """
    dots = [Box(x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS) for x, y, _ in points]
    places: dict[int, Place] = {}
    for _ in range(PASSES):
        for index, (x, y, text) in enumerate(points):
            taken = [dot for other, dot in enumerate(dots) if other != index]
            taken += [_box(place, points[other][2]) for other, place in places.items() if other != index]
            candidates = _candidates(x, y)
            costs = [_cost(_box(place, text), taken, width, height) + ring for ring, place in candidates]
            places[index] = candidates[costs.index(min(costs))][1]
    return [places[index] for index in range(len(points))]


def _cost(box: Box, taken: Sequence[Box], width: float, height: float) -> float:
    """What a text covers of others, in pixels, and how far it sticks out."""
    outside = max(0.0, -box.left, box.right - width, -box.top, box.bottom - height)
    return sum(box.overlap(other) for other in taken) + 100 * outside


def _candidates(x: float, y: float) -> list[tuple[float, Place]]:
    """How far, and where: right and left of the point, above and below, then between, then the same further away."""
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
        (ring * NEAR, Place(x + ring * NEAR * dx, y + ring * NEAR * dy, align, ring * NEAR > FAR))
        for ring in RINGS
        for dx, dy, align in directions
    ]


def _box(place: Place, text: str) -> Box:
    width = width_of(text)
    left = place.x - {"left": 0.0, "center": width / 2, "right": width}[place.align]
    return Box(left, place.y - TEXT_SIZE / 2, left + width, place.y + TEXT_SIZE / 2)
