"""Policies, thresholds and adaptive gates."""

import json
from pathlib import Path

import numpy as np

from bad_inputs.making import LABELS, LOGITS, case, csv, npz, text_file
from gfscore import Samples, audit_models


def gated(folder: Path, *options: str) -> list[str]:
    return ["gate", *npz(folder)[1:], *options]


def policy(folder: Path, text: str) -> list[str]:
    return gated(folder, "--policy", text_file(folder, "policy.toml", text))


@case("the policy has no rule. Give at least one, such as --wcr 0.1.")
def gate_without_a_rule(folder):
    return gated(folder)


@case("there is nothing to audit. Name logits files, a --model and --data, or a --config that does.")
def gate_of_nothing(folder):
    return ["gate", "--wcr", "0.1"]


@case("{folder}/policy.toml: the policy names a rule 'wrc' that there is not. Did you mean 'wcr'?")
def policy_with_a_misspelt_rule(folder):
    return policy(folder, "[rules]\nwrc = 0.1\n")


@case(
    "{folder}/policy.toml: the policy names a table 'limits' that there is not. There are rules, class, class_accuracy, class_robust_accuracy, change, allow."
)
def policy_with_an_unknown_table(folder):
    return policy(folder, "[limits]\nwcr = 0.1\n")


@case("{folder}/policy.toml: the threshold of WCR is 'high'. Give a number.")
def policy_with_words(folder):
    return policy(folder, '[rules]\nwcr = "high"\n')


@case("{folder}/policy.toml: the threshold of accuracy is 60, which is no share. Write 0.6 for 60 %.")
def policy_with_percentages(folder):
    return policy(folder, "[rules]\naccuracy = 60\n")


@case("{folder}/policy.toml: rules is 0.1 in the policy, not a table. Write [rules] and a rule a line below.")
def policy_without_tables(folder):
    return policy(folder, "rules = 0.1\n")


@case("{folder}/policy.toml: is not TOML ({theirs}). Write [rules], and below it a line such as wcr = 0.1.")
def policy_that_is_no_toml(folder):
    return policy(folder, "wcr 0.1\n")


@case("--policy: {folder}/none.toml: does not exist. Check the path.")
def policy_that_is_not_there(folder):
    return gated(folder, "--policy", str(folder / "none.toml"))


@case("{folder}/m.npz: the policy names a class 'cat' that there is not. There are 0, 1, 2.")
def policy_about_an_unknown_class(folder):
    return gated(folder, "--class", "cat=0.1")


@case("--class 'cat' is not a name and a number. Write --class NAME=0.1.")
def class_rule_without_a_number(folder):
    return gated(folder, "--class", "cat")


@case("{folder}/m.npz: the policy has a rule on a change, but there is nothing to compare with. Give --baseline.")
def change_without_a_baseline(folder):
    return gated(folder, "--change", "wcr=-0.1")


@case(
    "{folder}/m.npz: the policy has a rule on the refuted share, but the audit says nothing about it. Run gfscore check, and gate the audit it writes."
)
def refuted_rule_without_a_check(folder):
    return gated(folder, "--refuted", "0.1")


@case(
    "--adaptive judges one rule, on the worst class; the policy has 2: WCR ≥ 0.1, RDI ≤ 0.5. Give "
    "--class-robust-accuracy '*=0.1@2/255' alone, or --wcr, or leave --adaptive out."
)
def adaptive_with_two_rules(folder):
    return [
        *("gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits"),
        *("--wcr", "0.1", "--rdi", "0.5"),
    ]


@case("--adaptive runs a model, and only as far as it must: give --model and --data, and no files, baseline or groups.")
def adaptive_on_a_logits_file(folder):
    return gated(folder, "--wcr", "0.1", "--adaptive")


@case("--adaptive runs a model, and only as far as it must. Give --model and --data.")
def adaptive_without_a_model(folder):
    return ["gate", "--wcr", "0.1", "--adaptive"]


