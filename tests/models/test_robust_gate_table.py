"""The gate of the README says of networks of others what an attack on them says."""

import re
from pathlib import Path

import pytest

import robust_gate_table
from gfscore.results import Verdict

ROOT = Path(__file__).parents[2]
QUICK = ("cifar_resnet20", "cifar_cnn_a_mix")


def table_of_the_page() -> list[str]:
    text = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    return re.findall(r"^\| cifar_.*\*\*.*\|$", text, re.MULTILINE)


def test_a_standard_network_fails_and_a_robust_one_passes_where_confidences_say_the_opposite(realdata):
    found = {
        entry["file"]: robust_gate_table.judge(realdata, entry, radii=8, images=400)
        for entry in robust_gate_table.networks(realdata, QUICK)
    }
    standard, robust = found.values()
    assert (standard.training, standard.verdict, standard.wcr_verdict) == ("standard", Verdict.FAIL, Verdict.PASS)
    assert (robust.training, robust.verdict) == ("adversarial", Verdict.PASS)
    assert robust.wcr_verdict is not Verdict.PASS
    assert standard.n == robust.n == 80


def test_the_page_has_ten_networks_and_none_with_standard_training_passes():
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_of_the_page()]
    assert len(rows) == 10
    for row in rows:
        under_attack = float(row[3].removesuffix(" %"))
        assert row[5] == ("**PASS**" if under_attack >= 100 * robust_gate_table.SHARE else "**FAIL**"), row
        assert not (row[1] == "standard" and row[5] == "**PASS**")


@pytest.mark.long
def test_the_table_of_the_page_is_what_the_networks_give(realdata):
    found = [robust_gate_table.judge(realdata, entry) for entry in robust_gate_table.networks(realdata)]
    assert len(found) == 10
    assert all(each.verdict is each.said_by_attack for each in found)
    assert list(map(robust_gate_table.row, found)) == table_of_the_page()
