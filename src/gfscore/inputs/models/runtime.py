"""onnxruntime reports its use to its maker unless told not to before it is loaded: gfscore loads it from here only."""

import os

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # whoever wants it on says 0

import onnxruntime

__all__ = ["onnxruntime"]
