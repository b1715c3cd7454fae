"""Attempts at refuting, and AutoAttack."""

from bad_inputs.making import case

ON_DIGITS = ["check", "--model", "zoo:standard", "--data", "zoo:digits"]


@case("--model is given without --data. Running a model takes both.")
def check_without_data(folder):
    return ["check", "--model", "zoo:standard"]


@case("method 'brute-force' is not known. Choose bisection, premise, attack.")
def check_by_an_unknown_method(folder):
    return [*ON_DIGITS, "--method", "brute-force"]


@case("AutoAttack needs the size of the attack. Give --eps, such as 2/255.")
def autoattack_without_eps(folder):
    return [*ON_DIGITS, "--autoattack"]


@case("--eps is about the attack of the cross-check. Give --autoattack too.")
def eps_without_autoattack(folder):
    return [*ON_DIGITS, "--eps", "2/255"]


@case("--quick is about the attack of the cross-check. Give --autoattack too.")
def quick_without_autoattack(folder):
    return [*ON_DIGITS, "--quick"]


@case("Invalid value for '--eps': '2/0' is not a number. Write it as 0.0078 or 2/255. See gfscore check --help.")
def eps_divided_by_zero(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/0"]


@case("eps 0.0 is not the size of an attack. Give one in [0, 1] pixels, such as 2/255.")
def eps_of_zero(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "0"]


@case("norm 'l1' is not known. Choose l2 or linf.")
def attack_in_an_unknown_norm(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/255", "--norm", "l1"]


@case("--budget is about the attack of the cross-check. Give --autoattack too.")
def budget_without_autoattack(folder):
    return [*ON_DIGITS, "--budget", "100"]


@case("Invalid value for '--budget': 0 is not in the range x>=1. See gfscore check --help.")
def budget_of_nothing(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/255", "--budget", "0"]


@case("--target is about accuracy from few attacks. Give --autoattack and --budget too.")
def target_without_a_budget(folder):
    return [*ON_DIGITS, "--autoattack", "--eps", "2/255", "--target", "population"]
