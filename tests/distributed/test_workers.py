"""What workers and the homes of their shards promise, without a cluster."""

import json
import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gfscore import read_samples
from gfscore.cli.main import run
from gfscore.engines import ray_driver
from gfscore.engines.homes import Plan, RowsHome, rows_home, sum_home
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import summed
from gfscore.engines.ray_crew import Nodes, Order
from gfscore.engines.workers import TRIES, Job, ShardWorker, Work
from gfscore.errors import OptionError, RunError
from gfscore.inputs.probes import to_bytes
from gfscore.jobs.audit import audit_models
from gfscore.jobs.options import Options
from gfscore.jobs.stages import audit_summary
from gfscore.measures import Logits, Sums
from gfscore.measures.sending import to_plain
from gfscore.storage.store import Store

HERE = f"on worker {os.uname().nodename}"
LOGITS = Logits()
HOW = Loading(n_per_class=300, threads=1, batch_size=100)
SHARDS = [(0, 2000), (2000, 3000)]  # of 3,000 images


def planned(measure=LOGITS, model="zoo:trades", data="generator:zoo"):
    of = Loader(HOW, Store(Path("store"))).open(model, data)
    probe = to_bytes(of.check().probe).hex()
    job = Job(model=model, data=data, parts=of.parts(), probe=probe, measure=to_plain(measure))
    return of, Plan.of(of, measure), job


def worker(tmp_path, **changed):
    return ShardWorker(Work(how=HOW, folder=str(tmp_path), run="test", **changed).to_plain())


def asked(of, job, *shards):
    """What a worker says to some shards of a job, which goes through JSON on its way."""
    plain = json.loads(json.dumps(job.message()[0]))
    return [of.answer(plain, shard, SHARDS[shard], b"") for shard in shards]


def take(home, shard, answer, measure=LOGITS):
    home.take(shard, measure.from_bytes(answer.content), halved=answer.halved)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a worker changes the folder
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_shard_that_comes_twice_is_taken_once(tmp_path):
    of, plan, job = planned()
    entry = of.store.entry(plan.recipe, plan.about)
    reported = []
    first, second = asked(worker(tmp_path), job, 0, 1)
    with entry.hold():
        home = RowsHome(plan, lambda done, total: reported.append((done, total)), entry)
        assert home.missing == {0, 1}
        take(home, 0, first)
        home.take(0, np.zeros((2000, 10), np.float32))
        take(home, 1, second)
        home.whole()
    assert reported == [(0, 3000), (2000, 3000), (3000, 3000)]
    assert entry.damaged_shards() == []
    assert (read_samples(entry.finished).logits.any(axis=1)).all()  # no row of the zeros that came second


def test_a_shard_of_the_wrong_size_is_refused(tmp_path):
    of, plan, _ = planned()
    entry = of.store.entry(plan.recipe, plan.about)
    with entry.hold():
        home = RowsHome(plan, lambda *_: None, entry)
        with pytest.raises(RunError, match=r"shape \(1999, 10\), not \(2000, 10\)"):
            home.take(0, np.zeros((1999, 10), np.float32))
    assert home.missing == {0, 1}


@pytest.mark.parametrize(
    ("changed", "named"),
    [("model", "model zoo:trades"), ("data", "data generator:zoo"), ("preprocessing", "preprocessing")],
)
def test_a_worker_with_something_else_computes_nothing(tmp_path, changed, named):
    job = planned()[-1]
    other = {**job.parts, changed: {"grey": True} if changed == "preprocessing" else "another"}
    (reply,) = asked(worker(tmp_path), replace(job, parts=other), 0)
    assert reply.content == b""
    assert reply.error.startswith(f"{HERE}: {named} is not the same here as where the run was started.")
    assert reply.kind == "ModelError"


@pytest.mark.parametrize("more", [{}, {"how": [{"image": "?"}], "queue": 7}])
def test_a_worker_of_another_version_computes_nothing(tmp_path, more):
    job = planned()[-1]
    said = {**Work(how=HOW, folder=str(tmp_path), run="test").to_plain(), "version": "0.0.1", **more}
    (reply,) = asked(ShardWorker(said), job, 0)
    assert reply.error.startswith(f"{HERE}: this is gfscore ")
    assert "and the run was started with 0.0.1. Install the same version everywhere." in reply.error
    assert reply.kind == "OptionError"


