"""``certify``: the class profile of a true certificate, over radii that are proven; by a function each for arrays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gfscore.assemble import make_provenance
from gfscore.engines.local import begin, measured
from gfscore.errors import OptionError, naming
from gfscore.inputs.small_files import read_radii
from gfscore.inputs.table_columns import ReadingWords
from gfscore.jobs.arranging import arrange, refuse_unread
from gfscore.jobs.audit import Seen
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.common_words import VOTES, DataSpecs, Groups, ModelSpecs, Seed
from gfscore.jobs.dry_run import plan_run
from gfscore.jobs.options import ProfileOptions, RunOptions
from gfscore.jobs.pixel_constants import pixel_constant
from gfscore.jobs.sources import Source, find_sources, provenance_of, watch
from gfscore.jobs.stages import audit_scores
from gfscore.jobs.steps import certificate_steps
from gfscore.measures import Run, Votes
from gfscore.measures.votes import Classify, noise_votes
from gfscore.results import Audit
from gfscore.samples import Samples
from gfscore.scores import LocalScores
from gfscore.scores.given import check_cap, given_scores
from gfscore.scores.lipschitz import lipschitz_scores
from gfscore.scores.smoothing import DEFAULT_ALPHA, Noise, largest_radius, smoothing_scores
from gfscore.words import Panel, Word

DEFAULT_NOISE = Noise()


class Certificate(StrEnum):
    """Where the radii come from."""

    SMOOTHING = "smoothing"
    LIPSCHITZ = "lipschitz"
    GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateWords:
    """What makes the radii."""

    PANEL: ClassVar = Panel.SCORE

    method: Annotated[
        Certificate,
        Word(
            help="smoothing: of the model under Gaussian noise; lipschitz: from the margins of the logits; given: from "
            "--radii."
        ),
    ]
    sigma: Annotated[
        float | None, Word(help=f"Deviation of the noise, in [0, 1] pixels.  [default: {DEFAULT_NOISE.sigma:g}]")
    ] = None
    n0: Annotated[
        int | None,
        Word(expert=True, help=f"Noise samples that choose the class of an image.  [default: {DEFAULT_NOISE.n0}]"),
    ] = None
    n: Annotated[
        int | None, Word(help=f"Noise samples of each image that are then counted.  [default: {DEFAULT_NOISE.n}]")
    ] = None
    alpha: Annotated[
        float | None,
        Word(help=f"Probability with which a radius may be too large.  [default: {DEFAULT_ALPHA:g}]"),
    ] = None
    lipschitz: Annotated[
        float | None,
        Word(
            metavar="L",
            help="L2 Lipschitz constant of the logits in [0, 1] pixels.  [default: product of spectral norms]",
        ),
    ] = None
    of_inputs: Annotated[
        bool, Word(expert=True, help="L is for inputs after mean and std: divide it by the smallest std.")
    ] = False
    radii: Annotated[Path | None, Word(metavar="FILE", help="A radius per sample: .csv, .npz or .parquet.")] = None
    norm: Annotated[str, Word(any_case=True, help="Norm of the radii in --radii: l2 or linf.")] = "l2"
    cap: Annotated[
        float | None,
        Word(help="Largest radius that counts, for lipschitz and given.  [default: 1 in l2, 16/255 in linf]"),
    ] = None
    seed: Seed = 0

    def check(self) -> None:
        """Refuse what belongs to another method, before anything is run."""
        if self.radii is not None and self.method != Certificate.GIVEN:
            raise OptionError(f"--radii is given with --method {self.method}, which computes its own. Leave one out.")
        if self.method == Certificate.GIVEN and self.radii is None:
            raise OptionError("--method given needs --radii, a file with a radius per sample.")
        if self.method != Certificate.LIPSCHITZ and (self.lipschitz is not None or self.of_inputs):
            raise OptionError("--lipschitz and --of-inputs are for --method lipschitz. Leave them out.")
        if self.method != Certificate.SMOOTHING and self.votes:
            raise OptionError(f"--{next(iter(self.votes))} is for --method smoothing. Leave it out.")
        if self.method == Certificate.SMOOTHING and self.cap is not None:
            raise OptionError("--cap is for radii without a largest one, and smoothing has one. Leave it out.")
        if self.of_inputs and self.lipschitz is None:
            raise OptionError("--of-inputs says what --lipschitz is for, which is not given. Give it, or neither.")
        if self.norm != "l2" and self.method != Certificate.GIVEN:
            raise OptionError(f"--norm {self.norm} is given with --method {self.method}, whose radii are in l2.")
        if self.method == Certificate.SMOOTHING:
            largest_radius(self.noise, self.failure_rate)
        else:
            check_cap(self.cap, self.norm)

    @property
    def votes(self) -> dict[str, Any]:
        """What was said about smoothing."""
        return {name: value for name in ("sigma", "n0", "n", "alpha") if (value := getattr(self, name)) is not None}

    @property
    def noise(self) -> Noise:
        """The noise, checked."""
        return Noise(**{name: self.votes[name] for name in self.votes.keys() - {"alpha"}}, seed=self.seed)

    @property
    def failure_rate(self) -> float:
        """Alpha, as given or by default."""
        return DEFAULT_ALPHA if self.alpha is None else self.alpha


@Job
def certify(
    logits: Annotated[
        Any,
        Word(
            kind=list[Path] | None,
            is_argument=True,
            help="Logits files, for given radii or a given Lipschitz constant.",
        ),
    ] = None,
    labels: Any = None,
    *,
    model: ModelSpecs = None,
    data: DataSpecs = None,
    certificate: CertificateWords,
    options: ProfileOptions,
    groups: Groups = None,
    words: ReadingWords,
    run: RunOptions,
    seen: Seen | None = None,
    face: Face = SILENT,
) -> Audit:
    """Audit how evenly certified robustness is spread over the classes: radii that are proven, not estimated.

    Every radius is in [0, 1] pixels. ``seen`` is called with the name, samples and radii of each model.
    """
    certificate.check()
    refuse_unread(words, logits)
    logits, model, data = arrange(logits, labels, model, data).checked(run.names, words)
    noise = certificate.noise if certificate.method == Certificate.SMOOTHING else None
    plan_run("certify", model, data, run, face, lambda each: certificate_steps(each, noise), beside=logits)
    files, models = watch(logits, certificate.radii, groups, run.class_names), list[Any]()

    def then(source: Source) -> None:
        if source.run is not None and certificate.method == Certificate.SMOOTHING:
            begin(source.run, None, Votes.of(source.run, certificate.noise), face.bar(source.run.name, VOTES))

    for source in find_sources(logits, model, data, run, face, then=then):
        samples = source.read(class_names=run.names, groups=groups, words=words)
        with source.naming():
            local = source.flagged(_radii(samples, source, certificate, face), samples)
            models.append(audit_scores(samples, local, options, name=source.name, origin=source.origin))
        if certificate.radii is not None and len(models) > 1:
            raise OptionError("--radii are those of one model. Call the command once for each.")
        if seen is not None:
            seen(source.name, samples, local)
    return Audit(models=tuple(models), provenance=provenance_of(face, files))


def _radii(samples: Samples, source: Source, certificate: CertificateWords, face: Face) -> LocalScores:
    """The radii of one model, by the method that was chosen."""
    run = source.run
    match Certificate(certificate.method):
        case Certificate.GIVEN if certificate.radii is not None:
            if not isinstance(certificate.radii, Path):
                return given_scores(samples, certificate.radii, norm=certificate.norm, cap=certificate.cap)
            with naming(certificate.radii):
                found = read_radii(certificate.radii, samples)
                return given_scores(samples, found, norm=certificate.norm, cap=certificate.cap)
        case Certificate.SMOOTHING:
            if run is None:
                raise OptionError("smoothing runs the model on noisy images. Give --model and --data, not logits.")
            noise, alpha = certificate.noise, certificate.failure_rate
            return smoothed_scores(run, samples, noise=noise, alpha=alpha, progress=face.bar(run.name, VOTES))
    constant, how = certificate.lipschitz, "given"
    if run is not None:
        constant, how = pixel_constant(run, constant, of_inputs=certificate.of_inputs)
    elif constant is None or certificate.of_inputs:
        raise OptionError("logits do not show their network. Give --lipschitz for pixels, or --model and --data.")
    return lipschitz_scores(samples, constant, cap=certificate.cap, how=how)


def certify_smoothing(
    classify: Classify,
    images: ArrayLike,
    labels: ArrayLike,
    *,
    noise: Noise | None = None,
    alpha: float = DEFAULT_ALPHA,
    class_names: Sequence[str] | None = None,
    sample_ids: Sequence[object] | NDArray[Any] | None = None,
    options: ProfileOptions | None = None,
    name: str = "model",
) -> Audit:
    """Audit the certified L2 radii of a classifier that is smoothed by Gaussian noise.

    ``classify`` takes [0, 1] pixels (m, ...) as float32 and gives logits (m, K); ``images`` is (N, ...) in [0, 1].

    >>> rng = np.random.default_rng(0)
    >>> images, labels = rng.random((40, 1, 4, 4)), np.arange(40) % 2
    >>> images[labels == 1] += 1.0
    >>> middle = lambda x: np.stack([1 - x.mean(axis=(1, 2, 3)), x.mean(axis=(1, 2, 3)) - 1], axis=1)
    >>> certify_smoothing(middle, images, labels, noise=Noise(n=200)).wcr.interval[0] > 0.2
    True
    """
    noise = noise or Noise()
    largest_radius(noise, alpha)  # refused before anything is run
    pixels = np.asarray(images, dtype=np.float32)
    samples = Samples.of(classify(pixels), labels, class_names=class_names, sample_ids=sample_ids)
    votes = noise_votes(classify, pixels, samples.sample_ids or tuple(map(str, range(len(pixels)))), noise)
    return _audit(samples, smoothing_scores(samples, votes, noise=noise, alpha=alpha), options, name)


def certify_lipschitz(
    logits: ArrayLike,
    labels: ArrayLike,
    lipschitz: float,
    *,
    cap: float | None = None,
    class_names: Sequence[str] | None = None,
    options: ProfileOptions | None = None,
    name: str = "model",
) -> Audit:
    """Audit the radii that a proven L2 Lipschitz constant of the logits in [0, 1] pixels gives.

    >>> certify_lipschitz([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], 10.0).wcr.class_
    '1'
    """
    samples = Samples.of(logits, labels, class_names=class_names)
    return _audit(samples, lipschitz_scores(samples, lipschitz, cap=cap), options, name)


def certify_given(
    logits: ArrayLike,
    labels: ArrayLike,
    radii: ArrayLike,
    *,
    norm: str = "l2",
    cap: float | None = None,
    class_names: Sequence[str] | None = None,
    options: ProfileOptions | None = None,
    name: str = "model",
) -> Audit:
    """Audit radii ``(N,)`` that were proven elsewhere, in [0, 1] pixels.

    >>> certify_given([[3, 0], [2, 0], [0, 1], [1, 0]], [0, 0, 1, 1], [0.2, 0.1, 0.1, 0.0]).wcr.value
    0.05
    """
    samples = Samples.of(logits, labels, class_names=class_names)
    return _audit(samples, given_scores(samples, radii, norm=norm, cap=cap), options, name)


def smoothed_scores(
    run: Run, samples: Samples, *, noise: Noise, alpha: float, progress: Callable[[int, int], None]
) -> LocalScores:
    """Radii of the smoothed model of a run, with the votes kept in its store."""
    largest_radius(noise, alpha)  # refused before anything is run
    votes, halved = measured(run, Votes.of(run, noise), progress).rows()
    local = smoothing_scores(samples, votes.astype(np.int64), noise=noise, alpha=alpha)
    return replace(local, halved_batches=halved)


def _audit(samples: Samples, local: LocalScores, options: ProfileOptions | None, name: str) -> Audit:
    audited = audit_scores(samples, local, options or ProfileOptions(), name=name)
    return Audit(models=(audited,), provenance=make_provenance())
