"""What a report says first, in three sentences that can be quoted: how accurate, how robust, and who is worst."""

from collections import Counter
from collections.abc import Callable, Sequence

from gfscore import views
from gfscore.errors import PLURALS, first_few
from gfscore.outputs import attack_words, robust_words, sentences
from gfscore.outputs.escaping import shorten
from gfscore.results import ModelAudit, Robustness
from gfscore.score_titles import title_of

NOTHING = "Do not quote what follows before this is explained."
FEW = 4  # names that a sentence can hold
HOW_KNOWN = {
    "estimated": "This is estimated by {kind} radii, neither bounded nor attacked",
    "certified": "This is bounded, by a proof on the condition stated under “Claimed”",
}
UNKNOWN = "How much attacks would leave correct was not measured, which takes the model"


def key_sentences(models: Sequence[ModelAudit]) -> tuple[str, str, str]:
    """How accurate, how robust at which eps and known how, which class is worst and how sure; of one model or all."""
    if len(models) == 1:
        model = models[0]
        return accuracy_sentence(model), robust_sentence(model), worst_sentence(model)
    return _accuracies(models), _robustness(models), _worst(models)


def doubt_sentences(models: Sequence[ModelAudit]) -> list[str]:
    """What has to be said before anything else: that the numbers of a model are about nothing, and why."""
    void = {model.name: [flag.message for flag in model.flags if flag.voids] for model in models}
    named = {name: messages for name, messages in void.items() if messages}
    if not named:
        return []
    if len(models) == 1:
        return [f"{NOTHING} {sentences.begin(message)}" for messages in named.values() for message in messages[:1]]
    about = first_few([shorten(name) for name in named])
    return [f"What is said of {about} is about nothing, as the warnings there explain: do not quote it before."]


def accuracy_sentence(model: ModelAudit) -> str:
    """How much of the samples is decided correctly."""
    decider = title_of(model.score.name).decider or "The model"
    return f"{decider} decides {views.percent(model.accuracy)} of {sentences.whole_of(model)} correctly."


def robust_sentence(model: ModelAudit) -> str:
    """How much attacks would leave correct, at which eps, and whether that is estimated, bounded or attacked."""
    found = model.robustness
    parts = []
    if found is None and model.cross_check is None:
        return f"{UNKNOWN}; the {_title(model)} only puts the {PLURALS[model.partition]} in an order."
    if found is not None:
        parts.append(f"{sentences.begin(robust_words.whole_text(model))}. {_how_known(found)}")
    if model.cross_check is not None:
        check = model.cross_check
        attack = attack_words.attack_title(check.attack, check.norm, check.eps)
        few = "" if check.few is None else f", estimated from {check.few.attacked:,} attacked images"
        parts.append(f"Attacked by {attack}, {views.share_text(check.accuracy)} stay correct{few}")
    return f"{'. '.join(parts)}."


def _how_known(found: Robustness) -> str:
    return HOW_KNOWN[found.kind].format(kind=robust_words.radius_kind(found))


def worst_sentence(model: ModelAudit) -> str:
    """Which class is worst, and how sure that is."""
    found, part = model.robustness, model.partition
    if found is None:
        return _worst_score(model)
    rung, sure = found.headline, f"with probability {1 - found.delta:g}"
    others = [f"“{shorten(name)}”" for name in rung.worst_set if name != rung.worst]
    said = f"The worst {part} is “{shorten(rung.worst)}” with {views.share_text(rung.lowest)} robust accuracy"
    return f"{said}{_candidates(others, len(rung.classes), PLURALS[part], sure)}."


def _worst_score(model: ModelAudit) -> str:
    """The same by the score, where robust accuracy is not known."""
    worst, parts = min(model.classes, key=lambda entry: entry.score), PLURALS[model.partition]
    if worst.score == max(entry.score for entry in model.classes):
        return f"All {parts} score {views.score_text(model, worst.score)}: none is worse than another."
    value = views.score_text(model, worst.score, worst.interval)
    said = f"By {_title(model)} the lowest {model.partition} is “{shorten(worst.name)}” with {value}"
    if not model.worst_set:
        return f"{said}; how sure that is was not computed."
    others = [f"“{shorten(name)}”" for name in model.worst_set if name != worst.name]
    sure = f"with probability {1 - model.interval.delta:g}"
    return f"{said}{_candidates(others, len(model.classes), parts, sure)}."


def _candidates(others: Sequence[str], total: int, parts: str, sure: str) -> str:
    """How sure it is that a class is the worst."""
    if not others:
        return f", and no other can be worst, {sure}"
    if total == 2:
        return f", but the data cannot tell it from {others[0]}"
    if len(others) + 1 == total:
        return f", but the data cannot tell it from any other of the {total:,} {parts}"
    if len(others) <= FEW:
        return f", but the data cannot exclude {_list(others)}; all others are excluded {sure}"
    return f", but the data cannot exclude {len(others):,} other {parts} of {total:,}; the rest is excluded {sure}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _title(model: ModelAudit) -> str:
    return shorten(title_of(model.score.name).title)


