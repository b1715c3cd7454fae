"""A gate from Python, and its verdict as the files that CI systems read.

Run: python examples/ci_files.py
"""

from pathlib import Path

import gfscore
from gfscore.jobs.sources import samples_of
from gfscore.outputs import ci_formats

samples = samples_of("zoo:trades", "zoo:digits")
result = gfscore.gate(samples, {"rules": {"wcr": 0.4, "accuracy": 0.9}}, name="trades")
Path("junit.xml").write_text(ci_formats.junit(result), encoding="utf-8")
Path("gate.sarif").write_text(ci_formats.sarif(result), encoding="utf-8")
print(ci_formats.summary(result))
