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


@case("--eps is about first-order radii, which take the model itself. Say --model and --data.")
def eps_of_a_logits_file(folder):
    return npz(folder, "--eps", "2/255")


@case("--radii asks for first-order radii, which take the model itself. Say --model and --data.")
def radii_of_a_logits_file(folder):
    return npz(folder, "--radii", "10")


@case(
    "Invalid value for '--radii': 'some' is not a number of samples per class. Write 100, all or none. See gfscore audit --help."
)
def radii_of_some(folder):
    return [*RUN, "--radii", "some"]


@case("radii 0 is not a number of samples per class. Give 1 or more, all or none.")
def radii_of_nothing(folder):
    return [*RUN, "--radii", "0"]


@case("--eps is about first-order radii, and --radii none measures none. Leave one of them out.")
def eps_without_radii(folder):
    return [*RUN, "--radii", "none", "--eps", "2/255"]


@case("--score first-order measures the radii of all samples. Leave --radii out.")
def part_of_a_score(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--radii", "10"]


@case("--eps is about first-order radii, which take the model itself. Say --model and --data.")
def eps_of_streamed_logits(folder):
    return ["audit", "--stream", "net.npz", "--eps", "2/255"]


@case("logits files hold logits, and a radius takes the model itself. Say --model and --data.")
def radii_of_streamed_logits(folder):
    return ["audit", "--stream", "net.npz", "--score", "first-order", "--norm", "linf"]


@case("robust_accuracy is at a size of attack, and '0.3' names none. Write 0.3@2/255.")
def rule_without_a_size(folder):
    return ["gate", *RUN[1:], "--robust-accuracy", "0.3"]


@case("the threshold of robust_accuracy is 'much@2/255'. Write 0.3@2/255.")
def rule_without_a_share(folder):
    return ["gate", *RUN[1:], "--robust-accuracy", "much@2/255"]


@case("the threshold of robust accuracy at 2/255 is 30, which is no share. Write 0.6 for 60 %.")
def rule_in_percent(folder):
    return ["gate", *RUN[1:], "--robust-accuracy", "30@2/255"]


@case("'two' is not a number. Write it as 0.0078 or 2/255.")
def rule_at_no_size(folder):
    return ["gate", *RUN[1:], "--robust-accuracy", "0.3@two"]


@case(
    "{folder}/m.npz: a rule on robust accuracy needs radii, and there are none here. Give --model and --data, or an "
    "audit.json that was made with them."
)
def rule_on_the_radii_of_a_logits_file(folder):
    return ["gate", *npz(folder)[1:], "--robust-accuracy", "0.3@2/255"]


@case("--radii is about robust accuracy, and no rule asks for it. Give --robust-accuracy 0.3@2/255.")
def radii_that_no_rule_asks_for(folder):
    return ["gate", *RUN[1:], "--wcr", "0.3", "--radii", "10"]


@case("--adaptive draws samples until it is sure, so it is not said of how many. Leave --radii.")
def radii_of_an_adaptive_gate(folder):
    return ["gate", *RUN[1:], "--class-robust-accuracy", "*=0.3@2/255", "--adaptive", "--radii", "10"]


@case("eps 8 is not between 0 and 1. Give it in [0, 1] pixels, such as 0.00784 for 2/255, or raise --max-radius.")
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


@case("--rivals is about first-order radii, which take the model itself. Say --model and --data.")
def rivals_of_the_great_score(folder):
    return npz(folder, "--gradients", "bogus", "--rivals", "-4")


@case(
    "--max-radius is about first-order radii, which no rule asks for. Give --robust-accuracy 0.3@2/255, or say --score first-order."
)
def largest_radius_of_the_great_score(folder):
    return ["gate", *RUN[1:], "--wcr", "0.1", "--max-radius", "1"]


@case("--step is about radii without gradients. Leave it or --gradients yes out.")
def step_of_gradients(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--gradients", "yes", "--step", "0.1"]


@case("--temperature is about the GREAT score, and a radius has none. Leave it out.")
def temperature_of_a_radius(folder):
    return [*RUN, "--score", "first-order", "--norm", "linf", "--temperature", "2"]


@case(
    "eps 0.3 is not between 0 and the largest radius, 0.2. Give it in [0, 1] pixels, such as 0.00784 for 2/255, or "
    "raise --max-radius."
)
def rule_at_an_eps_that_no_radius_reaches(folder):
    return ["gate", *RUN[1:], "--robust-accuracy", "0.5@0.3", "--max-radius", "0.2"]
