"""An audit of samples that come in pieces and are not kept: logits that fit no memory, data that is still arriving."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from gfscore import views
from gfscore.arrays import IntArray
from gfscore.bounds import Method
from gfscore.engines.in_turn import InTurn
from gfscore.engines.local import summed
from gfscore.errors import FileError, GFScoreError, OptionError, naming
from gfscore.inputs.logits_files import Shards, find_shards, refuse_two_formats
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import listed_data, listed_models
from gfscore.jobs.calling import Face, Progress, listed_paths
from gfscore.jobs.named_files import NamedFiles, model_names, name_models, refuse_repeated
from gfscore.jobs.options import Options, RunOptions
from gfscore.jobs.probing import input_flags
from gfscore.jobs.radius_trust import trust_flags_of_sums
from gfscore.jobs.robustness import MeasuredRadii
from gfscore.jobs.sources import LOGITS_FILES, SAY_BOTH, open_runs
from gfscore.jobs.stages import Origin, audit_summary, score_samples
from gfscore.jobs.summed_radii import flags_of_sums, radius_sums, sum_robustness
from gfscore.measures import Measure, RadiusSums, Run, Sums
from gfscore.results import Flag, ModelAudit
from gfscore.samples import Samples, TableNotes
from gfscore.storage import Watched, redact, refuse_changed, refuse_unreadable, sha256
from gfscore.summaries import Look, Summary, Tally

PIECE_ROWS, PIECE_VALUES = 1 << 16, 1 << 24  # samples and logits that are scored together, at most
FIRST_LOOK = 1000  # samples; the next looks come whenever their number has doubled


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
        self.table = TableNotes()  # how the columns of tables were read
        self.class_sizes: IntArray | None = None  # of the set that the samples are of, where all pieces say the same

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
        self.table = TableNotes(
            left_out=tuple(dict.fromkeys((*self.table.left_out, *samples.table.left_out))),
            decimal_comma=self.table.decimal_comma or samples.table.decimal_comma,
        )
        sizes = samples.class_sizes
        self.class_sizes = sizes if self.n_samples == 0 or _same(sizes, self.class_sizes) else None
        for piece in pieces_of(samples):
            local = score_samples(piece, self.options)
            self.tally.add(Summary.of(piece, local, first_row=self.n_samples, seed=self.options.seed))
        return self

    def summary(self) -> Summary:
        """What was kept of everything so far: to be saved, or merged with what other machines saw."""
        return self.tally.summary()

    def peek(self) -> ModelAudit:
        """The audit of everything so far, with intervals that hold at every moment of the stream at once.

        However often one looks, and whatever one decides by it, all intervals ever shown hold together with probability
        1 - delta (see :func:`~gfscore.bounds.mixture.mixture_lower`). Each is about the classes seen until then: the
        numbers of a later look, with more of them, are other numbers. Groups, which are known when they come, have no
        such intervals. Nor has a look a noise floor: its p-values are for one look, at the end.
        """
        return early_look(self.summary(), self.options, name=self.name, source=self.source)

    def result(self) -> ModelAudit:
        """The audit of everything, once all data that were meant to come have come."""
        origin = Origin(self.source)
        return audit_summary(
            self.summary(),
            self.options,
            name=self.name,
            origin=origin,
            class_sizes=self.class_sizes,
            table=self.table,
        )


def _same(sizes: IntArray | None, others: IntArray | None) -> bool:
    return sizes is not None and others is not None and np.array_equal(sizes, others)


def early_look(summary: Summary, options: Options, *, name: str, source: str) -> ModelAudit:
    """The audit of a sum that is still growing, with the intervals of :meth:`StreamingAudit.peek`."""
    if summary.partition == "group":
        raise OptionError("an early look needs to know all groups before they come. Wait for the result.")
    anytime = replace(options, interval=Method.MIXTURE, permutations=0)
    summary = replace(summary, radii=None)  # whose shares have intervals for one look, at the end
    return audit_summary(summary, anytime, name=name, origin=Origin(source))


def pieces_of(samples: Samples) -> Iterator[Samples]:
    """The samples a few rows at a time: scoring all of them at once would take memory for each."""
    step = max(1, min(PIECE_ROWS, PIECE_VALUES // samples.n_classes))
    for start in range(0, samples.n_samples, step):
        yield samples.rows(slice(start, start + step))


def audit_streams(
    logits: Any,
    model: Any,
    data: Any,
    options: Options,
    run: RunOptions,
    face: Face,
    words: ReadingWords,
    *,
    pieces: bool,
    probabilities: bool,
    robust: MeasuredRadii | None = None,
) -> tuple[list[ModelAudit], dict[Path, str]]:
    """Audits of logits files and of models that are run; and the files that were read, with their hashes."""
    audits, hashes = list[ModelAudit](), dict[Path, str]()
    if isinstance(logits, Samples | Mapping):
        raise OptionError("samples in memory need no stream. Leave stream out.")
    logits, models, data = listed_paths(logits), listed_models(model), listed_data(data)
    if logits or not (models or data):
        run.refuse_ray(LOGITS_FILES) if models or data else run.refuse_running(LOGITS_FILES)
        if options.radius is not None:
            raise OptionError(f"logits files hold logits, and a radius takes the model itself. {SAY_BOTH}")
        files = _files_of(logits, pieces=pieces, beside_runs=bool(models))
        watched = Watched(path for each in files for path in each.files)  # before any is read
        hashes = {path: digest for each in files for path, digest in _hashes(each.files).items()}
        audits += [
            _streamed(
                each,
                options,
                Shards(probabilities=probabilities, class_names=run.names, **asdict(words)),
                look=_looks(face, options, each.name),
            )
            for each in files
        ]
        refuse_changed(watched)
    if models or data:
        words.refuse("the labels of --data are its own", labels_too=True)
        audits += _stream_runs(models, data, options, run, face, robust, probabilities=probabilities)
    return audits, hashes


def _files_of(paths: Sequence[Path], *, pieces: bool, beside_runs: bool) -> list[NamedFiles]:
    """The files of each model: those in its folder, or the one named; or all of them for one (``pieces``)."""
    if not paths:
        raise OptionError("there is nothing to stream. Name logits files, folders of them, or --model and --data.")
    names, files = list(model_names(paths)), [find_shards(path) for path in paths]
    every = [file for shards in files for file in shards]
    refuse_repeated(every)  # one may be named, and be in a folder that is named
    if pieces:
        folder = paths[0].resolve()
        name = folder.name if folder.is_dir() else folder.parent.name
        names, files = [name or "model"], [every]
    for shards in files:
        refuse_two_formats(shards)
    return name_models(files, names, beside_runs=beside_runs)


def _hashes(paths: Sequence[Path]) -> dict[Path, str]:
    """The hash of each piece of a model; refuses two that are the same, whose samples would count twice."""
    first = dict[str, Path]()
    for path in paths:
        with naming(redact(path)):
            refuse_unreadable(path)
            same = first.setdefault(sha256(path), path)
            if same is not path:
                raise FileError(f"holds the same as {redact(same)}: its samples would count twice. Leave one out.")
    return {path: digest for digest, path in first.items()}


def _stream_runs(
    models: Sequence[Any],
    data: Sequence[Any],
    options: Options,
    run: RunOptions,
    face: Face,
    robust: MeasuredRadii | None,
    *,
    probabilities: bool,
) -> list[ModelAudit]:
    """Run every model on every data set and audit the sums of its scores; on a cluster, no logits leave a worker."""
    sums, measures = sums_of(options, probabilities=probabilities), dict[Run, tuple[Measure[Summary], str]]()

    def asked(each: Run) -> tuple[Measure[Summary], Progress, Look]:
        measure, _ = measures[each] = _measure(each, sums, options)
        return measure, face.bar(each.name, measure.name), _looks(face, options, each.name)

    in_turn = InTurn(asked, measure=summed)
    found = chain.from_iterable(map(in_turn.add, open_runs(models, data, run)))
    audits = []
    for each, summary in chain(found, in_turn.rest()):
        (measure, why), flags = measures.pop(each), tuple[Flag, ...]()
        if isinstance(measure, RadiusSums):
            flags = (*flags_of_sums(summary, measure.how, why), *trust_flags_of_sums(each, measure))
        origin = Origin(each.data.source, each.data.seed, each.about)
        with naming(each.name):
            sizes = each.data.class_sizes
            audited = audit_summary(summary, options, name=each.name, origin=origin, class_sizes=sizes, flags=flags)
            likely = input_flags(each, audited.accuracy, len(summary.class_names))
            audited = audited.model_copy(update={"flags": audited.flags + likely})
            if robust is not None:
                given = summary.kind.probabilities
                audited = sum_robustness(audited, each, robust, face, delta=options.delta, probabilities=given)
            audits.append(audited)
    return audits


def sums_of(options: Options, *, probabilities: bool) -> Sums:
    """The measure of a stream, where logits decide the score."""
    activation, temperature = options.softmax_or_sigmoid, options.divisor
    return Sums(activation=activation, temperature=temperature, probabilities=probabilities, seed=options.seed)


def _measure(run: Run, sums: Sums, options: Options) -> tuple[Measure[Summary], str]:
    """What sums up the score that is asked for; and why it uses no gradients where they were wanted, or nothing."""
    if options.radius is None:
        return sums, ""
    with naming(run.name):
        if sums.probabilities or getattr(run.model, "gives_probabilities", False):
            raise OptionError("the first-order radius is a ratio of logits. Give a model that returns logits.")
        return radius_sums(run, options.radius, options.choice)


def _streamed(
    model: NamedFiles,
    options: Options,
    shards: Shards,
    *,
    look: Look,
) -> ModelAudit:
    paths = model.files
    source = paths[0].name if len(paths) == 1 else f"{len(paths)} files, {paths[0].name} to {paths[-1].name}"
    stream = StreamingAudit(options, name=model.name, source=source)
    for path in paths:
        samples = shards.read(path)
        with naming(path):
            for piece in pieces_of(samples):
                look(stream.add(piece).tally)
    shards.finish()
    with naming(model.name):
        return stream.result().model_copy(update={"run": model.run})


def _looks(face: Face, options: Options, name: str) -> Look:
    """What tells of an early look at the sum of a model whenever its number of samples has doubled."""
    next_look = FIRST_LOOK

    def look(so_far: Tally) -> None:
        nonlocal next_look
        if not face.listens or so_far.n_samples < next_look:
            return
        next_look, summary = 2 * so_far.n_samples, so_far.summary()
        if summary.partition == "group":
            return
        try:
            seen = early_look(summary, options, name=name, source=name)
        except GFScoreError:  # sorted by class, perhaps, with nothing to compare yet: the end decides, not a look
            return
        worst = f"worst {seen.wcr.class_} {views.estimate(seen.wcr.value, seen.wcr.interval)}"
        rdi = views.estimate(seen.rdi.value, seen.rdi.interval)
        n_samples = f"{so_far.n_samples:,} samples"
        if seen.absent_classes:  # sorted by class, perhaps: the worst may be still to come
            n_samples += f" of {len(seen.classes)} of {len(summary.class_names)} classes"
        face.tell(f"{name}: {n_samples} so far: {worst}, RDI {rdi} (early look)")

    return look
