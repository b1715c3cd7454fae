"""Repairs that are none, or that nothing could show."""

import numpy as np

from bad_inputs.making import case

ON_DIGITS = ["repair", "zoo:trades", "--data", "zoo:digits"]


def logits(folder, n=60, gap=2.0):
    labels = np.arange(n) % 3
    values = np.random.default_rng(0).normal(0, 1, (n, 3)) + gap * np.eye(3)[labels]
    np.savez(folder / "logits.npz", logits=values, labels=labels)
    return str(folder / "logits.npz")


@case("temperature divides all logits alike and changes no decision: it is no repair. Choose --method bias.")
def repair_by_temperature(folder):
    return [*ON_DIGITS, "--method", "temperature"]


@case(
    "method 'magic' is not known. Choose bias, faal, coda, wat, frl, frl-remargin, cfa, bat, csr, dafa, at or trades."
)
def repair_by_an_unknown_method(folder):
    return [*ON_DIGITS, "--method", "magic"]


@case("--eps is about attacks, which take the model itself. Say the model and --data.")
def repair_of_logits_with_eps(folder):
    return ["repair", logits(folder), "--eps", "2/255"]


@case("attack 'fgsm' is not known. Choose autoattack, apgd, pgd.")
def repair_by_an_unknown_attack(folder):
    return [*ON_DIGITS, "--attack", "fgsm"]


@case("--attacked is about an attack, and none is asked for. Say --attack apgd too.")
def attacked_without_an_attack(folder):
    return [*ON_DIGITS, "--attacked", "10"]


@case(
    "4 samples of class '0' choose the repair, and no gain of so few can be told from chance. Give at least 5 of each class, 10 in all, that choose; some hundred show more."
)
def repair_of_too_few(folder):
    return ["repair", logits(folder, 24)]


@case("--judge-data is what a model is run on, and there are only logits. Leave it out.")
def judge_data_for_logits(folder):
    return ["repair", logits(folder), "--judge-data", "zoo:digits"]


@case("eps 0 is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")
def repair_at_no_size(folder):
    return [*ON_DIGITS, "--eps", "0"]