class OfLittleMemory:
    """A model that takes a few images at once."""

    def __init__(self, model):
        self.model = model

    def __getattr__(self, name):
        return getattr(self.model, name)

    def __call__(self, inputs):
        if len(inputs) > 30:
            raise MemoryError
        return self.model(inputs)


@pytest.mark.parametrize("sums", [None, Sums()], ids=["logits", "summaries"])
def test_halved_batches_change_little_and_are_flagged(tmp_path, monkeypatch, sums):
    of, plan, job = planned(sums or LOGITS)
    little = replace(of, model=OfLittleMemory(of.model))
    little.check()
    poor = worker(tmp_path)
    monkeypatch.setattr(poor._loader, "open", lambda *_specs: little)
    reply = asked(poor, job, 0, 1)
    assert [answer.halved for answer in reply] == [20, 10]  # each of the 30 batches of 100
    if sums is None:
        with rows_home(plan, of.store, lambda *_: None) as home:
            for shard, answer in enumerate(reply):
                take(home, shard, answer)
            (found,) = audit_models({"m": read_samples(home.whole().path)}).models
    else:
        with sum_home(plan, of.store, lambda *_: None, lambda _: None) as home:
            for shard, answer in enumerate(reply):
                take(home, shard, answer, sums)
            found = audit_summary(home.whole(), Options(), name="m")
    local = audit_summary(summed(replace(of, store=Store(tmp_path / "ours")), Sums()), Options(), name="m")
    scores = np.array([[entry.score for entry in audited.classes] for audited in (found, local)])
    assert [entry.n for entry in found.classes] == [entry.n for entry in local.classes]
    assert np.abs(scores[0] - scores[1]).max() <= 1e-5
    assert "halved_batches" in [flag.code for flag in found.flags]
    assert "halved_batches" not in [flag.code for flag in local.flags]


def test_a_worker_without_the_file_says_so(tmp_path):
    job = planned()[-1]
    (reply,) = asked(worker(tmp_path), replace(job, model="net.onnx"), 0)
    assert reply.error.startswith(f"{HERE}: net.onnx: does not exist")


@pytest.mark.parametrize("model", ["zoo:trades", "torch:flat:network"])
def test_a_worker_without_a_gpu_does_not_run_on_the_cpu_instead(tmp_path, model):
    pytest.importorskip("torch")
    network = "torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 10)).eval()"
    (tmp_path / "flat.py").write_text(f"import torch\n\ndef network():\n    return {network}\n")
    job = planned()[-1]
    work = Work(how=replace(HOW, gpu=True), folder=".", run="test")
    (reply,) = asked(ShardWorker(work.to_plain()), replace(job, model=model), 0)
    assert "was given a GPU that" in reply.error
    assert "leave --gpus-per-actor out." in reply.error


def leave_tries(folder, shard):
    """What those who died over a shard have left."""
    for n in range(TRIES):
        (folder / f"gfscore-test-{shard}-{n}").mkdir()


def test_a_shard_that_kills_workers_is_given_up(tmp_path):
    job = planned()[-1]
    leave_tries(tmp_path, 1)
    first, second = asked(worker(tmp_path), job, 0, 1)
    assert first.error == ""
    assert second.error.startswith(f"{HERE}: zoo:trades: {TRIES} processes died over rows 2000 to 2999 of")
    assert second.kind == "RunError"
    assert not list(tmp_path.glob("gfscore-test-*"))


def test_tries_are_counted_in_the_folder_of_the_run_where_it_has_one(tmp_path):
    job = planned()[-1]
    leave_tries(tmp_path, 0)  # elsewhere
    own = tmp_path / "own"
    own.mkdir()
    assert asked(worker(tmp_path, notes=str(own)), job, 0)[0].error == ""
    leave_tries(own, 0)
    assert "processes died over rows 0 to 1999" in asked(worker(tmp_path, notes=str(own)), job, 0)[0].error
    assert not list(own.iterdir())


def test_links_that_others_put_there_lead_nowhere(tmp_path):
    job = planned()[-1]
    precious = tmp_path / "precious"
    precious.write_bytes(b"x")
    for name in ("gfscore-test-0", "gfscore-test-0-0"):
        (tmp_path / name).symlink_to(precious)
    assert asked(worker(tmp_path), job, 0)[0].error == ""
    assert precious.read_bytes() == b"x"
    assert (tmp_path / "gfscore-test-0").is_symlink()  # nor was it taken for a note of ours


