"""Renew the copies of the JSON Schemas that ship with the package, after a change of a result."""

import json
from pathlib import Path

import gfscore
from gfscore.results import FILES

FOLDER = Path(gfscore.__file__).parent / "schemas"

if __name__ == "__main__":
    for name, result in FILES.items():
        target = FOLDER / f"{name}.schema.json"
        target.write_text(json.dumps(result.model_json_schema(mode="serialization"), indent=1) + "\n", encoding="utf-8")
        print(f"written: {target.name}")
