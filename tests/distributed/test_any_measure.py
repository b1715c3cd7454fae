"""Each measure on a worker, on a cluster, and after losses: the same numbers as on this machine, in the same files."""

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import gfscore
from gfscore.attacks.refuting import Refuter, Tries
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import compute_shard
from gfscore.engines.ray import one_cluster
from gfscore.engines.workers import Job, ShardWorker, Work
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Assault, Attacks, Logits, Slopes, Sums, Votes
from gfscore.measures.row_lists import ListMeasure, LogitsOfRows, SlopesOfRows
from gfscore.measures.sending import from_plain, to_plain
from gfscore.measures.summary_files import SUM
from gfscore.samples import Samples
from gfscore.scores import FirstOrder
from gfscore.scores.smoothing import Noise
from gfscore.storage.store import Store

HOW = Loading(n_per_class=4, threads=1, batch_size=16)
SPECS = ("zoo:trades", "zoo:digits")
FEW = slice(8, 24)
IN_ANY_ORDER = np.array([30, 2, 17, 5, 39, 21, 8, 11, 3, 14])


@pytest.fixture(scope="module")
def of(tmp_path_factory):
    return Loader(HOW, Store(tmp_path_factory.mktemp("store"))).open(*SPECS)


@pytest.fixture(scope="module")
def samples(of):
    return Samples.of(Logits().compute(of, slice(0, of.n_samples)), of.data.labels)


def worker_of(folder):
    return ShardWorker(Work(how=HOW, folder=str(folder), run="test").to_plain())


