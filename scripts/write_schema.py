"""Renew the copy of the JSON Schema that ships with the package, after a change of gfscore.results."""

import json
from pathlib import Path

import gfscore
from gfscore.results import json_schema

TARGET = Path(gfscore.__file__).parent / "schemas" / "audit.schema.json"

if __name__ == "__main__":
    TARGET.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
    print(f"written: {TARGET.name}")
