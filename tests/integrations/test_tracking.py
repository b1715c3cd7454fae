"""MLflow on a SQLite backend and Weights & Biases offline: what was logged is read back from what they stored."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from gfscore import Samples, audit_models
from gfscore.errors import OptionError
from gfscore.integrations.tracking import log_audit
from gfscore.jobs.options import Options
from gfscore.jobs.sources import samples_of

ROOT = Path(__file__).parents[2]
# What W&B keeps offline: records of LevelDB's log format, in blocks of 32 KB, after a header of 7 bytes.
READ_BACK = """
import json, struct, sys
from pathlib import Path
from wandb.proto.wandb_internal_pb2 import Record

def records(data):
    position, pending = 7, b""
    while position < len(data):
        left = 32768 - position % 32768
        if left < 7:
            position += left
            continue
        length, kind = struct.unpack("<HB", data[position + 4 : position + 7])
        pending += data[position + 7 : position + 7 + length]
        position += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield Record.FromString(pending)
            pending = b""

history, files, steps = {}, [], 0
for record in records(Path(sys.argv[1]).read_bytes()):
    items = {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
    history |= items
    steps += bool(items)
    for artifact in (record.artifact, record.request.log_artifact.artifact):
        files += [entry.path for entry in artifact.manifest.contents]
print(json.dumps({"history": history, "files": files, "steps": steps}))
"""


@pytest.fixture(scope="module")
def made_up():
    rng, labels = np.random.default_rng(0), np.arange(90) % 3
    return Samples.of(rng.normal(0, 1, (90, 3)) + 2 * np.eye(3)[labels], labels)


class Kept:
    """A tracker that remembers."""

    def __init__(self):
        self.values, self.tables, self.files = {}, {}, {}

    def numbers(self, values, step):
        self.values |= values

    def table(self, name, columns, step):
        self.tables[name] = columns

    def file(self, path):
        self.files[path.name] = path.read_text()


def test_several_models_keep_apart_and_what_is_missing_is_not_logged(made_up):
    samples = {
        "new:model": made_up,
        "all wrong": Samples.of([[0.0, 1.0], [2.0, 0.0]], [0, 1]),  # all scores 0: no Gini coefficient
    }
    kept = Kept()
    log_audit(audit_models(samples, Options(permutations=0)), to=kept)
    assert {"gfscore/new_model/nrgc", "gfscore/all wrong/wcr"} <= kept.values.keys()
    assert "gfscore/all wrong/nrgc" not in kept.values
    assert all(isinstance(value, float) for value in kept.values.values())
    assert kept.tables["classes"]["model"] == ["new:model"] * 3 + ["all wrong"] * 2
    assert kept.files["report.html"].startswith("<!")


def test_an_unknown_tracker_is_refused(made_up):
    with pytest.raises(OptionError, match="Choose 'mlflow' or 'wandb'"):
        log_audit(audit_models({"a": made_up}), to="notebook")


def run_example(name, folder, **environment):
    """Run an example as a user would; trackers are imported in another process, since they take it over."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def check_mlflow(database, folder):
    """What a run left in the database and among the artifacts is what the audit says."""
    expected = json.loads(next(folder.rglob("audit.json")).read_text())["models"][0]
    with sqlite3.connect(database) as connection:
        logged = dict(connection.execute("select key, value from metrics"))
    assert logged["gfscore/wcr"] == expected["wcr"]["value"]
    assert [logged["gfscore/wcr_low"], logged["gfscore/wcr_high"]] == expected["wcr"]["interval"]
    table = json.loads(next(folder.rglob("classes.json")).read_text())
    scores = [row[table["columns"].index("score")] for row in table["data"]]
    assert scores == pytest.approx([c["score"] for c in expected["classes"]], abs=1e-9)  # it writes ten decimals
    assert "<html" in next(folder.rglob("report.html")).read_text()


def test_mlflow_keeps_metrics_table_and_report_in_sqlite(tmp_path):
    pytest.importorskip("mlflow")
    run_example("mlflow_logging.py", tmp_path, MLFLOW_TRACKING_URI=f"sqlite:///{tmp_path}/mlflow.db")
    check_mlflow(tmp_path / "mlflow.db", tmp_path)


@pytest.mark.long
def test_a_tracking_server_keeps_the_same(tmp_path):
    pytest.importorskip("mlflow")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    kept = tmp_path / "server"
    kept.mkdir()
    stores = ["--backend-store-uri", f"sqlite:///{kept}/mlflow.db", "--artifacts-destination", str(kept / "artifacts")]
    place = ["--host", "127.0.0.1", "--port", address.partition(":")[2], "--workers", "1"]
    with (kept / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", *stores, *place],
            cwd=kept,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        for _ in range(240):
            with suppress(OSError), urllib.request.urlopen(f"http://{address}/health", timeout=5):
                break
            time.sleep(0.5)
        run_example("mlflow_logging.py", tmp_path, MLFLOW_TRACKING_URI=f"http://{address}")
        check_mlflow(kept / "mlflow.db", kept)
    finally:
        os.killpg(server.pid, signal.SIGTERM)  # it has workers
        server.wait(30)


def test_wandb_keeps_metrics_table_and_report_offline(tmp_path):
    pytest.importorskip("wandb")
    run_example("wandb_logging.py", tmp_path, WANDB_MODE="offline", WANDB_SILENT="true", HOME=str(tmp_path))
    [log] = tmp_path.rglob("*.wandb")
    done = subprocess.run([sys.executable, "-c", READ_BACK, str(log)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stored = json.loads(done.stdout)
    expected = audit_models({"trades": samples_of("zoo:trades", "zoo:digits")}).model
    logged = {name: json.loads(stored["history"][f"gfscore/{name}"]) for name in ("wcr", "wcr_low", "wcr_high")}
    assert logged["wcr"] == expected.wcr.value
    assert (logged["wcr_low"], logged["wcr_high"]) == expected.wcr.interval
    assert stored["steps"] == 1, "numbers and table stand in one row"
    table = json.loads(next(tmp_path.rglob("*.table.json")).read_text())
    assert [row[table["columns"].index("score")] for row in table["data"]] == [c.score for c in expected.classes]
    assert {"report.html", "audit.json"} <= set(stored["files"])
