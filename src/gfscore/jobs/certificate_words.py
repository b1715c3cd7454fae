"""The words that say where proven radii come from, and which of them go together."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gfscore.errors import OptionError
from gfscore.jobs.common_words import Seed
from gfscore.scores.given import check_cap
from gfscore.scores.smoothing import DEFAULT_ALPHA, Noise, largest_radius
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
