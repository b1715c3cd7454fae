"""First-order radii of some rows, of which nothing is kept but sums: what a stream of any length can afford."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gfscore.arrays import FloatArray, IntArray
from gfscore.errors import naming
from gfscore.measures.logits import forward_rows
from gfscore.measures.run import Measure, RowsDone, Run, rows_together
from gfscore.measures.slopes import SHARD_ROWS, exact_norms
from gfscore.measures.summary_files import summary_from_bytes, summary_to_bytes
from gfscore.names import check_class_names
from gfscore.samples import Samples
from gfscore.score_titles import FIRST_ORDER
from gfscore.scores import (
    FirstOrder,
    LocalScores,
    RadiusCounts,
    first_order_scores,
    forward_only_norms,
    is_leading,
    strongest_rivals,
)
from gfscore.scores.first_order import PREMISE
from gfscore.summaries import ScoreKind, Summary, merge_summaries

_drawn: WeakKeyDictionary[Run, dict[tuple[int, int], IntArray]] = WeakKeyDictionary()  # by number and seed


def radii_of_piece(run: Run, rows: IntArray, samples: Samples, how: FirstOrder, *, gradients: bool) -> LocalScores:
    """First-order radii of some rows in any order, by gradients or by forward passes; nothing is kept.

    Directions belong to a sample, so a row has the same radius whatever rows it comes with. ``samples`` are the rows as
    a piece of all: what follows from all of them together is left to who has them.
    """
    pixels = run.pixels(rows)
    rivals = strongest_rivals(samples.logits, samples.labels, how.rivals)
    if not gradients:
        norms, halved = forward_only_norms(run.logits_of, pixels, samples, rivals, how, whole=run.n_samples)
        return first_order_scores(
            samples, _as_stored(norms), how, gradients=False, halved=_as_stored(halved), piece=True
        )
    norms, correct = np.full(rivals.shape, np.nan), is_leading(samples.logits, samples.labels, rivals)
    if correct.any():
        few = (pixels[correct], samples.labels[correct], rivals[correct])
        norms[correct] = exact_norms(run, run.differentiable(), *few, how, rows[correct])
    return first_order_scores(samples, _as_stored(norms), how, gradients=True, piece=True)


def _as_stored(norms: FloatArray) -> FloatArray:
    """Norms in the type of the store: a radius is the same number, whether its norm was kept or not."""
    with np.errstate(over="ignore"):  # infinite, then: a slope that is beyond float32 is no slope
        return norms.astype(np.float32)


def _samples(run: Run, rows: IntArray, logits: FloatArray, **about: Any) -> Samples:
    data = run.data
    ids = [str(row) if data.sample_ids is None else data.sample_ids[row] for row in rows.tolist()]
    return Samples.of(logits, data.labels[rows], sample_ids=ids, **about)


def draw_rows(ids: Iterable[object], codes: IntArray, count: int, seed: int) -> IntArray:
    """Rows of at most ``count`` samples of each part, ascending; ``codes`` (N,) say which part each belongs to.

    A sample is drawn by the hash of its id, so that a larger part contains a smaller one, whatever the other samples.

    >>> draw_rows("abcdef", np.array([0, 0, 0, 1, 1, 1]), 2, seed=0)
    array([1, 2, 3, 5])
    """
    keys = np.array([_lot(seed, each) for each in ids])
    order = np.lexsort((keys, codes))
    ordered = codes[order]
    place = np.arange(len(order)) - np.searchsorted(ordered, ordered)  # of each among those of its part
    return np.asarray(np.sort(order[place < count]))


def _lot(seed: int, sample_id: object) -> int:
    return int.from_bytes(hashlib.sha256(f"radii {seed} {sample_id}".encode()).digest()[:8], "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusSums(Measure[Summary]):
    """Class sums of first-order radii, with counts above each eps of a ladder: of all rows, or some of each class.

    Its fields are plain, so that it can be sent to a worker, which draws the same rows: labels and ids are known before
    anything is run. Neither memory nor store grows with the data.
    """

    name = "radius sums"
    how: FirstOrder
    ladder: tuple[float, ...]  # the eps at which radii are counted, ascending
    gradients: bool  # of the model, which must have some; else forward passes alone
    per_class: int | None = None  # samples of each class, drawn at random; None: all
    seed: int = 0  # of the draw, and of the blocks and halves that samples are counted in

    @property
    def settings(self) -> Mapping[str, Any]:
        """What decides the radii, which of them are asked for, and what is counted."""
        how, found = self.how, self.how.measure(gradients=self.gradients)
        asked = {"norm": str(how.kind), "eps": how.eps, "largest": how.largest, "ladder": list(self.ladder)}
        return {**found, **asked, "per_class": self.per_class, "dealt": self.seed}

    def drawn(self, run: Run) -> IntArray:
        """The rows that are asked for, ascending; drawn once for a run."""
        if self.per_class is None:
            return np.arange(run.n_samples)
        known = _drawn.setdefault(run, {})
        key = (self.per_class, self.how.seed)
        if key not in known:
            data = run.data
            known[key] = draw_rows(data.sample_ids or range(run.n_samples), data.labels, *key)
        return known[key]

    def rows_per_shard(self, run: Run) -> int:
        """As many as are in memory together; more where only some of the rows are asked for."""
        return self._together(run) * max(1, run.n_samples // max(1, len(self.drawn(run))))

    def compute(self, run: Run, rows: slice, done: RowsDone = lambda _rows: None) -> Summary:
        """Summary of some rows, with the batches that the run noted as halved meanwhile."""
        drawn = self.drawn(run)
        first, last = np.searchsorted(drawn, [rows.start, rows.stop])
        asked, n_rows = drawn[first:last], rows.stop - rows.start
        names = check_class_names(run.data.class_names, run.check().n_classes)
        step = self._together(run)
        pieces = [asked[start : start + step] for start in range(0, len(asked), step)]
        found = []
        for piece in pieces:
            found.append(self._sum(run, piece, len(names)))
            done(int(piece[-1]) + 1 - rows.start)
        whole = found[0] if len(found) == 1 else merge_summaries(found) if found else self._nothing(names, n_rows)
        done(n_rows)
        if whole.radii is None:
            return whole
        return replace(whole, radii=replace(whole.radii, rows=n_rows), halved_batches=run.notes.halved_batches)

    def _sum(self, run: Run, rows: IntArray, n_classes: int) -> Summary:
        """Summary of rows that are in memory together."""
        logits = forward_rows(run, rows)
        run.refuse_changed()  # before anything is said about what was read
        with naming(run.name):
            samples = _samples(run, rows, logits, class_names=run.data.class_names, piece=True)
            local = radii_of_piece(run, rows, samples, self.how, gradients=self.gradients)
            found = Summary.of(samples, local, rows=rows, seed=self.seed)
        counts = RadiusCounts.of(local, samples.labels, n_classes, ladder=self.ladder, rows=len(rows))
        return replace(found, radii=counts)

    def _together(self, run: Run) -> int:
        """Whole batches, unless images are large."""
        return rows_together(run.data, run.batch_size * max(1, round(SHARD_ROWS / run.batch_size)))

    def _nothing(self, names: tuple[str, ...], n_rows: int) -> Summary:
        how = self.how
        kind = ScoreKind(name=FIRST_ORDER, maximum=how.largest, premise=PREMISE, norm=str(how.kind))
        none = RadiusCounts.none(str(how.kind), how.eps, len(names), ladder=self.ladder, rows=n_rows)
        return replace(Summary.none(kind, names, self.seed), radii=none)

    def to_bytes(self, part: Summary) -> bytes:
        """The summary as its file."""
        return summary_to_bytes(part)

    def from_bytes(self, content: bytes) -> Summary:
        """What :meth:`to_bytes` gave, once everything in it was found to fit together."""
        return summary_from_bytes(content)
