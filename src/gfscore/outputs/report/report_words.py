"""The result in plain words, the same for every form of the report."""

from dataclasses import dataclass
from typing import Literal

from gfscore import views
from gfscore.errors import PLURALS
from gfscore.outputs import attack_words, robust_words, sentences
from gfscore.outputs.escaping import shorten
from gfscore.results import ModelAudit, Null, Robustness, ScoreInfo
from gfscore.score_titles import title_of

FEW = 4  # candidates for the worst that a sentence can name
ROBUST = "robust_accuracy"  # the key of a line that is about no metric of the table
TEXT_LIMIT = 800  # characters of a flag's message or of a premise


BROKEN = "Every {part} scores 0: labels and outputs probably do not belong together."
OTHER_ACCURACY = "by another accuracy, stop here: the labels or the preprocessing are wrong."
Tone = Literal["uneven", "open", "broken"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reader should take away: one sentence, and those that explain it."""

    headline: str
    sentences: tuple[str, ...]
    tone: Tone


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A metric of the whole model: its name, its number, what it means, and what chance alone would give."""

    key: str  # its name in the result
    name: str
    value: str
    meaning: str
    floor: str | None = None


def score_title(score: ScoreInfo) -> str:
    """What the score is called, short enough for a sentence."""
    return shorten(title_of(score.name).title)


def settings(score: ScoreInfo) -> str:
    """How the score was taken, as ``softmax, T = 1``."""
    found = views.settings(score)
    if score.eps is not None:
        found.append(f"eps = {score.eps:.4g}")
    return ", ".join(found)


def is_broken(model: ModelAudit) -> bool:
    """Whether nothing in the result means anything."""
    return all(entry.score == 0 for entry in model.classes)


def verdict(model: ModelAudit) -> Verdict:
    """The verdict on one model."""
    if is_broken(model):
        return Verdict(
            BROKEN.format(part=model.partition),
            (_accuracy(model), "Nothing else in this report means anything until that is explained."),
            "broken",
        )
    if model.robustness is not None:
        return _robust_verdict(model, model.robustness)
    explained = (_scores(model), *_gap(model), _accuracy(model), *_attacked(model), _reading(model))
    said = sentences.chance_text(model)
    match sentences.chance(model):
        case sentences.Chance.PROVED:
            return Verdict(f"{said} {_least(model)}", explained, "uneven")
        case sentences.Chance.UNTESTED:
            return Verdict(f"{_least(model)} {said}", explained, "open")
        case _:
            return Verdict(said, explained, "open")


def _robust_verdict(model: ModelAudit, found: Robustness) -> Verdict:
    """The verdict where accuracy under attack is known: that comes first, then what the score says."""
    worst = robust_words.worst_text(model, named=lambda name: f"“{shorten(name)}”")
    headline = f"{_decided(model)}; {robust_words.whole_text(model)}. Worst {model.partition}: {worst}"
    said, title = sentences.chance_text(model), score_title(model.score)
    least = f" {_least(model)}" if sentences.chance(model) is sentences.Chance.PROVED else ""
    explained = (
        f"By {robust_words.source_text(model)}. {robust_words.limits_text(found)}",
        *([] if title_of(model.score.name).decider else [f"If you know the model {OTHER_ACCURACY}"]),
        *_attacked(model),
        f"By {title}: {said[:1].lower()}{said[1:]}{least} {_scores(model)}",
        *_gap(model),
        _reading(model),
    )
    return Verdict(headline, explained, "uneven" if len(found.headline.worst_set) < len(found.classes) else "open")


def _least(model: ModelAudit) -> str:
    """Who is least protected, as far as the data can tell."""
    names = [f"“{shorten(name)}”" for name in model.worst_set] or [f"“{shorten(model.wcr.class_)}”"]
    if len(names) == 1:
        return f"Least protected: {names[0]}."
    if len(names) <= FEW:
        return f"Least protected: {', '.join(names[:-1])} or {names[-1]}; the data cannot tell which."
    parts = PLURALS[model.partition]
    if len(names) == len(model.classes):
        return f"Which of the {len(names):,} {parts} is least protected, the data cannot tell."
    return f"Least protected: one of {len(names):,} of the {len(model.classes):,} {parts}; the data cannot tell which."


def _scores(model: ModelAudit) -> str:
    places = views.digits_of(model.score)
    low, high = model.score.range
    worst, best = (choose(model.classes, key=lambda entry: entry.score) for choose in (min, max))
    allowed = ""
    if worst.interval is not None:
        allowed = f" (the data allow {' to '.join(views.ends(worst.interval, places))})"
    return (
        f"On a scale from {low:g} to {high:.4g}, “{shorten(worst.name)}” scores "
        f"{views.score_text(model, worst.score)}"
        f"{allowed}; the {PLURALS[model.partition]} average {views.score_text(model, model.class_mean)}, and the best, "
        f"“{shorten(best.name)}”, scores {views.score_text(model, best.score)}."
    )


def _gap(model: ModelAudit) -> tuple[str, ...]:
    if model.noise is None:
        return ()
    null, places = model.noise.rdi, views.digits_of(model.score)
    gap, usual, rare = (views.number(value, places) for value in (model.rdi.value, null.null_mean, null.null_q95))
    were = f"Were all {PLURALS[model.partition]} equal, chance alone would still show {usual} on average"
    limits = sentences.limits_of_test(model)
    return (f"From best to worst that is {gap}. {were}, and more than {rare} once in twenty times.", *limits)


def _decided(model: ModelAudit) -> str:
    decider = title_of(model.score.name).decider or "The model"
    return f"{decider} decides {views.percent(model.accuracy)} of {sentences.whole_of(model)} correctly"


def _accuracy(model: ModelAudit) -> str:
    decided = f"{_decided(model)}."
    return decided if title_of(model.score.name).decider is not None else f"{decided} If you know it {OTHER_ACCURACY}"


def _attacked(model: ModelAudit) -> tuple[str, ...]:
    """What a real attack left, where one was run."""
    found = model.cross_check
    if found is None:
        return ()
    if found.few is not None:
        return tuple(attack_words.few_sentences(found, found.few, PLURALS[model.partition]))
    size = f"{found.attack} ({found.norm.capitalize()}, eps = {found.eps:.4g})"
    return (f"Under {size} {views.share_text(found.accuracy)} of {found.n:,} samples keep their true class.",)


def _reading(model: ModelAudit) -> str:
    """How far the score may be read as a distance."""
    if model.claim.radius_refuted_share:
        return (
            f"{sentences.tried_texts(model)[0]} There the model is fooled by a change smaller than the score. Read the "
            "scores as an order of the classes, not as distances."
        )
    if model.claim.certified:
        return "The scores are distances, on the condition that stands under “Claimed”."
    return "The scores put the classes of one model in an order. What they do not say stands under “Not claimed”."


def metric_lines(model: ModelAudit) -> list[MetricLine]:
    """Every metric of the whole model, in plain words."""
    nulls = sentences.nulls(model)

    def line(key: str) -> MetricLine:
        row, null = views.metric_row(key), nulls.get(key)
        return MetricLine(
            key=key,
            name=shorten(sentences.begin(sentences.fill(row.name or row.title, model))),
            value=views.metric_text(model, key),
            meaning=sentences.fill(row.meaning or row.note, model, named=shorten),
            floor=None if null is None else _floor(model, null, views.metric_digits(key, model.score)),
        )

    return [*_robust_line(model), *map(line, views.metric_keys(model))]


def _robust_line(model: ModelAudit) -> list[MetricLine]:
    """The share of radii above eps, where there is one."""
    found, robust = model.robust_accuracy, model.robustness
    if found is None or robust is None:
        return []
    proven = robust.kind == "certified"
    meaning = (
        f"The share of samples whose radius is above {robust_words.eps_text(robust)}, which "
        f"{'bounds' if proven else 'estimates'} the accuracy under attacks of that size. "
        f"{robust_words.PROOF if proven else robust_words.NO_BOUND}"
    )
    return [MetricLine(ROBUST, f"Robust accuracy, {robust.kind}", views.share_text(found), meaning)]


def _floor(model: ModelAudit, null: Null, places: int) -> str:
    """The noise floor of an index in a few words."""
    return (
        f"{views.number(null.null_mean, places)} on average, above {views.number(null.null_q95, places)} in 5 % of "
        f"cases; p = {sentences.adjusted(null):.2g}: {sentences.index_verdict(model, null)}"
    )


def claimed(model: ModelAudit) -> list[str]:
    """What the numbers do say."""
    how, title, meaning = model.interval, score_title(model.score), title_of(model.score.name).meaning
    target = "all samples there could be" if how.target == "population" else "the whole fixed data set"
    mean = f"For each {model.partition} the mean {title} of its samples. The number of one sample"
    those = "All of a model" if sentences.levels_beside(model) is None else "Those of a model's scores and metrics"
    intervals = f"Intervals (in brackets) for what {target} would give. {those} hold together with probability"
    found = [
        f"{mean}: {meaning}; 0 where the decision is wrong.",
        f"{intervals} {1 - how.delta:g} ({how.method}), if the samples are independent draws.",
    ]
    others = sentences.levels_beside(model)
    if others is not None:
        found.append(others)
    if model.robustness is not None:
        found.insert(0, robust_words.claim_text(model))
    if views.is_certified(model):
        found.append(f"A certificate. {shorten(model.claim.premise, TEXT_LIMIT)}")
    return found


def not_claimed(model: ModelAudit) -> list[str]:
    """What the numbers do not say, and what is known against it."""
    claim, premise = model.claim, shorten(model.claim.premise, TEXT_LIMIT)
    refuted = claim.radius_refuted_share
    if refuted:
        found = [f"{sentences.tried_texts(model)[0]} {premise}"]
    elif views.is_certified(model):
        found = ["Anything about changes that are larger than the radius, or measured in another norm."]
    else:
        found = [f"That no change smaller than its score fools the model. {premise}"]
        if refuted is None:
            found.append("Nothing has tried to refute that reading in this result; it may well be wrong.")
    if refuted == 0:
        found.append("A search for counterexamples found none. That is no proof that there are none.")
    if claim.premise_violated_share is not None:
        found.append(f"The premise was found violated on {views.percent(claim.premise_violated_share)} of samples.")
    unproven = robust_words.no_claim_text(model)
    if unproven:
        found.insert(0, unproven)
    if not title_of(model.score.name).orders_models:
        found.append("That a higher score makes a model more robust than one that was trained differently.")
    return found