def test_summaries_add_up_to_the_local_one_however_often_they_come(tmp_path):
    sums = Sums(temperature=2.0)
    of, plan, job = planned(sums)
    reply = asked(worker(tmp_path), job, 1, 0)
    with sum_home(plan, of.store, lambda *_: None, lambda _: None) as home:
        for shard, answer in 2 * list(zip((1, 0), reply, strict=True)):
            take(home, shard, answer, sums)
        added = home.whole()
    expected = summed(replace(of, store=Store(tmp_path / "ours")), sums)
    for column in ("cells", "cell_counts", "sums", "confusions", "confusion_counts"):
        assert (getattr(added, column) == getattr(expected, column)).all()


MODEL = ("--model", "zoo:trades", "--data", "zoo:digits")
FAKE_DRIVER = """import sys
sys.stdin.readline()
sys.stderr.write("the last words\\n")
sys.stdout.buffer.write({said!r})
"""
HEAD = b'{"task": 0, "halved": 0, "error": "", "kind": "", "size": 1000}'


@pytest.mark.parametrize("command", [("audit",), ("audit", "--stream")])
@pytest.mark.parametrize(
    "said",
    [b"", HEAD[:40], HEAD, b"\xff\xfe\n", b"7\n", b'{"job": 0}\n', HEAD + b"\n" + bytes(999)],
    ids=["nothing", "part of a head", "a head without its end", "no text", "no head", "no size", "part of a shard"],
)
def test_a_driver_that_dies_in_mid_message_is_one_line(tmp_path, monkeypatch, capsys, command, said):
    (tmp_path / "fake_driver.py").write_text(FAKE_DRIVER.format(said=said))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr("gfscore.engines.pool.DRIVER", "fake_driver")
    monkeypatch.setattr("gfscore.engines.pool.require", lambda *_, **__: None)  # no Ray is needed to die
    assert run([*command, *MODEL, "--engine", "ray", "--store", "store", "--quiet"]) == 4
    resumes = "What was computed is kept: run it again, and it goes on from there."
    assert capsys.readouterr().err == f"gfscore: Ray ended before the run did (the last words). {resumes}\n"


def order(**changed):
    return Order(**{"address": "auto", "workers": None, "threads": 1, "gpus_per_actor": 0.0, "work": {}} | changed)


@pytest.mark.parametrize(
    ("share", "room"), [(0.1, 10), (0.2, 5), (0.3, 3), (1 / 3, 3), (0.5, 2), (0.7, 1), (1.0, 1), (2.0, 0)]
)
def test_as_many_workers_share_a_gpu_as_fit(share, room):
    nodes = [
        {"NodeID": "a", "Alive": True, "Resources": {"CPU": 16.0, "GPU": 1.0}},
        {"NodeID": "b", "Alive": False, "Resources": {"CPU": 1, "GPU": 1}},
    ]
    found = Nodes(SimpleNamespace(nodes=lambda: nodes), order(gpus_per_actor=share))
    found.look()
    assert (found.room, found.lost) == (room, 0)


@pytest.mark.parametrize("address", ["foo", "foo:", ":6379", "foo:bar", ""])
def test_what_is_no_address_is_refused_in_a_line(address):
    with pytest.raises(OptionError, match="is no address of a Ray cluster") as told:
        ray_driver._connected(order(address=address))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("audit", *MODEL, "--workers", "2"), "--workers is about a Ray cluster. Say --engine ray too."),
        (("audit", *MODEL, "--gpus-per-actor", "1"), "--gpus-per-actor is about a Ray cluster."),
        (("logits", *MODEL, "-o", "a.safetensors", "--address", "auto"), "--address is about a Ray cluster."),
        (("audit", "a.npz", "--engine", "ray"), "an audit of logits files runs no model, and --engine says where"),
        (
            ("audit", "a.npz", "--stream", "--engine", "ray"),
            "an audit of logits files runs no model, and --engine says where",
        ),
        (
            ("gate", "audit.json", "--engine", "ray", "--wcr", "0.1"),
            "a gate on files runs no model, and --engine says where",
        ),
    ],
)
def test_what_no_cluster_does_is_refused_in_a_line(tmp_path, capsys, command, message):
    assert run(list(command)) == 2
    errors = capsys.readouterr().err
    assert errors.startswith(f"gfscore: {message}")
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())
