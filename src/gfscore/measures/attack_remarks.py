"""What AutoAttack remarks about a model while it attacks a block: kept as numbers, and told for all blocks together."""

import re
from collections.abc import Sequence

from gfscore.arrays import FloatArray

# words of a remark of pyautoattack, and what is told instead; a block keeps the place of each in a sum of powers of two
SIGNS = (
    ("randomized defense", "outputs differ from pass to pass, as of a randomised defence, which needs other attacks"),
    ("probability distribution", "outputs look like probabilities, which hide gradients: give logits"),
    ("dynamic defense", "the model computes gradients of its own, as defences do that adapt to an attack"),
    ("zero gradient", "gradients are zero at some samples, so that attacks by gradients see nothing there"),
    ("", "something that is not known here: run AutoAttack itself to read it"),  # of another version, say
)
SQUARE = re.compile(r"Square Attack has decreased the robust accuracy of ([\d.]+)%")
SQUARE_SHARE = 0.002  # of the samples: AutoAttack remarks on it where Square alone breaks more


def encode(remarks: Sequence[str], n: int) -> tuple[int, int]:
    """Which signs the remarks on ``n`` samples show, as a sum of powers of two; and how many Square alone broke.

    >>> encode(["there are 3 points with zero gradient!"], 20)
    (8, 0)
    >>> encode(["Square Attack has decreased the robust accuracy of 10.00%."], 20)
    (0, 2)
    """
    signs, by_square = 0, 0
    for remark in remarks:
        square = SQUARE.search(remark)
        if square is not None:
            by_square += round(float(square[1]) / 100 * n)
        else:
            signs |= 1 << next(place for place, (words, _) in enumerate(SIGNS) if words in remark)
    return signs, by_square


def tell(noted: FloatArray, n: int) -> tuple[str, ...]:
    """What was noted in each block, (blocks, 2) as :func:`encode` gives it, of ``n`` samples in all, in sentences.

    >>> import numpy as np
    >>> tell(np.array([[8.0, 0.0], [0.0, 2.0]]), 40)[1]
    'Square, which needs no gradients, broke 2 of 40 samples that nothing else broke: gradients may be masked'
    """
    signs, by_square = noted[:, 0].astype(int), int(noted[:, 1].sum())
    blocks = [int(((signs >> place) & 1).sum()) for place in range(len(SIGNS))]
    told = [
        f"{text} (in {count} of {len(signs)} blocks)" for count, (_, text) in zip(blocks, SIGNS, strict=True) if count
    ]
    if by_square > SQUARE_SHARE * n:
        broke = f"broke {by_square} of {n:,} samples that nothing else broke"
        told.append(f"Square, which needs no gradients, {broke}: gradients may be masked")
    return tuple(told)