@case("the threshold of WCR is 2, off its scale, which goes from 0 to 1.253. Give a number on it.")
def adaptive_threshold_off_the_scale(folder):
    return ["gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "2"]


@case(
    "standard: threshold 0 is not between 0 and the largest score there is (1.253). Every model is on the same side of it."
)
def adaptive_threshold_that_none_can_miss(folder):
    return ["gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits", "--wcr", "0"]


@case("the threshold of WCR is 30, off its scale, which goes from 0 to 1.253. Give a number on it.")
def threshold_above_the_scale(folder):
    return gated(folder, "--wcr", "30")


@case("the threshold of WCR is -1, off its scale, which goes from 0 to 1.253. Give a number on it.")
def threshold_below_the_scale(folder):
    return gated(folder, "--wcr=-1")


@case(
    "{folder}/policy.toml: the threshold of RDI is 7, off its scale, which goes from 0 to 1.253. Give a number on it."
)
def threshold_off_the_scale_in_a_file(folder):
    return policy(folder, "[rules]\nrdi = 7\n")


@case("the threshold of WCR is 2.5, off its scale, which goes from 0 to 2. Give a number on it.")
def threshold_of_a_radius_off_the_scale(folder):
    return [*GATED_RADII, "--wcr", "2.5"]


@case(
    "{folder}/m.npz: there is nothing to judge: every score is 0, so NRGC, Theil and Atkinson do not exist: no sample leads in its class. Check that labels and logits belong together. To judge nevertheless, give --allow all_zero --allow at_chance."
)
def gate_of_zeros(folder):
    labels = np.arange(60) % 3
    decided = (labels + 1 + np.arange(60) // 3 % 2) % 3  # each of the others, in turn
    return ["gate", *npz(folder, logits=9.0 * np.eye(3)[decided], labels=labels)[1:], "--rdi", "0.9"]


@case(
    "{folder}/m.npz: there is nothing to judge: 0.0 % of the decisions on 3 classes are right, and 100.0 % would be if classes were exchanged (0 as 1, 1 as 2, 2 as 0): labels and model have the classes in different orders. Give labels by name, or say their order with --label-names (of an image folder: the order of the model with --class-names). To judge nevertheless, give --allow labels_permuted --allow all_zero --allow at_chance."
)
def gate_of_labels_in_another_order(folder):
    labels = np.arange(60) % 3
    return ["gate", *npz(folder, logits=9.0 * np.eye(3)[(labels + 1) % 3], labels=labels)[1:], "--rdi", "0.9"]


@case(
    "{folder}/m.csv: there is nothing to judge: 0.0 % of the decisions on 2 classes are right, and 100.0 % would be if classes were exchanged (cat as dog, dog as cat): labels and model have the classes in different orders. Give labels by name, or say their order with --label-names (of an image folder: the order of the model with --class-names). To judge nevertheless, give --allow labels_permuted --allow all_zero --allow at_chance."
)
def gate_of_labels_that_are_always_wrong(folder):
    rows = (f"{'cat' if row % 2 else 'dog'},{-9 * (row % 2)},{9 * (row % 2 - 1)}\n" for row in range(80))
    return ["gate", *csv(folder, f"label,cat,dog\n{''.join(rows)}")[1:], "--rdi", "0.3"]


@case(
    "{folder}/audit.json: holds an audit of 'm' that cannot be: the interval of wcr begins at 1.2 and ends at 0. Run the audit again."
)
def gate_of_an_audit_that_cannot_be(folder):
    found = audit_models({"m": Samples.of(LOGITS, LABELS)})
    data = json.loads(found.to_json())
    data["models"][0]["wcr"]["interval"] = [1.2, 0.0]
    return ["gate", text_file(folder, "audit.json", json.dumps(data)), "--wcr", "0.5"]


@case("the policy names a flag to allow 'at_chnce' that there is not. Did you mean 'at_chance'?")
def unknown_flag_to_allow(folder):
    return gated(folder, "--wcr", "0.1", "--allow", "at_chnce")


@case("{folder}/policy.toml: allow stands under [rules] in the policy, where it is no rule. Move it to the top.")
def flags_to_allow_among_the_rules(folder):
    return policy(folder, '[rules]\nwcr = 0.1\nallow = ["at_chance"]\n')


@case("{folder}/policy.toml: allow is 'at_chance', not a list of flags. Write allow = [\"absent_classes\"].")
def flags_to_allow_that_are_no_list(folder):
    return policy(folder, 'allow = "at_chance"\n[rules]\nwcr = 0.1\n')


@case("--expect-accuracy is for whole audits: an adaptive gate draws mostly from the worst classes.")
def adaptive_with_an_expected_accuracy(folder):
    return [
        *("gate", "--adaptive", "--model", "zoo:standard", "--data", "zoo:digits"),
        *("--wcr", "0.1", "--expect-accuracy", "0.9"),
    ]


@case(
    "--target finite is for --adaptive and --referee. Otherwise make the audit with it (gfscore audit --target finite), and gate the audit.json."
)
def gate_of_a_fixed_set_that_is_not_adaptive(folder):
    return gated(folder, "--wcr", "0.1", "--target", "finite")


GATED_RADII = ["gate", "--model", "zoo:trades", "--data", "zoo:digits", "--score", "first-order", "--norm", "l2"]


@case("a radius cannot be compared with a baseline of logits. Give its audit.json instead.")
def radius_against_logits(folder):
    return [*GATED_RADII, "--wcr", "0.1", "--baseline", npz(folder)[1]]


ATTACKED = ["gate", "--model", "zoo:standard", "--data", "zoo:digits", "--referee", "autoattack"]


@case("--referee judges robust accuracy, and no rule asks for it. Give --robust-accuracy 0.3@2/255.")
def referee_without_a_rule_on_robust_accuracy(folder):
    return [*ATTACKED, "--wcr", "0.1"]


@case("--budget is about the attacks of a referee. Give --referee autoattack too.")
def budget_without_a_referee(folder):
    return [*ATTACKED[:5], "--robust-accuracy", "0.3@2/255", "--budget", "100"]


@case("Invalid value for '--budget': 0 is not in the range x>=1. See gfscore gate --help.")
def referee_with_a_budget_of_nothing(folder):
    return [*ATTACKED, "--robust-accuracy", "0.3@2/255", "--budget", "0"]


@case("referee 'fifa' is not known. Choose autoattack or pgd.")
def an_unknown_referee(folder):
    return [*ATTACKED[:5], "--referee", "fifa", "--robust-accuracy", "0.3@2/255"]


@case("--referee attacks a model. Give --model and --data, and no files or baseline.")
def referee_of_logits(folder):
    return gated(folder, "--referee", "autoattack", "--robust-accuracy", "0.3@2/255")


@case("--referee judges one version of a model. Leave rules on changes out.")
def referee_of_a_change(folder):
    return [*ATTACKED, "--robust-accuracy", "0.3@2/255", "--change", "wcr=-0.1"]


@case("--referee measures the radii of all samples. Leave --radii out.")
def referee_with_radii_of_some(folder):
    return [*ATTACKED, "--robust-accuracy", "0.3@2/255", "--radii", "10"]


@case("--adaptive judges by radii, and --referee by attacks. Leave one of them out.")
def referee_of_an_adaptive_gate(folder):
    return [*ATTACKED, "--class-robust-accuracy", "*=0.3@2/255", "--adaptive"]


@case("standard: the policy names a class 'cat' that there is not. There are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9.")
def referee_of_a_class_that_is_not_there(folder):
    return [*ATTACKED, "--class-robust-accuracy", "cat=0.3@2/255"]
