"""What attacks found, image by image, as it is kept in ``benchmarks/attacked``: read and continued by the scripts.

A file per network, ``benchmarks/attacked/linf/resnet20.json``: the images that it classifies correctly; for each size,
the images that each attack broke and those that each has seen; and the processor time of each attack. Sets of images
are written as ranges, ``0-4 7 9-11``, so that the files stay small and their changes can be read.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

KEPT = Path(__file__).parents[1] / "benchmarks" / "attacked"
QUICK = "apgd-dlr-20"
STAGES = (QUICK, "apgd-ce", "apgd-t", "fab-t", "square")
LAST = STAGES[3:]  # the dear ones, which may not come to their end


def as_ranges(images: Iterable[int]) -> str:
    """Images as ranges, in order."""
    runs: list[list[int]] = []
    for image in sorted(images):
        if runs and image == runs[-1][1] + 1:
            runs[-1][1] = image
        else:
            runs.append([image, image])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def from_ranges(text: str) -> set[int]:
    """The images of some ranges."""
    ends = [part.split("-") for part in text.split()]
    return {image for each in ends for image in range(int(each[0]), int(each[-1]) + 1)}


@dataclass
class Outcomes:
    """What is known of one network: which attack broke an image at a size, which images each has seen, how long."""

    path: Path
    sizes: Sequence[float]
    correct: set[int] = field(default_factory=set)
    broken: dict[float, dict[int, str]] = field(default_factory=dict)
    seen: dict[float, dict[str, set[int]]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)  # of each attack: images, processor time

    @classmethod
    def load(cls, path: Path, sizes: Sequence[float]) -> "Outcomes":
        """The outcomes that are kept at a path."""
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found = cls(path, sizes, from_ranges(kept.get("correct", "")))
        for size in sizes:
            broken, seen = (kept.get(part, {}).get(f"{size:g}", {}) for part in ("broken", "seen"))
            found.broken[size] = {image: stage for stage, images in broken.items() for image in from_ranges(images)}
            found.seen[size] = {stage: from_ranges(seen.get(stage, "")) for stage in STAGES}
        found.seconds = kept.get("seconds", {})
        return found

    def keep(self) -> None:
        """Write all of it, whole or not at all."""
        broken = {
            f"{size:g}": {stage: as_ranges(image for image, by in found.items() if by == stage) for stage in STAGES}
            for size, found in self.broken.items()
        }
        seen = {
            f"{size:g}": {stage: as_ranges(images) for stage, images in of_size.items()}
            for size, of_size in self.seen.items()
        }
        seconds = {stage: [images, round(taken, 1)] for stage, (images, taken) in self.seconds.items()}
        found = {"correct": as_ranges(self.correct), "broken": broken, "seen": seen, "seconds": seconds}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        beside.replace(self.path)

    def is_broken(self, image: int, size: float) -> bool:
        """Whether an image is broken within a size."""
        return any(image in self.broken[smaller] for smaller in self.sizes if smaller <= size)

    def standing(self, size: float) -> list[int]:
        """The correct images that are not broken within a size."""
        return [image for image in sorted(self.correct) if not self.is_broken(image, size)]

    def was_seen(self, image: int, size: float, stage: str, *, downwards: bool) -> bool:
        """Whether an attack has seen an image at a size or, going downwards, left it standing at a larger one."""
        return image in self.seen[size][stage] or (
            downwards
            and any(
                image in self.seen[other][stage] and self.broken[other].get(image) != stage
                for other in self.sizes
                if other > size
            )
        )

    def waiting(self, images: Iterable[int], size: float, stage: str, *, downwards: bool) -> list[int]:
        """The images that stand at a size, and that an attack has still to see there."""
        return [
            image
            for image in images
            if not self.is_broken(image, size) and not self.was_seen(image, size, stage, downwards=downwards)
        ]
