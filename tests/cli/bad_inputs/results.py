"""Results that `table` and `report` are to show."""

import json
from pathlib import Path

from bad_inputs.making import LABELS, LOGITS, case, text_file


@case("Invalid value for '--digits': {theirs}. See gfscore table --help.")
def digits_out_of_range(folder):
    return ["table", text_file(folder, "audit.json", "{}"), "--digits", "-1"]


@case(
    "Invalid value for '--format': Value error, 'word' is not one of 'latex', 'markdown', 'csv'. See gfscore table --help."
)
def table_format_unknown(folder):
    return ["table", text_file(folder, "audit.json", "{}"), "--format", "word"]


@case("{folder}/audit.json: is not JSON ({theirs}). Give the audit.json that gfscore wrote.")
def result_that_is_not_json(folder):
    return ["table", text_file(folder, "audit.json", "{ not json")]


@case("{folder}/audit.json: has schema 'gfscore.audit/2'; this version reads 'gfscore.audit/1'. Run the audit again.")
def result_of_another_version(folder):
    return ["table", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/2", "models": []}))]


@case("{folder}/audit.json: breaks the schema at models.0.name: {theirs}. Run the audit again.")
def result_that_breaks_the_schema(folder):
    return ["table", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/1", "models": [{}]}))]


def small_audit(folder: Path) -> str:
    from gfscore import audit

    return text_file(folder, "audit.json", audit(LOGITS, LABELS).to_json())


@case("{folder}/audit.json: has schema 'gfscore.audit/2'; this version reads 'gfscore.audit/1'. Run the audit again.")
def report_of_another_version(folder):
    return ["report", text_file(folder, "audit.json", json.dumps({"schema": "gfscore.audit/2", "models": []}))]


@case("{folder}/audit.json: is not JSON ({theirs}). Give the audit.json that gfscore wrote.")
def report_of_a_page(folder):
    return ["report", text_file(folder, "audit.json", "<!DOCTYPE html>"), "--format", "md"]


@case(
    "Invalid value for '--format': Value error, 'docx' is not one of 'html', 'md', 'pdf', 'model-card'. See gfscore "
    "report --help."
)
def report_format_unknown(folder):
    return ["report", small_audit(folder), "--format", "docx"]


@case("{folder}/audit.json/report.html: cannot be written: its folder is a file. Choose another place.")
def report_below_a_file(folder):
    return ["report", small_audit(folder), "--out", str(folder / "audit.json" / "report.html")]


@case("{folder}/audit.json: does not exist. Check the path.")
def result_missing(folder):
    return ["table", str(folder / "audit.json")]


@case("{folder}/audit.json: breaks the schema at models.0.classes: {theirs}. Run the audit again.")
def result_without_classes(folder):
    from gfscore import audit

    data = json.loads(audit(LOGITS, LABELS).to_json())
    data["models"][0]["classes"] = []
    return ["table", text_file(folder, "audit.json", json.dumps(data))]


@case("{folder}/nowhere.json: does not exist. Check the path.")
def leaderboard_of_nothing(folder):
    return ["leaderboard", str(folder / "nowhere.json")]


@case("{folder}/x: is a folder without audit.json. Name one that gfscore audit wrote, or the file.")
def leaderboard_of_an_empty_folder(folder):
    (folder / "x").mkdir()
    return ["leaderboard", str(folder / "x")]
