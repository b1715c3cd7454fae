"""The section of a Hugging Face model card: what the audit found, and the metrics as ``model-index``.

Run: python examples/model_card.py
"""

from pathlib import Path

import gfscore
from gfscore.jobs.sources import samples_of
from gfscore.outputs import report

audit = gfscore.audit_models({"trades": samples_of("zoo:trades", "zoo:digits")})
Path("model-card.md").write_text(report.model_card(audit), encoding="utf-8")
print(Path("model-card.md").read_text(encoding="utf-8").split("\n## ")[0])