def answered(of, measure, rows, tmp_path):
    """What a worker gives for some rows; everything goes through JSON and bytes on the way."""
    probe = to_bytes(of.check().probe).hex()
    job = Job(model=SPECS[0], data=SPECS[1], parts=of.parts(), probe=probe, measure=to_plain(measure))
    asked = (rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist()
    answer = worker_of(tmp_path).answer(json.loads(json.dumps(asdict(job))), 0, asked, measure.payload(rows))
    assert answer.error == ""
    return measure.from_bytes(answer.content)


def measures(of, samples):
    """Each measure, and the rows it is asked for."""
    estimated = FirstOrder(norm="linf", directions=4, eps=2 / 255)
    attack = Attacks.of(Assault(norm="linf", eps=0.1, quick=True), [[3, 9, 20], [31, 12]], block=2)
    radii = np.full(of.n_samples, 0.4)
    towards = np.stack([np.arange(0, 40, 4), samples.logits.argmax(axis=1)[::4]])
    tried = {"norm": "l2", "seed": 3, "activation": "softmax", "temperature": 1.0, "radii": radii}
    return {
        "logits": (Logits(), FEW),
        "sums": (Sums(temperature=2.0), FEW),
        "votes": (Votes.of(of, Noise(n=60, n0=20, seed=1)), FEW),
        "estimated slopes": (Slopes(samples=samples, how=estimated), FEW),
        "slopes of some rows": (Slopes(samples=samples, how=estimated, only=np.array([2, 9, 10, 23, 30])), FEW),
        "slopes by gradients": (Slopes(samples=samples, how=FirstOrder(norm="l2"), gradients=True), FEW),
        "attacks": (attack, slice(2, 4)),
        "logits of rows": (LogitsOfRows(), IN_ANY_ORDER),
        "estimated slopes of rows": (SlopesOfRows(how=estimated), IN_ANY_ORDER),
        "slopes of rows by gradients": (SlopesOfRows(how=FirstOrder(norm="linf"), gradients=True), IN_ANY_ORDER),
        "bisection": (Tries(methods=(Refuter.BISECTION,), towards=towards, **tried), IN_ANY_ORDER),
        "premise": (Tries(methods=(Refuter.PREMISE,), **tried), IN_ANY_ORDER),
    }


def numbers(part):
    """Everything in what was computed, as arrays."""
    if isinstance(part, np.ndarray):
        return [part]
    if hasattr(part, "cell_counts"):  # a summary
        return [getattr(part, name) for name in ("cells", "cell_counts", "sums", "confusions", "confusion_counts")]
    return [getattr(part, name) for name in ("distances", "predicted", "steep", "kept", "pixels")]


NAMES = (
    *("logits", "sums", "votes", "estimated slopes", "slopes of some rows", "slopes by gradients", "attacks"),
    *("logits of rows", "estimated slopes of rows", "slopes of rows by gradients", "bisection", "premise"),
)
GRADIENTS = ("slopes by gradients", "slopes of rows by gradients", "attacks", "premise")


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_finds_what_this_process_finds(of, samples, tmp_path, monkeypatch, name):
    if name in GRADIENTS and find_spec("onnx2torch") is None:
        pytest.skip("the extra gradients is not installed")
    monkeypatch.chdir(tmp_path)
    measure, rows = measures(of, samples)[name]
    theirs = answered(of, measure, rows, tmp_path)
    ours = measure.compute(of, rows) if isinstance(measure, ListMeasure) else compute_shard(of, measure, rows)[0]
    for one, other in zip(numbers(theirs), numbers(ours), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    assert any(np.isfinite(values).any() for values in numbers(ours) if values.dtype.kind == "f" or len(values))


def test_all_measures_are_looked_at(of, samples):
    assert tuple(measures(of, samples)) == NAMES


def test_nothing_but_measures_is_made_on_a_worker(of):
    for kind in ("os:system", "gfscore.storage.store:Store", "gfscoreless.x:Y"):
        with pytest.raises(TypeError, match="is no measure"):
            from_plain({"kind": kind, "said": {}}, of, FEW, b"")


def test_pieces_do_not_depend_on_who_computes(of):
    pieces = LogitsOfRows().pieces(of, IN_ANY_ORDER)
    assert [len(piece) for piece in pieces] == [8, 2]
    assert (np.concatenate(pieces) == IN_ANY_ORDER).all()


def files(folder: Path) -> dict[str, bytes]:
    """What a store holds: results, and the journals of gates.

    Sums are equal number for number, not byte for byte: safetensors writes what is said beside the arrays in any order.
    """
    found = [path for path in (*folder.rglob("*.safetensors"), *folder.rglob("scores.bin")) if path.name != SUM]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def everything(**how):
    """Every job that runs a model, on little."""
    said = {"n_per_class": 4, "threads": 1, "seed": 0, **how}
    pair = ("zoo:trades", "zoo:digits")
    audit = gfscore.audit(["zoo:trades", "zoo:noise"], pair[1], radii="all", gradients="no", permutations=0, **said)
    return [
        audit.models,
        gfscore.audit(*pair, stream=True, permutations=0, **said).models,
        gfscore.certify(model=pair[0], data=pair[1], method="smoothing", n=60, n0=20, permutations=0, **said).models,
        gfscore.check(*pair, method=["bisection"], samples=2, permutations=0, **said).models,
        gfscore.compare("zoo:trades", "zoo:noise", data=pair[1], radii="all", gradients="no", **said).classes,
        gfscore.gate(*pair, wcr=0.2, adaptive=True, **said).models,
        gfscore.gate(*pair, class_robust_accuracy=["*=0.2@2/255"], adaptive=True, gradients="no", **said).models,
    ]


def test_every_job_runs_on_one_cluster_and_finds_the_same(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.chdir(tmp_path)
    told = []
    with one_cluster(told.append):
        theirs = everything(engine="ray", workers=2, store=tmp_path / "theirs")
    ours = everything(store=tmp_path / "ours")
    assert theirs == ours
    assert files(tmp_path / "theirs") == files(tmp_path / "ours")
    kinds = {Path(name).name for name in files(tmp_path / "ours")}
    assert kinds >= {"logits.safetensors", "gradient_norms.safetensors", "votes.safetensors", "scores.bin"}
    assert "Ray: 2 workers" in told


def test_what_is_in_memory_cannot_be_opened_by_workers(tmp_path):
    images, labels = np.zeros((4, 1, 16, 16), np.float32), np.array([0, 1, 0, 1])
    for job in (gfscore.audit, gfscore.check):
        with pytest.raises(gfscore.GFScoreError, match="in memory cannot be opened by the workers of a cluster"):
            job(lambda x: x.reshape(len(x), -1)[:, :10], (images, labels), engine="ray", store=tmp_path)
