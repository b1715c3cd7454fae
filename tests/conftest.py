"""What several test files share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Reproducible: the same examples on every machine, and no deadline on a busy one.
settings.register_profile("gfscore", derandomize=True, deadline=None)
settings.load_profile("gfscore")

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # of tests that load onnxruntime themselves

REALDATA = Path(os.environ.get("GFSCORE_REALDATA", Path(__file__).parents[2] / "shared" / "realdata"))


@pytest.fixture(scope="session")
def realdata() -> Path:
    """Networks, logits and test sets trained and made by others."""
    if not REALDATA.is_dir():
        pytest.skip("no real data here: set GFSCORE_REALDATA to its folder")
    return REALDATA
