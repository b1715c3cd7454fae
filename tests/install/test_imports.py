"""Importing gfscore is light, and works with no extra installed."""

import subprocess
import sys
import textwrap

HEAVY = (
    "torch",
    "onnxruntime",
    "altair",
    "pandas",
    "pyarrow",
    "matplotlib",
    "streamlit",
    "ray",
    "fsspec",
    "s3fs",
    "scipy.stats",
    "typer",
)
EXTRAS = ("pandas", "pyarrow", "torch", "altair", "streamlit", "ray", "foolbox", "transformers", "timm", "fsspec")


def python(code: str, cwd) -> str:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_pulls_in_nothing_heavy(tmp_path):
    code = f"import sys, gfscore; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(code, tmp_path) == "[]"


def test_import_adds_less_than_numpy_and_scipy_take(tmp_path):
    """They take 0.3 to 0.4 s; half a second was asked for. Side by side: a loaded machine slows down both."""
    code = """
        import time
        times = [time.process_time()]
        import numpy, scipy.special
        times.append(time.process_time())
        import gfscore
        times.append(time.process_time())
        print((times[2] - times[1]) / (times[1] - times[0]))
    """
    assert min(float(python(code, tmp_path)) for _ in range(3)) < 1


def test_a_command_loads_no_other(tmp_path):
    code = """
        import sys
        from gfscore.cli.main import run
        run(["plan", "--radius", "0.1", "--classes", "10"])
        names = ("onnxruntime", "gfscore.cli.audit_commands", "gfscore.engines")
        print([name for name in names if name in sys.modules])
    """
    assert python(code, tmp_path).splitlines()[-1] == "[]"


def test_audit_works_with_no_extra_installed(tmp_path):
    code = f"""
        import sys
        for name in {EXTRAS!r}:
            sys.modules[name] = None  # as if it were not there
        import numpy as np
        np.savez("m.npz", logits=[[3.0, 1.0], [0.0, 1.0]], labels=[0, 1])
        from gfscore.cli.main import run
        print(run(["audit", "m.npz", "--quiet"]))
    """
    assert python(code, tmp_path) == "0"


def test_a_missing_extra_is_named(tmp_path):
    code = """
        import sys
        sys.modules["pandas"] = sys.modules["pyarrow"] = None
        import gfscore
        from gfscore.cli.main import run
        open("m.parquet", "w").write("x")
        try:
            gfscore.audit([[3, 1], [0, 1]], [0, 1]).to_frame()
        except ImportError as error:
            print(error)
        sys.stderr = sys.stdout
        print(run(["audit", "m.parquet"]))
    """
    assert python(code, tmp_path).splitlines() == [
        "a data frame needs pandas, which is not installed. Run: pip install 'gfscore[tables]'",
        "gfscore: reading parquet needs pyarrow, which is not installed. Run: pip install 'gfscore[tables]'",
        "2",
    ]
