"""What attacks found is kept in the repository; the scripts go on from there, and the docs print it."""

from pathlib import Path

import numpy as np
import pytest

from attack_outcomes import KEPT, STAGES, Outcomes, as_ranges, from_ranges
from attacked_truth import FEW_FIRST, LINF_SIZES, last_attacks
from midpoint_table import CASES, kept_radii, seen_last, table, what_was_attacked

DOCS = Path(__file__).parents[2] / "docs"


def test_images_are_written_as_ranges_and_read_again():
    assert as_ranges([7, 0, 1, 2, 9, 10]) == "0-2 7 9-10"
    assert as_ranges([]) == ""
    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.9, 1.0):
        images = set(np.flatnonzero(rng.random(300) < share).tolist())
        assert from_ranges(as_ranges(images)) == images


@pytest.fixture
def outcomes(tmp_path):
    """Ten correct images; one broken at 1, one more at 2; targeted APGD has seen three at 4, and broken one there."""
    found = Outcomes.load(tmp_path / "net.json", (1, 2, 4))
    found.correct = set(range(10))
    found.broken[1][0], found.broken[2][1], found.broken[4][2] = "apgd-ce", "apgd-t", "apgd-t"
    found.seen[4]["apgd-t"] |= {2, 3, 4}
    found.seconds["apgd-t"] = [3, 1.25]
    return found


def test_outcomes_are_kept_and_read_again(outcomes):
    outcomes.keep()
    again = Outcomes.load(outcomes.path, (1, 2, 4))
    assert (again.correct, again.broken, again.seen) == (outcomes.correct, outcomes.broken, outcomes.seen)
    assert again.seconds == {"apgd-t": [3, 1.2]}


def test_what_is_broken_or_has_survived_more_is_not_attacked_again(outcomes):
    assert [len(outcomes.standing(size)) for size in (1, 2, 4)] == [9, 8, 7]
    assert outcomes.waiting(range(10), 4, "apgd-t", downwards=True) == [5, 6, 7, 8, 9]
    assert outcomes.waiting(range(10), 2, "apgd-t", downwards=True) == [
        2,
        5,
        6,
        7,
        8,
        9,
    ]  # 2 fell at 4, perhaps not at 2
    outcomes.broken[4][3] = "square"  # which targeted APGD had left at 4, and so at 2
    assert outcomes.waiting([3], 2, "apgd-t", downwards=True) == []
    assert outcomes.waiting([3], 2, "square", downwards=True) == [3]
    assert outcomes.waiting(range(10), 2, "apgd-t", downwards=False) == [2, 3, 4, 5, 6, 7, 8, 9]


def test_the_dear_attacks_see_a_random_part_after_the_other_until_all_was_seen(outcomes):
    met = []

    def attack(images, size, stage):
        met.append((stage, size, len(images)))
        return images[images == 9] if (stage, size) == ("square", 4) else images[:0]

    parts = 0
    while last_attacks(outcomes, attack, part=4):
        parts += 1
    assert parts == 3
    assert outcomes.broken[4] == {2: "apgd-t", 9: "square"}
    for stage in ("fab-t", "square"):
        assert not any(outcomes.waiting(outcomes.standing(size), size, stage, downwards=True) for size in (1, 2, 4))
    assert [stage for stage, _, _ in met[:2]] == ["fab-t", "fab-t"]


@pytest.mark.parametrize("norm", CASES)
def test_the_docs_print_what_is_kept(norm):
    text = (DOCS / "scores.md").read_text(encoding="utf-8")
    lines = list(table(norm))
    assert len(lines) == 2 + len(CASES[norm].networks) + 3
    assert "\n".join(lines) in text
    if norm == "linf":
        assert what_was_attacked() in text
        seen, (by_fab, by_square) = seen_last(list(FEW_FIRST))
        words = (
            f"FAB saw {seen:,} that both APGD had left within 4/255, and broke {by_fab}; Square broke {by_square} more"
        )
        assert words in (DOCS / "few_attacks.md").read_text(encoding="utf-8")


def test_no_attack_is_said_to_have_broken_what_it_has_not_seen():
    for path in [*(KEPT / "linf").glob("*.json"), *(KEPT / "l2").glob("*.json")]:
        sizes = CASES[path.parent.name].sizes
        found = Outcomes.load(path, sizes)
        for size in sizes:
            assert set(found.broken[size]) <= found.correct, path
            for image, stage in found.broken[size].items():
                assert image in found.seen[size][stage], (path, image)
    assert kept_radii("linf").exists()
    assert (LINF_SIZES, STAGES[1]) == (CASES["linf"].sizes, "apgd-ce")
