"""What released versions wrote is still read and means the same, and what they made public is still there.

``released/VERSION`` is made at each release by ``scripts/record_release.py`` and never changed afterwards. What is to
go is announced in ``deprecated.toml`` by one release at least, which still has it (``docs/releasing.md``).
"""

import inspect
import json
import tomllib
from pathlib import Path

import pytest
from test_written_files import missing as lacking

import gfscore
from gfscore.results import FILES, Calibration
from public_interface import missing, public_interface

FOLDER = Path(__file__).parent
RELEASED = sorted((FOLDER / "released").iterdir())
RESULTS = [path for folder in RELEASED for path in sorted(folder.glob("*.json")) if path.name != "public.json"]


@pytest.fixture(scope="module")
def now():
    return public_interface()


def identified(path):
    return f"{path.parent.name} {path.stem}"


def test_this_version_or_the_one_before_it_is_kept():
    assert RELEASED, "run scripts/record_release.py"
    assert all((folder / "public.json").is_file() for folder in RELEASED)
    assert {path.stem for path in RESULTS} == {*FILES, "calibration"}


@pytest.mark.parametrize("path", RESULTS, ids=identified)
def test_every_result_is_read_and_written_again(path):
    before = path.read_text(encoding="utf-8")
    if path.stem == "calibration":
        again = Calibration.model_validate_json(before).model_dump(mode="json", by_alias=True)
    else:
        again = json.loads(FILES[path.stem].load(path).to_json())
    assert list(lacking(json.loads(before), again)) == []


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_logits_of_a_release_give_its_numbers(folder):
    audit = gfscore.Audit.load(folder / "audit.json")
    again = gfscore.audit(folder / "logits.safetensors")
    for entry, before in zip(again["trades"].classes, audit["trades"].classes, strict=True):
        assert entry.score == pytest.approx(before.score, abs=1e-12)
    assert again["trades"].rdi.value == pytest.approx(audit["trades"].rdi.value, abs=1e-12)


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_what_was_public_is_there_or_was_announced(folder, now):
    recorded = json.loads((folder / "public.json").read_text(encoding="utf-8"))
    deprecated = tomllib.loads((FOLDER / "deprecated.toml").read_text(encoding="utf-8"))
    assert missing(recorded, now, deprecated, [folder.name for folder in RELEASED]) == []


@pytest.mark.parametrize("folder", RELEASED, ids=lambda folder: folder.name)
def test_no_call_of_a_release_lacks_a_parameter_now(folder):
    """A parameter that came later has a default: without one, every call that worked would be refused."""
    recorded = set(json.loads((folder / "public.json").read_text(encoding="utf-8"))["python"])
    functions = {name: getattr(gfscore, name) for name in gfscore.__all__ if name in recorded}
    new = [
        f"{name}({parameter.name})"
        for name, function in functions.items()
        if inspect.isfunction(function)
        for parameter in inspect.signature(function).parameters.values()
        if f"{name}({parameter.name})" not in recorded and parameter.default is parameter.empty
    ]
    assert new == []


def test_a_removal_without_an_announcement_is_found(now):
    recorded = {**now, "command line": [*now["command line"], "audit --gone"], "python": [*now["python"], "gone"]}
    said = "is gone, and no released version said that it would be"
    assert missing(recorded, now, {}, ["0.1.0"]) == [f"python: gone {said}", f"command line: audit --gone {said}"]
    early = {"gone": {"since": "0.2.0"}, "audit --gone": {"since": "0.1.0"}}
    assert missing(recorded, now, early, ["0.1.0"]) == [f"python: gone {said}"]  # 0.2.0 was never released


def test_keys_of_files_are_found_by_their_way(now):
    assert {"gfscore.audit/1 models[].wcr.class", "gfscore.audit/1 models[].classes[].interval"} <= set(now["schemas"])
    assert {"audit --model", "store list", "--version"} <= set(now["command line"])
    assert {"audit(model)", "Audit.load", "Samples.of"} <= set(now["python"])
    assert {"integrations.tracking.log_audit(audit)", "integrations.sklearn_scorer.RobustnessScorer"} <= set(
        now["python"]
    )
