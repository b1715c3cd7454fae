"""Each measure on a worker, on a cluster, and after losses: the same numbers as on this machine, in the same files."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

import gfscore
from gfscore.attacks.refuting import Refuter, Tries
from gfscore.engines import pool
from gfscore.engines.loading import Loader, Loading
from gfscore.engines.local import compute_shard
from gfscore.engines.ray import one_cluster
from gfscore.engines.workers import Job, ShardWorker, Work
from gfscore.inputs.probes import to_bytes
from gfscore.measures import Assault, Attacks, Logits, RadiusSums, Slopes, Sums, Votes
from gfscore.measures.boundary import BoundaryOfRows
from gfscore.measures.changed_runs import make_changes, pack_changes
from gfscore.measures.rival_slopes import RivalSlopes
from gfscore.measures.row_lists import ListMeasure, LogitsOfRows, SlopesOfRows, SteepestOfRows
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
    said, content = job.message()
    there = {**json.loads(json.dumps(said)), "content": content}
    answer = worker_of(tmp_path).answer(there, 0, asked, measure.payload(rows))
    assert answer.error == ""
    return measure.from_bytes(answer.content)


def measures(of, samples):
    """Each measure, and the rows it is asked for."""
    estimated = FirstOrder(norm="linf", directions=4, eps=2 / 255)
    all_rivals = FirstOrder(norm="linf", rivals=9, refine=0)
    attack = Attacks.of(Assault(norm="linf", eps=0.1, quick=True), [[3, 9, 20], [31, 12]], block=2)
    strong = Attacks.of(Assault(norm="linf", eps=0.1), [[3, 9, 20]], block=2, remarks=True)
    radii = np.full(of.n_samples, 0.4)
    biased = Attacks.of(Assault(norm="linf", eps=0.1, quick=True), [[3, 9, 20]], block=2, bias=tuple(range(10)))
    towards = np.stack([np.arange(0, 40, 4), samples.logits.argmax(axis=1)[::4]])
    tried = {"norm": "l2", "seed": 3, "activation": "softmax", "temperature": 1.0, "radii": radii}
    return {
        "logits": (Logits(), FEW),
        "sums": (Sums(temperature=2.0), FEW),
        "votes": (Votes.of(of, Noise(n=60, n0=20, seed=1)), FEW),
        "estimated slopes": (Slopes(samples=samples, how=estimated), FEW),
        "slopes of some rows": (Slopes(samples=samples, how=estimated, only=np.array([2, 9, 10, 23, 30])), FEW),
        "slopes by gradients": (Slopes(samples=samples, how=FirstOrder(norm="l2"), gradients=True), FEW),
        "rival slopes": (RivalSlopes(samples=samples, how=replace(estimated, rivals=9)), FEW),
        "rival slopes by gradients": (RivalSlopes(samples=samples, how=all_rivals, gradients=True), FEW),
        "sums of radii": (RadiusSums(how=estimated, ladder=(2 / 255,), gradients=False, per_class=2), FEW),
        "attacks": (attack, slice(2, 4)),
        "AutoAttack and its remarks": (strong, slice(0, 2)),
        "attacks on a biased model": (biased, slice(0, 2)),
        "logits of rows": (LogitsOfRows(), IN_ANY_ORDER),
        "estimated slopes of rows": (SlopesOfRows(how=estimated), IN_ANY_ORDER),
        "slopes of rows by gradients": (SlopesOfRows(how=FirstOrder(norm="linf"), gradients=True), IN_ANY_ORDER),
        "a look at the boundary": (BoundaryOfRows(how=FirstOrder(norm="linf")), IN_ANY_ORDER),
        "the steepest place": (SteepestOfRows(), IN_ANY_ORDER[:4]),
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
    *("logits", "sums", "votes", "estimated slopes", "slopes of some rows", "slopes by gradients"),
    *("rival slopes", "rival slopes by gradients", "sums of radii", "attacks", "AutoAttack and its remarks"),
    *("attacks on a biased model", "logits of rows", "estimated slopes of rows", "slopes of rows by gradients"),
    *("a look at the boundary", "the steepest place", "bisection", "premise"),
)
GRADIENTS = (
    *("slopes by gradients", "rival slopes by gradients", "slopes of rows by gradients"),
    *("attacks", "AutoAttack and its remarks", "attacks on a biased model", "a look at the boundary", "premise"),
)


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


@pytest.mark.skipif(find_spec("onnx2torch") is None, reason="the extra gradients is not installed")
def test_a_worker_makes_the_changes_of_a_run_again(of, tmp_path, monkeypatch):
    """A trained network, with a bias, on some rows: known by its weights, and refused where they are others."""
    pytest.importorskip("torch")
    from gfscore.training.networks import Retrained, run_of, trainable_copy
    from gfscore.training.parts import PartOfRun

    monkeypatch.chdir(tmp_path)
    part = PartOfRun(run=of, rows=np.array([1, 4, 7, 8, 20, 33])).as_run()
    module = trainable_copy(part)
    for each in module.inner.parameters():
        each.data.mul_(1.2)
    trained = Retrained(name="trained", weights=module.state_dict(), bias=np.linspace(-1, 1, 10))
    there = run_of(part, module, trained)
    assert [type(change).__name__ for change in there.changes] == ["RowsTaken", "Retrained"]
    changes, content = pack_changes(there.changes)
    probe = to_bytes(there.check().probe).hex()
    job = Job(
        model=SPECS[0],
        data=SPECS[1],
        parts=there.parts(),
        probe=probe,
        measure=to_plain(Logits()),
        changes=changes,
        content=content,
    )
    said, beside = job.message()
    worker = worker_of(tmp_path)
    plain = {**json.loads(json.dumps(said)), "content": beside}
    for _ in range(2):  # the second time it is there already
        answer = worker.answer(plain, 0, (0, 6), b"")
        assert answer.error == ""
        assert np.array_equal(Logits().from_bytes(answer.content), Logits().compute(there, slice(0, 6)))
    assert len(worker._changed) == 1
    others = replace(trained, bias=np.zeros(10))
    plain["content"] = pack_changes([*part.changes, others])[1]
    plain["changes"] = pack_changes([*part.changes, others])[0]
    assert "model zoo:trades is not the same here" in worker.answer(plain, 0, (0, 6), b"").error
    with pytest.raises(TypeError, match="is no change of a run"):
        make_changes(of, [{"kind": "gfscore.measures.logits:Logits", "said": {}, "size": 0}], b"")


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
    return {str(path.relative_to(folder)): _arrays(path) for path in found}


def _arrays(path: Path) -> bytes:
    """What a file holds; of a shard its arrays alone, for the reason above."""
    content = path.read_bytes()
    return content[8 + int.from_bytes(content[:8], "little") :] if path.name.startswith("shard-") else content


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
        gfscore.certify(model=pair[0], data=pair[1], method="lipschitz", permutations=0, **said).models,
        _untimed(gfscore.check(*pair, autoattack=True, quick=True, eps=0.1, samples=3, permutations=0, **said)),
        gfscore.gate(*pair, wcr=0.2, adaptive=True, **said).models,
        gfscore.gate(*pair, class_robust_accuracy=["*=0.2@2/255"], adaptive=True, gradients="no", **said).models,
    ]


def _untimed(audit):
    """Models and their attacks, without the time these took."""
    checked = [model.cross_check.model_copy(update={"seconds": {}}) for model in audit.models]
    return [model.model_copy(update={"cross_check": check}) for model, check in zip(audit.models, checked, strict=True)]


def test_every_job_runs_on_one_cluster_and_finds_the_same(tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.chdir(tmp_path)
    told, drivers = [], []
    start = pool.Driver.__init__
    monkeypatch.setattr(pool.Driver, "__init__", lambda *given: drivers.append(given) or start(*given))
    with one_cluster(told.append):
        theirs = everything(engine="ray", workers=2, store=tmp_path / "theirs")
    ours = everything(store=tmp_path / "ours")
    assert theirs == ours
    assert files(tmp_path / "theirs") == files(tmp_path / "ours")
    kinds = {Path(name).name for name in files(tmp_path / "ours")}
    assert kinds >= {"logits.safetensors", "gradient_norms.safetensors", "votes.safetensors", "scores.bin"}
    assert any(each.content == "attacked" for each in Store(tmp_path / "theirs").entries())
    assert "Ray: 2 workers" in told
    assert len(drivers) == 1


def _said(text):
    """A word of the command line as Python has it."""
    return int(text) if text.isdecimal() else text if text.isalpha() else float(text)


def _plain(repair):
    """A repair without when and where."""
    return repair.model_copy(update={"provenance": None})


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx", "onnx2torch", "pyautoattack", "ray")),
    reason="needs extras",
)
@pytest.mark.parametrize(
    ("method", "judged"), [("bias", "first-order"), ("at --epochs 1 --lr 0.01 --baselines none", "midpoint")]
)
def test_repairs_are_judged_on_a_cluster_as_here(tmp_path, monkeypatch, method, judged):
    """Bias and training are chosen in the command; logits, slopes and attacks, before and after, run on workers."""
    monkeypatch.chdir(tmp_path)
    name, *more = method.split()
    words = {
        word[2:]: said if said.isalpha() else int(said) if said.isdecimal() else float(said)
        for word, said in zip(more[::2], more[1::2], strict=True)
    }
    words |= {"method": name, "norm": "l2", "eps": 0.5, "attack": "pgd", "attacked": 4, "delta": 0.5}
    words |= {"n_per_class": 60, "seed": 1, "threads": 1, "max_loss": 0.4, "keep_mean": 0.2}
    theirs = gfscore.repair("zoo:trades", "generator:zoo", engine="ray", workers=2, store=tmp_path / "theirs", **words)
    ours = gfscore.repair("zoo:trades", "generator:zoo", store=tmp_path / "ours", **words)
    assert [each.measure for each in ours.judged] == ["pgd", judged, "clean"]
    assert _plain(theirs) == _plain(ours)
    assert files(tmp_path / "theirs") == files(tmp_path / "ours")
    attacked = [each.recipe for each in Store(tmp_path / "theirs").entries() if each.content == "attacked"]
    assert len(attacked) == 2  # before and after: of one network with and without a bias, or of two networks
    assert len({each.model for each in attacked}) == (1 if name == "bias" else 2)


def test_what_is_in_memory_cannot_be_opened_by_workers(tmp_path):
    images, labels = np.zeros((4, 1, 16, 16), np.float32), np.array([0, 1, 0, 1])
    for job in (gfscore.audit, gfscore.check):
        with pytest.raises(gfscore.GFScoreError, match="in memory cannot be opened by the workers of a cluster"):
            job(lambda x: x.reshape(len(x), -1)[:, :10], (images, labels), engine="ray", store=tmp_path)


@dataclass(frozen=True)
class Case:
    """A command, and what it keeps on the way."""

    words: tuple[str, ...]
    kept: str  # pattern of the files that show how far it is
    least: int = 2  # of them, or bytes of the one, until something is broken

    def progress(self, folder: Path) -> int:
        found = list((folder / "store").glob(self.kept))
        return found[0].stat().st_size if self.least > 100 and found else len(found)


ZOO = ("--model", "zoo:trades", "--data", "generator:zoo", "--seed", "1")
CASES = {
    "slopes": Case(
        ("audit", *ZOO, "--n-per-class", "400", "--score", "first-order", "--norm", "linf", "--directions", "48"),
        "??/*/shard-*",
    ),
    "votes": Case(
        ("certify", *ZOO, "--n-per-class", "60", "--method", "smoothing", "--n", "3000"),
        "??/*/shard-*",
    ),
    "AutoAttack": Case(
        ("check", *ZOO, "--n-per-class", "12", "--autoattack", "--eps", "0.15", "--budget", "80"),
        "??/*/shard-*",
        least=1,
    ),
    "AutoAttack without a budget": Case(
        ("check", *ZOO, "--n-per-class", "12", "--autoattack", "--eps", "0.15", "--samples", "12"),
        "??/*/shard-*",
        least=1,
    ),
    "attacks that judge a repair": Case(
        (
            *("repair", "zoo:trades", "--data", "generator:zoo", "--seed", "1", "--n-per-class", "100"),
            *("--norm", "l2", "--eps", "0.5", "--max-loss", "0.4", "--keep-mean", "0.2", "--delta", "0.5"),
            *("--attack", "apgd", "--attacked", "30"),
        ),
        "??/*/shard-*",
        least=1,
    ),
    "rounds of a gate": Case(
        (
            *("gate", *ZOO, "--n-per-class", "60", "--adaptive", "--class-robust-accuracy", "*=0.97@2/255"),
            "--gradients",
            "no",
        ),
        "gate/*/scores.bin",
        least=28 * 20,
    ),
}
ANSWERS = (0, 1, 3)  # a gate and a repair have others


def numbers_in(folder: Path) -> dict[str, dict[str, bytes]]:
    """All arrays in a store, whatever order their files say things in; sums are held against each other as printed."""
    found = {}
    for path in (path for path in (folder / "store").rglob("*.safetensors") if path.name != SUM):
        with safe_open(path, framework="np") as file:
            found[str(path.relative_to(folder))] = {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118
    for path in (folder / "store").rglob("scores.bin"):
        found[str(path.relative_to(folder))] = {"scores": path.read_bytes()}
    return found


def said_by(text: str) -> object:
    """What a command printed as JSON, without when, where and how long."""

    def plain(value):
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items() if name not in ("provenance", "seconds")}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return plain(json.loads(text))


def at_home(folder: Path, case: Case) -> object:
    """What the command prints when this machine runs it with one thread."""
    folder.mkdir(exist_ok=True)
    words = [*case.words, "--threads", "1", "--store", str(folder / "store"), "--json"]
    done = subprocess.run([sys.executable, "-m", "gfscore", *words], capture_output=True, text=True, check=False)
    assert done.returncode in ANSWERS, done.stderr
    return said_by(done.stdout)


@pytest.fixture(scope="session")
def expected(tmp_path_factory):
    """What comes of each case, computed once."""
    known = {}

    def give(name):
        if name not in known:
            folder = tmp_path_factory.mktemp("home")
            known[name] = (at_home(folder, CASES[name]), numbers_in(folder))
        return known[name]

    return give


def under_way(lab, folder: Path, case: Case) -> subprocess.Popen[str]:
    """The command on the cluster, in the middle of it."""
    process = lab.run(*case.words, "--store", folder / "store", "--json", cwd=folder)
    while case.progress(folder) < case.least:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    return process


def assert_holds(found: dict[str, dict[str, bytes]], expected: dict[str, dict[str, bytes]]) -> None:
    """Every file of the local store is there with the same numbers; attacks may have gone further on a cluster."""
    assert expected
    for name, arrays in expected.items():
        assert found[name] == arrays, name


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in CASES if "gate" not in name])
def test_a_lost_node_in_the_middle_of_any_measure_changes_nothing(lab, tmp_path, expected, name):
    process = under_way(lab, tmp_path, CASES[name])
    try:
        lab.loses("node")
        assert process.poll() is None, "it was over before the node was killed"
        printed, errors = process.communicate(timeout=300)
    finally:
        lab.loses("new-node")
    assert process.returncode in ANSWERS, errors
    assert errors == ""
    printed_at_home, numbers_at_home = expected(name)
    assert said_by(printed) == printed_at_home
    assert_holds(numbers_in(tmp_path), numbers_at_home)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_killed_run_of_any_measure_goes_on_where_it_was(lab, tmp_path, expected, name):
    process = under_way(lab, tmp_path, CASES[name])
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert CASES[name].progress(tmp_path) >= CASES[name].least
    printed = at_home(tmp_path, CASES[name])
    printed_at_home, numbers_at_home = expected(name)
    for known in ("from_store", "known"):  # how much an earlier run had done
        printed, printed_at_home = without(printed, known), without(printed_at_home, known)
    assert printed == printed_at_home
    assert_holds(numbers_in(tmp_path), numbers_at_home)


def without(value, name):
    """Plain values without one field, wherever it is."""
    if isinstance(value, dict):
        return {key: without(each, name) for key, each in value.items() if key != name}
    return [without(each, name) for each in value] if isinstance(value, list) else value


OF_OTHERS = ("cifar_resnet20", "cifar_cnn_a_adv")
ON_OTHERS = {
    "radii by gradients": "audit --radii 10 --permutations 0",
    "radii by forward passes": "audit --radii 2 --gradients no --permutations 0",
    "votes": "certify --n-per-class 2 --method smoothing --n 200",
    "attacks": "check --autoattack --quick --eps 2/255 --budget 40",
    "a cross-check": "check --autoattack --quick --eps 2/255 --samples 5",
    "refuters": "check --n-per-class 10 --samples 1 --method bisection",
    "a gate": "gate --adaptive --class-robust-accuracy *=0.5@2/255",
    "sums": "audit --stream --radii none",
    "sums of radii": "audit --stream --radii 5",
}


@pytest.mark.long
@pytest.mark.parametrize("name", ON_OTHERS)
def test_networks_of_others_are_measured_alike(lab, tmp_path, realdata, name):
    with np.load(realdata / "cifar10_test.npz") as whole:
        np.savez(tmp_path / "few.npz", images=whole["images"][:300], labels=whole["labels"][:300])
    model = [word for network in OF_OTHERS for word in ("--model", str(realdata / f"models/{network}.onnx"))]
    job, *said = ON_OTHERS[name].split()
    words = (job, *model, "--data", str(tmp_path / "few.npz"), "--preset", "cifar10", *said)
    process = lab.run(*words, "--store", tmp_path / "theirs/store", "--json", cwd=tmp_path)
    printed, errors = process.communicate(timeout=600)
    assert process.returncode in ANSWERS, errors
    assert said_by(printed) == at_home(tmp_path / "ours", Case(words, ""))
    if not name.startswith("sums") and name != "refuters":  # which keep logits alone, or nothing
        assert_holds(numbers_in(tmp_path / "theirs"), numbers_in(tmp_path / "ours"))
