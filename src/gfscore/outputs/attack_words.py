"""Few attacks in words: how many images were attacked, what that says of all, and how sure it is."""

from gfscore import views
from gfscore.errors import first_few
from gfscore.results import AttackedPart, CrossCheck, FewAttacks, Metric, Referee, RefereeSize

ATTACKS = {"autoattack": "AutoAttack (standard)", "pgd": "APGD (20 steps)"}
TARGETS = {"finite": "these very images", "population": "the distribution behind the images"}


def attack_title(attack: str, norm: str, eps: float) -> str:
    """An attack with its size: ``AutoAttack (standard), Linf 2/255``."""
    return f"{ATTACKS.get(attack, attack)}, {views.norm_text(norm)} {views.eps_text(eps, norm)}"


def kinder(attack: str) -> list[str]:
    """What must be said of an attack that leaves more than AutoAttack does: a sentence, or nothing."""
    if attack != "pgd":
        return []
    return ["20 steps of APGD are a first look: AutoAttack may break a few images more."]


def count_text(part: AttackedPart) -> str:
    """How many images of a class were attacked, of how many that might have withstood."""
    return f"{part.attacked:,} of {part.right - part.fallen:,}"


def few_sentences(found: CrossCheck, few: FewAttacks, parts: str = "classes") -> list[str]:
    """What few attacks say of all images, a sentence or two each."""
    attack = attack_title(found.attack, found.norm, found.eps)
    known = f" ({few.from_store:,} of them by an earlier run)" if few.from_store else ""
    rounded = few.budget - few.attacked
    cut = f" The budget of {few.budget:,} holds so many whole blocks of {few.block}." if 0 < rounded < few.block else ""
    worst = f"“{views.printable(few.worst_class)}”, {views.share_text(few.worst)}"
    doubt = ""
    if len(few.worst_set) == len(few.classes):
        doubt = ", though it may be any other"
    elif len(few.worst_set) > 1:
        doubt = f", though it may be any of {first_few([views.printable(name) for name in few.worst_set], 12)}"
    gini = views.estimate(few.gini.value, few.gini.interval, views.INDEX_DIGITS)
    accuracy = (
        f"{attack}: {views.share_text(found.accuracy)} of {few.n:,} images withstand it, estimated from attacks on "
        f"{few.attacked:,} of the {few.right:,} rightly classified ones{known} and radii of all.{cut}"
    )
    first = [f"{_first(few)}."] if few.attacked_first else []
    worth = (
        f"Radii alone say {views.percent(few.predicted)}. Of the {few.attacked:,} attacked images they predicted "
        f"{few.mistaken:,} wrongly; the intervals allow for that, and hold however wrong radii are."
    )
    return [
        accuracy,
        *first,
        worth,
        f"Worst of the {parts}: {worst}{doubt}. Best minus worst: {_points(few.gap)}. Gini coefficient: {gini}.",
        f"All intervals together hold with probability {1 - few.delta:g}, for {TARGETS[few.target]}; seed {few.seed}.",
    ]


def referee_text(found: Referee) -> str:
    """How many images a referee attacked, at each size, and what that saved."""
    texts = []
    for size in found.sizes:
        attack = attack_title(found.attack, found.norm, size.eps)
        text = f"{size.attacked:,} of {size.right:,} rightly classified images by {attack}"
        if size.attacked:
            text += f", of which radii predicted {size.mistaken:,} wrongly"
        if size.attacked_first:
            text = f"{_first(size)}; then {text}"
        if size.without_predictions is not None:
            text += f" (without radii about {size.without_predictions:,} attacks would be as sure)"
        texts.append(text)
    known = f"; {found.from_store:,} were attacked by an earlier run" if found.from_store else ""
    return "; ".join(texts) + known


def _first(found: FewAttacks | RefereeSize) -> str:
    """What APGD-CE did before any image was drawn for all of AutoAttack."""
    return (
        f"APGD-CE, the first of its four attacks, broke {found.fallen:,} of the {found.attacked_first:,} images with "
        "radii near or below this size"
    )


def _points(metric: Metric) -> str:
    return f"{views.points(metric)} points"