def _accuracies(models: Sequence[ModelAudit]) -> str:
    low, high = _ends(models, lambda model: model.accuracy)
    if views.percent(low.accuracy) == views.percent(high.accuracy):
        return f"Each of the {len(models):,} models decides {views.percent(low.accuracy)} of its samples correctly."
    return (
        f"The {len(models):,} models decide from {views.percent(low.accuracy)} ({shorten(low.name)}) to "
        f"{views.percent(high.accuracy)} ({shorten(high.name)}) of their samples correctly."
    )


def _ends(models: Sequence[ModelAudit], value: Callable[[ModelAudit], float]) -> tuple[ModelAudit, ModelAudit]:
    return min(models, key=value), max(models, key=value)


def _known(models: Sequence[ModelAudit]) -> list[tuple[ModelAudit, Robustness]]:
    return [(model, model.robustness) for model in models if model.robustness is not None]


def _alike(known: Sequence[tuple[ModelAudit, Robustness]]) -> bool:
    """Whether robust accuracies are of one norm, size and kind, so that they can stand in one sentence."""
    return len({(found.norm, found.eps, found.kind) for _, found in known}) == 1


def _robustness(models: Sequence[ModelAudit]) -> str:
    known = _known(models)
    if not known:
        return f"{UNKNOWN}; the {_title(models[0])} puts the classes of each model in an order, not the models."
    if not _alike(known):
        return (
            "Robust accuracy was measured at different sizes of attack, or in different ways: read it model by model."
        )
    found = known[0][1]
    if len(known) == 1:
        only = f"Robust accuracy was measured in 1 of {len(models):,} models, {shorten(known[0][0].name)}"
        return f"{only}: {robust_words.whole_text(known[0][0])}. {_how_known(found)}.{_attacked(models)}"
    low, high = _ends([model for model, _ in known], _whole)
    of = "" if len(known) == len(models) else f" in the {len(known):,} models where it was measured"
    verb = "provably leave at least" if found.kind == "certified" else "would leave an estimated"
    values = (
        f"{views.percent(_whole(low))} ({shorten(low.name)}) to {views.percent(_whole(high))} ({shorten(high.name)})"
    )
    said = f"Attacks up to {robust_words.size_text(found)} {verb} {values} correct{of}. {_how_known(found)}."
    return f"{said}{_attacked(models)}"


def _attacked(models: Sequence[ModelAudit]) -> str:
    """Where to read of models that were attacked without their robust accuracy being measured."""
    beside = [model for model in models if model.robustness is None and model.cross_check is not None]
    if not beside:
        return ""
    which = shorten(beside[0].name) if len(beside) == 1 else f"{len(beside):,} others"
    return f" What attacks left of {which} is in {'its section' if len(beside) == 1 else 'their sections'}."


def _whole(model: ModelAudit) -> float:
    return 0.0 if model.robustness is None else model.robustness.headline.value


def _lowest(model: ModelAudit) -> float:
    return 0.0 if model.robustness is None else model.robustness.headline.lowest.value or 0.0


def _worst(models: Sequence[ModelAudit]) -> str:
    known, part = _known(models), models[0].partition
    if not known or not _alike(known):
        name, times = Counter(model.wcr.class_ for model in models).most_common(1)[0]
        sure = sum(len(model.worst_set) == 1 for model in models)
        return (
            f"By {_title(models[0])} the lowest {part} is “{shorten(name)}” in {times:,} of {len(models):,} models; "
            f"the intervals exclude every other {part} in {sure or 'none'} of them."
        )
    if len(known) == 1:
        said = worst_sentence(known[0][0])
        return f"In {shorten(known[0][0].name)} {said[0].lower()}{said[1:]}"
    name, times = Counter(found.headline.worst for _, found in known).most_common(1)[0]
    sure = sum(len(found.headline.worst_set) == 1 for _, found in known)
    best = max((model for model, _ in known), key=_lowest)
    rung = best.robustness.headline if best.robustness is not None else None
    least = "" if rung is None else f"{views.share_text(rung.lowest)} (“{shorten(rung.worst)}”)"
    if all(views.percent(_lowest(model)) == views.percent(_lowest(best)) for model, _ in known):
        where = "" if len(known) == len(models) else " where it was measured"
        least = f"The worst {part} of every model{where} has {views.percent(_lowest(best))} robust accuracy"
        return f"{least}; in {times:,} of {len(known):,} models it is “{shorten(name)}”{_excluded(sure, part)}."
    often = f"The worst {part} is “{shorten(name)}” in {times:,} of {len(known):,} models"
    return (
        f"{often}{_excluded(sure, part)}. "
        f"The best worst {part} is that of {shorten(best.name)}, with {least} robust accuracy"
        f"{_not_told_from(best, known)}."
    )


def _excluded(sure: int, part: str) -> str:
    return f"; the intervals exclude every other {part} in {sure or 'none'} of them"


def _not_told_from(best: ModelAudit, known: Sequence[tuple[ModelAudit, Robustness]]) -> str:
    """How many other models may have a worst class as good: those whose interval reaches into that of the best."""
    ends = {id(model): found.headline.lowest.interval for model, found in known}
    mine = ends[id(best)]
    if mine is None:
        return ""
    near = sum(end is not None and end[1] >= mine[0] for model, end in ends.items() if model != id(best))
    if not near:
        return ""
    others = "1 other model" if near == 1 else f"{near:,} other models" if near < len(ends) - 1 else "any other model"
    return f", which the intervals do not tell from that of {others}"
