"""``leaderboard``: models ranked by the robust accuracy of their worst class, with intervals of their ranks."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from gfscore import views
from gfscore.bounds import check_level
from gfscore.errors import OptionError, first_few
from gfscore.jobs.calling import SILENT, Face, Job
from gfscore.jobs.named_files import audit_file, refuse_repeated, tell_apart
from gfscore.jobs.sources import provenance_of, watch
from gfscore.judge.robust_accuracy import robust_intervals
from gfscore.ranking import rank_intervals
from gfscore.results import Audit, Leaderboard, Metric, ModelAudit, RankedModel, UnrankedModel
from gfscore.results.leaderboard_result import Kind
from gfscore.storage import Watched
from gfscore.words import Panel, Word, read_size

KINDS: tuple[str, ...] = get_args(Kind)  # what a reviewer would rather see comes first
LACKS = {
    "attacked": "it was not attacked. Run gfscore check --autoattack --eps E.",
    "bounded": "it was not attacked with a budget. Run gfscore check --autoattack --eps E --budget N.",
    "certified": "it has no certified radii. Run gfscore certify.",
    "estimated": "it has no robust accuracy, which takes the model. Run gfscore audit --model MODEL --data DATA.",
}


@Job
def leaderboard(
    audits: Annotated[
        Any,
        Word(
            kind=list[Path],
            is_argument=True,
            metavar="AUDIT",
            help="audit.json files, or folders that hold one; their models are ranked together.",
        ),
    ],
    *,
    by: Annotated[
        str | None,
        Word(
            any_case=True,
            metavar="KIND",
            panel=Panel.SCORE,
            help=f"Which robust accuracy to rank by: {', '.join(KINDS)}.  [default: the first of these that all have, "
            "or most]",
        ),
    ] = None,
    eps: Annotated[
        float | None,
        Word(
            parse=read_size,
            metavar="SIZE",
            panel=Panel.SCORE,
            help="Rank at this size of attack, in [0, 1] pixels, such as 2/255.  [default: that of most headlines]",
        ),
    ] = None,
    norm: Annotated[
        str | None,
        Word(any_case=True, panel=Panel.SCORE, help="Norm of the attacks: l2 or linf.  [default: that of most]"),
    ] = None,
    delta: Annotated[
        float,
        Word(
            panel=Panel.STATISTICS,
            help="All ranks hold together with probability 1 - delta; each model has an equal share of it. What was "
            "attacked keeps the level of its check.",
        ),
    ] = 0.05,
    face: Face = SILENT,
) -> Leaderboard:
    """Rank models by the robust accuracy of their worst class, each with the ranks that the data allow.

    ``audits`` are files, folders, results of :func:`~gfscore.audit` or :func:`~gfscore.check`, or several of them. Only
    models that were measured alike are ranked: in one norm, at one size, on the same data. The others are listed with
    the reason, not as last. What ranks are worth: :doc:`leaderboard`.

    >>> from gfscore.jobs.audit import audit
    >>> both = audit(model=["zoo:standard", "zoo:trades"], data="zoo:digits", gradients="no", radii=60)
    >>> board = leaderboard(both, eps=8 / 255)
    >>> [(model.name, model.ranks) for model in board.models]
    [('trades', (1, 2)), ('standard', (1, 2))]
    """
    check_level(delta)
    if by is not None and by not in KINDS:
        raise OptionError(f"--by {by!r} is no kind of robust accuracy. Choose {', '.join(KINDS[:-1])} or {KINDS[-1]}.")
    files, models = _read(audits)
    kind: Any = by or _choose_kind(models)  # one of KINDS
    unranked = {name: LACKS[kind] for name, model in models.items() if _measured(model, kind) is None}
    found = {name: entry for name, model in models.items() if (entry := _measured(model, kind)) is not None}
    norm = norm or _most(entry.norm for entry in found.values())
    size = eps if eps is not None else _most(entry.eps for entry in found.values() if entry.norm == norm)
    data, attack = (_most(getattr(entry, what) for entry in found.values()) for what in ("data", "attack"))
    for name, entry in found.items():
        if (why := entry.stands_apart(str(norm), size, data, attack)) is not None:
            unranked[name] = why
    kept = {name: entry for name, entry in found.items() if name not in unranked}
    if len(kept) < 2 or size is None:
        told = "; ".join(f"{name}: {why}" for name, why in list(unranked.items())[:3])
        raise OptionError(
            f"a leaderboard ranks at least two models, and {len(kept)} can be ranked here. {told}".strip()
        )
    places = {name: entry.place(name, size, delta / len(kept)) for name, entry in kept.items()}
    total = sum(place.delta for place in places.values())
    if total >= 1:
        raise OptionError(
            f"the checks of {len(kept)} models may fail with {total:g} together, so that nothing is known of all. "
            f"Check each with --delta {delta / len(kept):.2g}."
        )
    first = next(iter(kept.values())).model
    return Leaderboard(
        kind=kind,
        norm=str(norm),
        eps=size,
        data=data[0],
        partition=first.partition,
        n_classes=len(first.classes),
        delta=min(total, 1 - 1e-12),
        models=_ranked(list(places.values())),
        unranked=tuple(UnrankedModel(name=name, reason=unranked[name]) for name in models if name in unranked),
        provenance=provenance_of(face, files),
    )


def _ranked(places: list[RankedModel]) -> tuple[RankedModel, ...]:
    """The models with their ranks, the highest first."""
    ends = [place.worst.interval or (0.0, 1.0) for place in places]
    first, last = rank_intervals([low for low, _ in ends], [high for _, high in ends])
    values = [place.worst.value or 0.0 for place in places]
    found = [
        place.model_copy(update={"rank": 1 + sum(other > value for other in values), "ranks": (int(low), int(high))})
        for place, value, low, high in zip(places, values, first, last, strict=True)
    ]
    return tuple(sorted(found, key=lambda place: (place.rank, place.ranks, place.name)))


Data = tuple[str | None, str | None, tuple[str, ...]]  # what it is called, its fingerprint, its classes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A model by one kind of robust accuracy."""

    model: ModelAudit
    kind: str
    norm: str
    eps: float  # of its headline, or of its attack

    @property
    def data(self) -> Data:
        """What it was run on, as far as the audit tells."""
        run, names = self.model.run, tuple(entry.name for entry in self.model.classes)
        return (None, None, names) if run is None else (run.data.source, run.data.fingerprint, names)

    @property
    def attack(self) -> tuple[str, str] | None:
        """Its attack, and what an interval from few attacks is about; None where there was none."""
        check = self.model.cross_check
        if self.kind not in ("attacked", "bounded") or check is None:
            return None
        return check.attack, "population" if check.few is None else check.few.target

    def stands_apart(self, norm: str, eps: float | None, data: Data, attack: tuple[str, str] | None) -> str | None:
        """Why it cannot stand beside models that were measured so; None where it can."""
        if self.norm != norm:
            return f"it was measured in {views.norm_text(self.norm)}, the others in {views.norm_text(norm)}."
        if self.data[1:] != data[1:]:
            what = "has other classes" if self.data[2] != data[2] else "was run on other data"
            name = "" if self.data[0] is None or self.data[0] == data[0] else f" ({views.printable(self.data[0])})"
            return f"it {what} than the others{name}."
        if self.attack is not None and attack is not None and self.attack != attack:
            if self.attack[0] != attack[0]:
                return f"it was attacked by {self.attack[0]}, the others by {attack[0]}."
            return f"its intervals are for --target {self.attack[1]}, those of the others for --target {attack[1]}."
        known = self._sizes()
        if eps is None or not any(abs(size - eps) <= 1e-9 * size for size in known):
            said = first_few([views.eps_text(size, norm) for size in known], 12)
            asked = "no eps" if eps is None else views.eps_text(eps, norm)
            return f"it is known at {said}, not at {asked}."
        return None

    def _sizes(self) -> list[float]:
        robust = self.model.robustness
        if self.kind in ("attacked", "bounded") or robust is None:
            return [self.eps]
        return [rung.eps for rung in robust.rungs]

    def place(self, name: str, eps: float, level: float) -> RankedModel:
        """The model with its worst class, not ranked yet; what was attacked has a level of its own."""
        check, robust = self.model.cross_check, self.model.robustness
        whole: float | None
        sharper = None  # than what the classes leave, where the worst of them has an interval of its own
        if self.kind == "bounded" and check is not None and check.few is not None:
            classes = {part.name: Metric(value=part.value, interval=part.interval) for part in check.few.classes}
            whole, n, level = check.accuracy.value, check.few.attacked, check.few.delta
            sharper = check.few.worst.interval
        elif self.kind == "attacked" and check is not None:
            classes = {entry.name: entry.attacked for entry in self.model.classes if entry.attacked is not None}
            whole, n, level = check.accuracy.value, check.n, check.delta
        else:
            at = robust_intervals(self.model, [(eps, "*")], level)[eps]
            classes = {part: Metric(value=value, interval=ends) for part, (value, ends, _) in at.classes.items()}
            whole, n = at.whole[0], 0 if robust is None else robust.n
        ends = {part: metric.interval or (0.0, 1.0) for part, metric in classes.items()}
        worst = min(classes, key=lambda part: (classes[part].value or 0.0, ends[part]))
        highest = min(high for _, high in ends.values())
        return RankedModel(
            name=name,
            rank=1,
            ranks=(1, 1),
            worst=Metric(
                value=classes[worst].value, interval=sharper or (min(low for low, _ in ends.values()), highest)
            ),
            worst_class=worst,
            worst_set=tuple(part for part, (low, _) in ends.items() if low <= highest),
            whole=whole,
            accuracy=self.model.accuracy,
            n=n,
            delta=level,
        )


