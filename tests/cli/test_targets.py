"""Part of a data set is run, and the verdict or the number is about all of it: the commands must not mix the two up."""

import pytest

from gfscore import GateResult
from gfscore.cli.main import run


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))


def test_an_adaptive_gate_on_part_of_a_set_does_not_judge_the_part(capsys):
    """The WCR of the set is 0.684; that of twenty images a class is below 0.65 as often as not."""
    command = ["gate", "--model", "zoo:trades", "--data", "zoo:digits", "--target", "finite", "--adaptive", "--json"]
    verdicts = []
    for seed in range(8):
        run([*command, "--n-per-class", "20", "--wcr", "0.65", "--seed", str(seed)])
        verdicts.append(GateResult.from_json(capsys.readouterr().out).models[0])
    assert "FAIL" not in [verdict.verdict for verdict in verdicts]
    assert {entry.size for entry in verdicts[0].adaptive.classes} == {90}
    assert {entry.available for entry in verdicts[0].adaptive.classes} == {20}
    assert run([*command, "--wcr", "0.65"]) == 0  # the whole set is known when all of it was drawn
    assert run([*command, "--n-per-class", "20", "--wcr", "0.1"]) == 0  # and what is clear needs no more than a part
