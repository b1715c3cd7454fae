"""``gfscore certify``: the class profile of a true certificate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gfscore import auditing, certifying
from gfscore.cli import options as shared
from gfscore.cli.delivery import deliver, provenance
from gfscore.cli.grouping import expand
from gfscore.cli.running import advance
from gfscore.cli.screens import progress_bar
from gfscore.cli.sources import Source, audit_source, logits_sources
from gfscore.errors import OptionError, naming
from gfscore.inputs.radii import read_radii
from gfscore.outputs.tables import check_per_sample
from gfscore.results import Audit
from gfscore.samples import Samples
from gfscore.storage import Watched

NOISE = certifying.Noise()


class Method(StrEnum):
    """Where the radii come from."""

    SMOOTHING = "smoothing"
    LIPSCHITZ = "lipschitz"
    GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateOptions:
    """What makes the radii."""

    method: Annotated[
        Method,
        typer.Option(
            help="smoothing: of the model under Gaussian noise; lipschitz: from the margins of the logits; given: from "
            "--radii."
        ),
    ]
    sigma: Annotated[
        float | None, typer.Option(help=f"Of the noise, in [0, 1] pixels.  [default: {NOISE.sigma:g}]")
    ] = None
    n0: Annotated[
        int | None,
        typer.Option("--n0", help=f"Noise samples that choose the class of an image.  [default: {NOISE.n0}]"),
    ] = None
    n: Annotated[
        int | None, typer.Option("--n", help=f"Noise samples that are then counted for it.  [default: {NOISE.n}]")
    ] = None
    alpha: Annotated[
        float | None,
        typer.Option(
            help=f"Probability with which a radius may be too large.  [default: {certifying.DEFAULT_ALPHA:g}]"
        ),
    ] = None
    lipschitz: Annotated[
        float | None,
        typer.Option(
            metavar="L",
            help="L2 Lipschitz constant of the logits in [0, 1] pixels.  [default: product of spectral norms]",
        ),
    ] = None
    of_inputs: Annotated[
        bool, typer.Option("--of-inputs", help="L is for inputs after mean and std: divide it by the smallest std.")
    ] = False
    radii: Annotated[Path | None, typer.Option(metavar="FILE", help="A radius per sample: .csv, .npz or .parquet.")] = (
        None
    )
    norm: Annotated[str, typer.Option(help="Of the radii in --radii: l2 or linf.")] = "l2"
    cap: Annotated[
        float | None,
        typer.Option(help="Largest radius that counts, for lipschitz and given.  [default: 1 in l2, 16/255 in linf]"),
    ] = None
    seed: shared.Seed = 0

    def check(self) -> None:
        """Refuse what belongs to another method, before anything is run."""
        if self.radii is not None and self.method is not Method.GIVEN:
            raise OptionError(f"--radii is given with --method {self.method}, which computes its own. Leave one out.")
        if self.method is Method.GIVEN and self.radii is None:
            raise OptionError("--method given needs --radii, a file with a radius per sample.")
        if self.method is not Method.LIPSCHITZ and (self.lipschitz is not None or self.of_inputs):
            raise OptionError("--lipschitz and --of-inputs are for --method lipschitz. Leave them out.")
        if self.method is not Method.SMOOTHING and self.votes:
            raise OptionError(f"--{next(iter(self.votes))} is for --method smoothing. Leave it out.")
        if self.method is Method.SMOOTHING and self.cap is not None:
            raise OptionError("--cap is for radii without a largest one, and smoothing has one. Leave it out.")
        if self.of_inputs and self.lipschitz is None:
            raise OptionError("--of-inputs says what --lipschitz is for, which is not given. Give it, or neither.")
        if self.norm != "l2" and self.method is not Method.GIVEN:
            raise OptionError(f"--norm {self.norm} is given with --method {self.method}, whose radii are in l2.")
        if self.method is Method.SMOOTHING:
            certifying.largest_radius(self.noise, self.failure_rate)
        else:
            certifying.check_cap(self.cap, self.norm)

    @property
    def votes(self) -> dict[str, Any]:
        """What was said about smoothing."""
        return {name: value for name in ("sigma", "n0", "n", "alpha") if (value := getattr(self, name)) is not None}

    @property
    def noise(self) -> certifying.Noise:
        """The noise, checked."""
        return certifying.Noise(**{name: self.votes[name] for name in self.votes.keys() - {"alpha"}}, seed=self.seed)

    @property
    def failure_rate(self) -> float:
        """Alpha, as given or by default."""
        return certifying.DEFAULT_ALPHA if self.alpha is None else self.alpha


@expand
def certify_command(
    *,
    logits: Annotated[
        list[Path] | None, typer.Argument(help="Logits files, for given radii or a given Lipschitz constant.")
    ] = None,
    model: shared.ModelSpecs = None,
    data: shared.DataSpecs = None,
    certificate: CertificateOptions,
    judging: shared.ProfileOptions,
    groups: shared.Groups = None,
    per_sample: shared.PerSample = None,
    run: shared.RunOptions,
    out: shared.Out = None,
    as_json: shared.AsJson = False,
) -> None:
    """Audit how evenly certified robustness is spread over the classes: radii that are proven, not estimated.

    Prints the same tables as audit and writes audit.json; every radius is in [0, 1] pixels.
    """
    certificate.check()
    if certificate.method is Method.SMOOTHING:
        run.refuse_ray("--method smoothing")
    options, names = judging.checked(), run.names
    if per_sample is not None:
        check_per_sample(per_sample)
    run = replace(run, quiet=run.quiet or as_json)
    inputs = (*(logits or []), certificate.radii, groups, run.class_names)
    files = Watched(path for path in inputs if path is not None)  # before any is read
    models, tables = [], []
    for name, source in _sources(logits or [], model or [], data or [], run):
        samples = source.read(class_names=names, groups=groups)
        with naming(source.path if source.run is None else name):
            local = _radii(samples, source, certificate, run)
            models.append(audit_source(name, source, samples, local, options))
        if certificate.radii is not None and len(models) > 1:
            raise OptionError("--radii are those of one model. Call the command once for each.")
        if per_sample is not None:
            tables.append(auditing.sample_table(samples, local, name=name))
    audit = Audit(models=tuple(models), provenance=provenance(files))
    deliver(audit, out=out, as_json=as_json, quiet=run.quiet, per_sample=per_sample, tables=tables)


def _sources(
    logits: Sequence[Path], models: Sequence[str], data: Sequence[str], run: shared.RunOptions
) -> Iterator[tuple[str, Source]]:
    """As for an audit, but a model's forward passes are over, and their bar gone, before its radii are computed."""
    if logits or not models:
        yield from logits_sources(logits, (), () if models else data, run)
    for spec in models:
        yield from list(logits_sources((), [spec], data, run))


def _radii(
    samples: Samples, source: Source, certificate: CertificateOptions, running: shared.RunOptions
) -> certifying.LocalScores:
    """The radii of one model, by the method that was chosen."""
    run = source.run
    match certificate.method:
        case Method.GIVEN if certificate.radii is not None:
            with naming(certificate.radii):
                found = read_radii(certificate.radii, samples)
                return certifying.given_scores(samples, found, norm=certificate.norm, cap=certificate.cap)
        case Method.SMOOTHING:
            if run is None:
                raise OptionError("smoothing runs the model on noisy images. Give --model and --data, not logits.")
            with progress_bar(quiet=running.quiet) as bar:
                return certifying.smoothed_scores(
                    run,
                    samples,
                    noise=certificate.noise,
                    alpha=certificate.failure_rate,
                    progress=advance(bar, run.name),
                )
    constant, how = certificate.lipschitz, "given"
    if run is not None:
        constant, how = certifying.pixel_constant(run, constant, of_inputs=certificate.of_inputs)
    elif constant is None or certificate.of_inputs:
        raise OptionError("logits do not show their network. Give --lipschitz for pixels, or --model and --data.")
    return certifying.lipschitz_scores(samples, constant, cap=certificate.cap, how=how)
