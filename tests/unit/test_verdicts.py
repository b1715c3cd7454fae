"""Results of the gate and of comparisons: their files keep what they say."""

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import gfscore
from gfscore import Comparison, GateResult, Samples, audit, compare, gate
from gfscore.errors import FileError
from gfscore.results import FILES, Verdict

SCHEMAS = Path(gfscore.__file__).parent / "schemas"


@pytest.fixture(scope="module")
def results():
    labels = np.arange(60) % 2
    logits = 3 * np.eye(2)[labels]
    samples = Samples.of(logits, labels)
    return {
        "audit": audit(logits, labels),
        "gate": gate(samples, {"rules": {"wcr": 0.5, "accuracy": 0.5}}),
        "comparison": compare(samples, samples),
    }


@pytest.mark.parametrize("name", FILES)
def test_files_fit_their_published_schema_and_come_back_as_they_were(results, name, tmp_path):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert schema == FILES[name].model_json_schema(mode="serialization"), "run: python scripts/write_schema.py"
    jsonschema.validate(json.loads(results[name].to_json()), schema)
    results[name].save(tmp_path / "r.json")
    assert FILES[name].load(tmp_path / "r.json") == results[name]


def test_one_kind_of_file_is_not_another(results):
    with pytest.raises(FileError, match=r"has schema 'gfscore.gate/1'; this version reads 'gfscore.comparison/1'"):
        Comparison.from_json(results["gate"].to_json())
    with pytest.raises(FileError, match=r"Give the gate\.json that gfscore wrote"):
        GateResult.from_json("{")


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [("PASS PASS", "PASS"), ("PASS UNDECIDED", "UNDECIDED"), ("UNDECIDED FAIL PASS", "FAIL"), ("FAIL", "FAIL")],
)
def test_all_must_pass_and_one_may_fail(verdicts, together):
    assert Verdict.all_of([Verdict(each) for each in verdicts.split()]) is Verdict(together)
