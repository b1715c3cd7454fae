"""What a pool hands out first, begins ahead and makes of errors: with a worker in this process instead of a cluster."""

import json
import os
import subprocess
import sys
import threading
import time
from queue import SimpleQueue
from typing import ClassVar

import pytest

from gfscore.engines import pool as pools
from gfscore.engines.in_turn import InTurn
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import begin, measured
from gfscore.engines.messages import Sender
from gfscore.engines.ray import OnRay, one_cluster, pool_of
from gfscore.engines.workers import ShardWorker
from gfscore.errors import GFScoreError, ModelError
from gfscore.measures import Logits, Slopes
from gfscore.samples import Samples
from gfscore.scores import FirstOrder
from gfscore.storage.store import Store

HOW = Loading(
    n_per_class=60, threads=1, batch_size=16
)  # 600 images of a generator: one shard of logits, three of slopes
MODELS = ("zoo:trades", "zoo:noise", "zoo:awp")


class InProcess:
    """Stands in for the process that talks to Ray: one worker, which does one task after the other."""

    asked: ClassVar[
        list[tuple[str, str]]
    ] = []  # model and measure of each task, in the order in which they were handed out

    def __init__(self, order):
        worker, jobs, tasks = ShardWorker(order.work), {}, SimpleQueue()
        reading, writing = os.pipe()
        self.out, self._tasks = os.fdopen(reading, "rb"), tasks
        end = os.fdopen(writing, "wb")
        back = Sender(end)

        def work():
            back.send({"workers": 1, "room": 1, "lost": 0})
            while (task := tasks.get()) is not None:
                head, payload = task
                if "task" not in head:
                    jobs[head["job"]] = json.loads(json.dumps(head["says"]))
                    continue
                job, rows = jobs[head["job"]], head["rows"]
                answer = worker.answer(job, head["task"], (rows["start"], rows["stop"]), payload)
                said = {"halved": answer.halved, "error": answer.error, "kind": answer.kind}
                back.send({"task": head["task"], **said}, answer.content)
            back.send({"ended": "done"})
            end.close()

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def send(self, head, content=b""):
        if "says" in head:
            self.kinds = {**getattr(self, "kinds", {}), head["job"]: head["says"]}
        if "task" in head:
            says = self.kinds[head["job"]]
            InProcess.asked.append((says["model"], says["measure"]["kind"].rpartition(":")[2]))
        self._tasks.put(None if "end" in head else (head, content))

    def wait(self):
        pass

    def kill(self):
        self._tasks.put(None)
        self._thread.join()
        time.sleep(0.1)  # who listens has seen the end
        self.out.close()


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Runs on the stand-in, by their models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(pools, "Driver", InProcess)
    monkeypatch.setattr(InProcess, "asked", [])
    with one_cluster():
        pool = pool_of(pools.Cluster(workers=1), HOW)
        loader = Loader(HOW, Store(tmp_path / "store"), models=4, engine=lambda model, data: OnRay(pool, model, data))
        yield lambda model: loader.open(model, "generator:zoo")


def slopes_of(run, stored):
    samples = Samples.of(stored.rows()[0], run.data.labels)
    return Slopes(samples=samples, how=FirstOrder(norm="linf", directions=2))


def test_slopes_of_a_model_are_under_way_with_logits_of_later_ones(opened):
    in_turn = InTurn(lambda _run: (Logits(),), then=lambda run, stored: begin(run, None, slopes_of(run, stored)))
    found = []
    for model in MODELS:
        found += in_turn.add(opened(model))
    for run, stored in [*found, *in_turn.rest()]:
        measured(run, slopes_of(run, stored))
    order = InProcess.asked
    assert sorted(set(order)) == sorted((model, kind) for model in MODELS for kind in ("Logits", "Slopes"))
    assert len(order) == len(MODELS) * (1 + 3)  # nothing twice: who asks joins what is under way
    first_slopes = order.index((MODELS[0], "Slopes"))
    assert max(order.index((model, "Logits")) for model in MODELS) < len(order) - 1
    assert first_slopes < order.index((MODELS[-1], "Slopes"))


def test_what_is_waited_for_goes_first(opened):
    first, second = opened(MODELS[0]), opened(MODELS[1])
    samples = {run: Samples.of(measured(run, Logits()).rows()[0], run.data.labels) for run in (first, second)}
    how = FirstOrder(norm="l2", directions=8)
    pool = first.engine.pool
    pool._most = 1  # so that the order in which tasks are handed out is seen
    begin(first, None, Slopes(samples=samples[first], how=how))
    measured(second, Slopes(samples=samples[second], how=how))
    slopes = [model for model, kind in InProcess.asked if kind == "Slopes"]
    assert slopes[1:4].count(MODELS[1]) == 3  # after the one that was under way


def test_an_error_is_heard_by_who_asked_and_by_nobody_else(opened, monkeypatch):
    compute = Slopes.compute

    def fail(self, run, rows, done=lambda _rows: None):
        if run.name == "noise":
            raise ModelError("is no good")
        return compute(self, run, rows, done)

    monkeypatch.setattr(Slopes, "compute", fail)
    good, bad = opened(MODELS[0]), opened(MODELS[1])
    slopes = {run: slopes_of(run, measured(run, Logits())) for run in (good, bad)}
    begin(bad, None, slopes[bad])
    assert measured(good, slopes[good]).rows()[0].shape[0] == good.n_samples
    with pytest.raises(ModelError, match="is no good"):
        measured(bad, slopes[bad])
    with pytest.raises(GFScoreError):  # and again, when it is asked again
        measured(bad, slopes[bad])


def test_the_driver_ends_where_processes_have_no_groups(tmp_path, monkeypatch):
    """As on Windows, by a stand-in."""
    monkeypatch.delattr(os, "killpg")
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pools._end(process, tmp_path / "gone")
    assert process.returncode not in (None, 0)
