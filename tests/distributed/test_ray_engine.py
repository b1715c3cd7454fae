"""The Ray engine against the local one: the same numbers, whatever is lost on the way."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from gfscore import Audit, read_samples, zoo
from gfscore.cli.main import run
from gfscore.measures import Logits
from gfscore.storage.store import Store

ZOO = ("--model", "zoo:trades", "--model", "zoo:noise")
MANY = (*ZOO, "--model", "zoo:awp", "--model", "zoo:pgd-large", "--data", "generator:zoo", "--n-per-class", "1600")
SHARDS = 8  # of 16,000 images
QUICK = ("--permutations", "0", "--radii", "none", "--quiet")


def local(folder: Path, *arguments: object) -> Path:
    """An audit by the local engine, with one thread as a worker has; the folder of its result and its store."""
    said = ["audit", *map(str, arguments), "--threads", "1", "--store", str(folder / "store"), "--out", str(folder)]
    assert run([*said, *QUICK]) == 0
    return folder


@pytest.fixture(scope="session")
def expected(tmp_path_factory) -> Path:
    """What comes out of ``MANY``."""
    return local(tmp_path_factory.mktemp("local"), *MANY)


def started(lab, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """The same audit on the cluster, under way."""
    return lab.run("audit", *arguments, "--store", folder / "store", "--out", folder, *QUICK, cwd=folder)


def ended(process: subprocess.Popen[str], timeout: float = 120) -> tuple[int, str]:
    """Exit code and standard error."""
    _, errors = process.communicate(timeout=timeout)
    return process.returncode, errors


def assert_same(one: Path, other: Path) -> None:
    """The same counts and scores, from the same entries of both stores."""
    models = [Audit.load(folder / "audit.json").models for folder in (one, other)]
    assert [model.name for model in models[0]] == [model.name for model in models[1]]
    for pair in zip(*models, strict=True):
        named = [[(entry.name, entry.n) for entry in model.classes] for model in pair]
        scores = np.array([[entry.score for entry in model.classes] for model in pair])
        assert named[0] == named[1]
        assert np.abs(scores[0] - scores[1]).max() <= 1e-12
        assert pair[0].run == pair[1].run
    entries = [{entry.path.name: entry.finished for entry in Store(at / "store").entries()} for at in (one, other)]
    assert entries[0].keys() == entries[1].keys()
    for name in entries[0]:
        samples = [read_samples(kept[name]) for kept in entries]
        assert (samples[0].labels == samples[1].labels).all()
        assert np.abs(samples[0].logits - samples[1].logits).max() <= 1e-12


def shards(folder: Path) -> list[Path]:
    """What a run that is under way has stored so far, of the models that are not finished."""
    return list((folder / "store").glob("??/*/shard-*"))


def wait_for_shards(folder: Path, process: subprocess.Popen[str], least: int = 1) -> None:
    """Until a run is under way, and far from its end."""
    while len(shards(folder)) < least:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)


def listening(group: int) -> set[str]:
    """Addresses at which the processes of a group take connections."""
    sockets = set()
    for path in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # it has ended
            if os.getpgid(int(path.parts[2])) == group:
                sockets.add(str(path.readlink()).removeprefix("socket:[").rstrip("]"))
    found = set()
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                last = bytes.fromhex(fields[1].partition(":")[0][-8:])[::-1]  # of an IPv6 address, what stands for IPv4
                found.add(".".join(map(str, last)))
    return found


@pytest.mark.long
def test_the_zoo_is_audited_alike(lab, tmp_path):
    models = [part for model in zoo.models() for part in ("--model", f"zoo:{model.name}")]
    what = (*models, "--data", "zoo:digits", "--data", "generator:zoo", "--n-per-class", "60")
    assert ended(started(lab, tmp_path, *what)) == (0, "")
    assert_same(local(tmp_path / "local", *what), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("n", [300, 5000])
def test_networks_of_others_are_audited_alike(lab, tmp_path, realdata, n):
    with np.load(realdata / "cifar10_test.npz") as whole:
        np.savez(tmp_path / "few.npz", images=whole["images"][:n], labels=whole["labels"][:n])
    networks = [realdata / f"models/{name}.onnx" for name in ("cifar_resnet20", "cifar_cnn_a_adv")]
    what = ("--model", networks[0], "--model", networks[1], "--data", tmp_path / "few.npz", "--preset", "cifar10")
    assert ended(started(lab, tmp_path, *what)) == (0, "")
    assert_same(local(tmp_path / "local", *what), tmp_path)


@pytest.mark.long
def test_a_killed_worker_changes_nothing(lab, tmp_path, expected):
    process = started(lab, tmp_path, *MANY)
    wait_for_shards(tmp_path, process)
    lab.loses("worker")
    assert process.poll() is None, "the run was over before the worker was killed"
    assert ended(process) == (0, "")
    assert_same(expected, tmp_path)


@pytest.mark.long
def test_a_lost_node_changes_nothing(lab, tmp_path, expected):
    process = started(lab, tmp_path, *MANY)
    try:
        wait_for_shards(tmp_path, process)
        lab.loses("node")
        assert process.poll() is None, "the run was over before the node was killed"
        assert ended(process) == (0, "")
    finally:
        lab.loses("new-node")
    assert_same(expected, tmp_path)


@pytest.mark.long
def test_a_local_run_goes_on_where_a_killed_one_was(lab, tmp_path, expected, monkeypatch):
    process = started(lab, tmp_path, *MANY)
    wait_for_shards(tmp_path, process, least=3)
    process.kill()
    process.communicate()
    finished = list((tmp_path / "store").glob("??/*/logits.safetensors"))
    kept = len(shards(tmp_path)) + SHARDS * len(finished)
    computed = []
    forward = Logits.compute
    monkeypatch.setattr(Logits, "compute", lambda *given: computed.append(given) or forward(*given))
    assert_same(expected, local(tmp_path, *MANY))
    assert 3 <= kept < 4 * SHARDS
    assert len(computed) == 4 * SHARDS - kept


def test_a_cluster_of_its_own_streams_summaries(tmp_path, monkeypatch, capsys):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")  # a look in a line
    what = ["audit", "--stream", *ZOO, "--data", "generator:zoo", "--n-per-class", "500"]
    assert run([*what, "--engine", "ray", "--workers", "2", "--store", "a", "--out", "ray"]) == 0
    looks = {line.split(":")[0] for line in capsys.readouterr().err.splitlines() if "early look" in line}
    assert looks == {"trades", "noise"}
    what.append("--quiet")
    assert run([*what, "--threads", "1", "--store", "b", "--out", "local"]) == 0
    assert run(["audit", *what[2:], "--threads", "1", "--store", "c", "--out", "whole"]) == 0
    theirs, ours, whole = (Audit.load(Path(name) / "audit.json").models for name in ("ray", "local", "whole"))
    assert theirs == ours
    for streamed, kept in zip(theirs, whole, strict=True):
        assert [entry.n for entry in streamed.classes] == [entry.n for entry in kept.classes]
        assert [entry.score for entry in streamed.classes] == pytest.approx([e.score for e in kept.classes], abs=1e-12)


@pytest.mark.long
def test_a_lost_cluster_is_one_line_and_a_second_run_goes_on(new_lab, tmp_path, expected):
    lost = new_lab()
    process = started(lost, tmp_path, *MANY)
    wait_for_shards(tmp_path, process)
    lost.loses("head")
    code, errors = ended(process)
    lost.end()
    assert code == 4
    assert errors.startswith(("gfscore: Ray ", "gfscore: the Ray cluster was lost ("))
    assert errors.endswith("What was computed is kept: run it again, and it goes on from there.\n")
    assert errors.count("\n") == 1
    assert shards(tmp_path)
    assert_same(expected, local(tmp_path, *MANY))


@pytest.mark.long
@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_run_leaves_no_process_and_no_file(tmp_path, how, code):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    never_done = (*MANY[:-1], "16000")  # before it is stopped, however busy the machine is
    what = [*never_done, *QUICK, "--store", tmp_path / "store", "--out", tmp_path, "--engine", "ray"]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "gfscore", "audit", *map(str, what)],
        stderr=-1,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    wait_for_shards(tmp_path, process)
    driver = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
    folder = Path(f"/proc/{driver}/fd/2").readlink().parent  # of the cluster, where its complaints go
    assert (folder / "log").exists()
    assert listening(int(driver)) == {"127.0.0.1"}
    process.send_signal(how)
    assert ended(process)[0] == code
    deadline = time.monotonic() + 30
    while subprocess.run(["pgrep", "-g", driver], capture_output=True).returncode == 0 or folder.exists():
        assert time.monotonic() < deadline, "something was left behind"
        time.sleep(0.1)
    assert not list(temporary.glob("gf*"))  # gfs-* of the cluster, gfscore-* of its workers


def test_no_cluster_at_the_address_is_one_line(tmp_path, capsys):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    what = ["audit", *ZOO, "--data", "zoo:digits", "--store", str(tmp_path), "--engine", "ray"]
    assert run([*what, "--address", "127.0.0.1:9"]) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("gfscore: no Ray cluster answers at '127.0.0.1:9'")
    assert errors.count("\n") == 1
