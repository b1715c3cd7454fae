"""First-order radii."""

from bad_inputs.making import case, npz

RUN = ["audit", "--model", "zoo:standard", "--data", "zoo:digits"]


@case("score 'second-order' is not known. Choose great or first-order.")
def score_unknown(folder):
    return npz(folder, "--score", "second-order")


@case("{folder}/m.npz: holds logits, and a radius takes the model itself. Say --model and --data.")
def radius_of_a_logits_file(folder):
    return npz(folder, "--score", "first-order", "--norm", "l2")


@case("no norm is given. Say in which norm a radius is measured: --norm l2 or --norm linf.")
def radius_without_a_norm(folder):
    return [*RUN, "--score", "first-order", "--eps", "0.5"]


@case("norm 'l1' is not known. Say in which norm a radius is measured: --norm l2 or --norm linf.")
def radius_in_an_unknown_norm(folder):
    return [*RUN, "--score", "first-order", "--norm", "l1"]


@case("--norm and --eps are for radii, which the GREAT score is not. Say --score first-order.")
def eps_for_the_great_score(folder):
    return [*RUN, "--eps", "0.5"]


@case(
    "eps 8 is not between 0 and the largest radius, 0.12549. Give it in [0, 1] pixels, such as 0.00784 for 2/255, or raise --max-radius."
)
def eps_in_levels_of_grey(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--eps", "8"]


@case("gradients 'maybe' is not a choice. Choose no, auto or yes.")
def gradients_unknown(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--gradients", "maybe"]


@case("--calibrate finds a temperature, which a radius does not have. Leave out one of them.")
def radius_with_a_temperature(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--calibrate", "models"]


@case("rivals and directions are counted from 1. The defaults are 3, and 32 (l2) or 64 (linf).")
def no_rivals(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--rivals", "0"]


@case("--rivals is about first-order radii. Say --score first-order too.")
def rivals_of_the_great_score(folder):
    return npz(folder, "--gradients", "bogus", "--rivals", "-4")


@case("--max-radius is about first-order radii. Say --score first-order too.")
def largest_radius_of_the_great_score(folder):
    return [*RUN, "--max-radius", "1"]


@case("--step is about radii without gradients. Leave it or --gradients yes out.")
def step_of_gradients(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--gradients", "yes", "--step", "0.1"]


@case("--temperature is about the GREAT score, and a radius has none. Leave it out.")
def temperature_of_a_radius(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--temperature", "2"]
