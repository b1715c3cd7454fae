"""What a verdict rests on, which every form of it shows: accuracy, preprocessing, absent classes and flags."""

from gfscore import views
from gfscore.errors import first_few
from gfscore.results import Flag, ModelVerdict


def grounds(model: ModelVerdict) -> dict[str, str]:
    """What is known of the model beside its rules, in words, by what it is called."""
    found = {}
    if model.accuracy is not None:
        drawn = " of the samples looked at, classes weighed equally" if model.adaptive is not None else ""
        found["accuracy"] = f"{views.share_text(model.accuracy)}{drawn}"
    found["preprocessing"] = "not known (logits were given)" if model.preprocessing is None else model.preprocessing
    if model.absent_classes:
        found["classes without a sample"] = first_few(list(map(views.printable, model.absent_classes)))
    return found


def sentence(model: ModelVerdict) -> str:
    """One line of all that: ``Accuracy: 91.2 % [90.1 %, 92.3 %]; preprocessing: none.`` is one."""
    text = "; ".join(f"{name}: {value}" for name, value in grounds(model).items())
    return f"{text[0].upper()}{text[1:]}."


def flag_text(model: ModelVerdict, flag: Flag) -> str:
    """A flag with its code, and whether it was allowed."""
    allowed = ", allowed" if flag.code in model.allowed else ""
    return f"{views.printable(flag.message)} ({flag.code}{allowed})"
