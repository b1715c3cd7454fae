"""An audit of samples that come in pieces and are not kept: logits that fit no memory, data that is still arriving."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Self

from numpy.typing import ArrayLike

from gfscore import auditing
from gfscore.auditing import Options
from gfscore.bounds import Method
from gfscore.errors import OptionError
from gfscore.results import ModelAudit
from gfscore.samples import Samples
from gfscore.summaries import Summary, Tally

PIECE_ROWS, PIECE_VALUES = 1 << 16, 1 << 24  # samples and logits that are scored together, at most


class StreamingAudit:
    """Takes pieces of logits and labels; memory does not grow with their number.

    Which block of its class a sample is counted in, for the intervals of ``result``, follows from its place in the
    stream and the seed of the options; so the same samples in another order have other intervals, which hold as well.

    :meth:`peek` shows intervals at any moment, even when what it shows decides whether to go on. :meth:`result` shows
    narrower ones, for when all data that were meant to come have come. A run that was ended because of a peek reports
    that peek: its intervals allow for it, those of ``result`` do not.

    >>> stream = StreamingAudit(class_names=["cat", "dog"])
    >>> for logits, labels in ([[[3, 0], [0, 1]], [0, 1]], [[[2, 0], [1, 0]], [0, 1]]):
    ...     _ = stream.update(logits, labels)
    >>> stream.n_samples, stream.peek().interval.anytime, stream.result().wcr.class_
    (4, True, 'dog')
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        class_names: tuple[str, ...] | list[str] | None = None,
        probabilities: bool = False,
        name: str = "model",
        source: str = "stream",
    ) -> None:
        self.options = options or Options()
        self.class_names = None if class_names is None else tuple(class_names)
        self.probabilities = probabilities
        self.name, self.source = name, source
        self.tally = Tally()
        self.left_out: tuple[str, ...] = ()  # columns of tables that were taken for no class

    @property
    def n_samples(self) -> int:
        """N so far."""
        return self.tally.n_samples

    def update(
        self, logits: ArrayLike, labels: ArrayLike, *, groups: ArrayLike | Mapping[str, ArrayLike] | None = None
    ) -> Self:
        """Take in one piece: ``logits`` is ``(n, K)``, ``labels`` is ``(n,)``; with groups, one name per sample."""
        samples = Samples.of(
            logits,
            labels,
            class_names=self.class_names,
            groups=groups,
            probabilities=self.probabilities,
            piece=True,
        )
        return self.add(samples)

    def add(self, samples: Samples) -> Self:
        """Take in samples that were checked before; a piece of a long file at a time."""
        self.left_out = tuple(dict.fromkeys((*self.left_out, *samples.table.left_out)))
        for piece in pieces_of(samples):
            local = auditing.score_samples(piece, self.options)
            self.tally.add(Summary.of(piece, local, first_row=self.n_samples, seed=self.options.seed))
        return self

    def summary(self) -> Summary:
        """What was kept of everything so far: to be saved, or merged with what other machines saw."""
        return self.tally.summary()

    def peek(self) -> ModelAudit:
        """The audit of everything so far, with intervals that hold at every moment of the stream at once.

        However often one looks, and whatever one decides by it, all intervals ever shown hold together with probability
        1 - delta (:func:`~gfscore.bounds.score_table.mixture_lower`). Each is about the classes seen until then: the
        numbers of a later look, with more of them, are other numbers. Groups, which are known when they come, have no
        such intervals. Nor has a look a noise floor: its p-values are for one look, at the end.
        """
        return early_look(self.summary(), self.options, name=self.name, source=self.source)

    def result(self) -> ModelAudit:
        """The audit of everything, once all data that were meant to come have come."""
        return auditing.audit_summary(
            self.summary(), self.options, name=self.name, source=self.source, left_out=self.left_out
        )


def early_look(summary: Summary, options: Options, *, name: str, source: str) -> ModelAudit:
    """The audit of a sum that is still growing, with the intervals of :meth:`StreamingAudit.peek`."""
    if summary.partition == "group":
        raise OptionError("an early look needs to know all groups before they come. Wait for the result.")
    anytime = replace(options, interval=Method.MIXTURE, permutations=0)
    return auditing.audit_summary(summary, anytime, name=name, source=source)


def pieces_of(samples: Samples) -> Iterator[Samples]:
    """The samples a few rows at a time: scoring all of them at once would take memory for each."""
    step = max(1, min(PIECE_ROWS, PIECE_VALUES // samples.n_classes))
    for start in range(0, samples.n_samples, step):
        yield samples.rows(slice(start, start + step))