def _measured(model: ModelAudit, kind: str) -> Measured | None:
    """The model by a kind of robust accuracy; None where it has none of this kind."""
    check, robust = model.cross_check, model.robustness
    if kind in ("attacked", "bounded"):
        if check is None or (check.few is None) != (kind == "attacked"):
            return None
        return Measured(model=model, kind=kind, norm=check.norm, eps=check.eps)
    if robust is None or robust.kind != kind:
        return None
    return Measured(model=model, kind=kind, norm=robust.norm, eps=robust.eps)


def _choose_kind(models: Mapping[str, ModelAudit]) -> str:
    """The first kind that all models have, or else the one that most have."""
    counts = {kind: sum(_measured(model, kind) is not None for model in models.values()) for kind in KINDS}
    most = max(counts.values())
    if most == 0:
        raise OptionError(
            "none of the models has a robust accuracy, which takes the model itself. Run gfscore audit --model MODEL "
            "--data DATA."
        )
    return next(kind for kind in KINDS if counts[kind] == most)


def _most(values: Iterable[Any]) -> Any:
    """The value that is there most often, of several the first; None without any."""
    counts = Counter(values)
    return max(counts, key=lambda value: counts[value]) if counts else None


def _read(audits: Any) -> tuple[Watched, dict[str, ModelAudit]]:
    """The files, watched from before they are read, and all models by names that tell them apart."""
    several: Sequence[Any] = audits if isinstance(audits, list | tuple) else [audits]
    if isinstance(audits, Mapping):
        several = list(audits.values())
    several = [audit_file(Path(each)) if isinstance(each, str | Path) else each for each in several]
    files = [each for each in several if isinstance(each, Path)]
    refuse_repeated(files)
    watched, models = watch(files), list[tuple[str, ModelAudit]]()
    for place, each in enumerate(several, start=1):
        found = Audit.load(each) if isinstance(each, Path) else each
        if not isinstance(found, Audit | ModelAudit):
            raise OptionError(f"an audit is {type(each).__name__}. Give results of gfscore.audit, or audit.json files.")
        name = str(each) if isinstance(each, Path) else f"audit {place}"
        models += [(name, model) for model in (found.models if isinstance(found, Audit) else [found])]
    if isinstance(audits, Mapping) and len(models) == len(audits):
        return watched, {str(name): model for name, (_, model) in zip(audits, models, strict=True)}
    return watched, {name: model for name, (_, model) in zip(tell_apart(models), models, strict=True)}
