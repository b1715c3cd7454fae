"""The streaming audit: the same numbers as of all samples at once, in memory that does not grow."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from gfscore import Options, Samples, audit_models
from gfscore.cli.main import run
from gfscore.errors import OptionError, ProbabilitiesError, TooFewClassesError
from gfscore.inputs.logits_files import read_samples
from gfscore.jobs.stream import StreamingAudit, pieces_of
from gfscore.storage.store import write_safetensors

FAST = Options(permutations=0)


def some_logits(n=3000, k=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = rng.normal(0, 1, (n, k)).astype(np.float32)
    logits[np.arange(n), labels] += np.linspace(0.5, 3, k)[labels].astype(np.float32)
    return logits, labels


def streamed(logits, labels, step, options=FAST, **about):
    stream = StreamingAudit(options, **about)
    for start in range(0, len(labels), step):
        stream.update(logits[start : start + step], labels[start : start + step])
    return stream


@pytest.mark.parametrize("step", [1, 64, 3000])
def test_the_size_of_the_pieces_changes_nothing(step):
    logits, labels = some_logits()
    whole = audit_models({"model": Samples.of(logits, labels)}, Options(interval="blocks", permutations=0)).model
    found = streamed(logits, labels, step).result()
    assert found == streamed(logits, labels, 500).result()
    assert [entry.n for entry in found.classes] == [entry.n for entry in whole.classes]
    for one, other in zip(found.classes, whole.classes, strict=True):
        assert one.score == pytest.approx(other.score, abs=1e-12)
        assert one.interval == pytest.approx(other.interval, abs=1e-9)
    assert found.rdi.interval == pytest.approx(whole.rdi.interval, abs=1e-9)


def test_pieces_that_come_in_another_order_have_the_same_scores_and_other_blocks():
    logits, labels = some_logits()
    order = np.roll(np.arange(3000), 1500)
    one, other = (streamed(logits[rows], labels[rows], 500) for rows in (slice(None), order))
    first, second = one.result(), other.result()
    assert [entry.score for entry in first.classes] == [entry.score for entry in second.classes]
    assert (first.rdi.value, first.nrgc.value) == (second.rdi.value, second.nrgc.value)
    assert [entry.interval for entry in one.peek().classes] == [entry.interval for entry in other.peek().classes]
    widths = [[high - low for low, high in (entry.interval for entry in found.classes)] for found in (first, second)]
    assert widths[0] != widths[1]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


def test_an_early_look_is_marked_and_wider_than_the_result():
    logits, labels = some_logits()
    stream = streamed(logits, labels, 500, Options(), name="net", source="camera")
    look, result = stream.peek(), stream.result()
    assert look.interval.anytime
    assert look.interval.method == "mixture"
    assert "at every moment of the stream" in look._repr_html_()
    assert not result.interval.anytime
    assert look.noise is None  # its p-values do not allow for stopping by what they say
    assert result.noise is not None
    assert (look.name, look.samples.source) == ("net", "camera")
    for early, late in zip(look.classes, result.classes, strict=True):
        assert early.score == late.score
        assert early.interval[1] - early.interval[0] > late.interval[1] - late.interval[0]


def test_a_class_that_has_not_come_yet_has_its_share_of_the_level_from_the_start():
    logits, labels = some_logits(k=3)
    few = StreamingAudit(FAST).update(logits, labels).peek()
    wide = np.pad(logits, ((0, 0), (0, 997)), constant_values=-20)
    many = StreamingAudit(FAST).update(wide, labels).peek()
    for one, other in zip(few.classes, many.classes, strict=True):
        assert other.interval[1] - other.interval[0] > one.interval[1] - one.interval[0]


def test_rows_that_look_like_probabilities_by_chance_are_no_reason_to_stop():
    stream = StreamingAudit(FAST).update([[0.3, 0.7]], [1])
    with pytest.raises((ProbabilitiesError, TooFewClassesError)):
        stream.peek()
    stream.update([[0.4, 0.6]], [0])
    with pytest.raises(ProbabilitiesError, match="logits look like probabilities"):
        stream.result()
    assert stream.update([[2.5, 0.0]], [0]).result().samples.n == 3


def test_groups_have_a_result_and_no_early_look():
    logits, labels = some_logits()
    groups = np.where(np.arange(3000) % 3, "day", "night")
    stream = StreamingAudit(FAST).update(logits[:1500], labels[:1500], groups=groups[:1500])
    stream.update(logits[1500:], labels[1500:], groups=groups[1500:])
    assert [entry.name for entry in stream.result().classes] == ["day", "night"]
    with pytest.raises(OptionError, match="an early look needs to know all groups"):
        stream.peek()


@pytest.mark.parametrize("anytime", [True, False])
def test_only_classes_have_intervals_that_hold_at_any_time(anytime):
    logits, labels = some_logits()
    groups = None if anytime else np.where(np.arange(3000) % 3, "day", "night")
    mixture = Options(interval="mixture", permutations=0)
    assert StreamingAudit(mixture).update(logits, labels, groups=groups).result().interval.anytime == anytime
    samples = Samples.of(logits, labels, groups=groups)
    assert audit_models({"m": samples}, mixture).model.interval.anytime == anytime


def test_a_piece_may_have_one_group_and_the_whole_may_not(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    logits, labels = some_logits(200)
    for name in ("day", "night"):
        np.savez(f"{name}.npz", logits=logits, labels=labels, groups=[name] * 200)
    assert run(["audit", "--pieces", "day.npz", "night.npz", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["models"][0]
    assert [(entry["name"], entry["n"]) for entry in model["classes"]] == [("day", 200), ("night", 200)]
    assert run(["audit", "--pieces", "day.npz"]) == 2
    assert "disparity needs at least two groups with samples; only 'day' has" in capsys.readouterr().err


def test_pieces_cover_the_samples():
    samples = Samples.of(*some_logits(200_000, 2))
    pieces = list(pieces_of(samples))
    assert len(pieces) > 1
    np.testing.assert_array_equal(np.concatenate([piece.labels for piece in pieces]), samples.labels)


def saved(folder, logits, labels, n_files):
    folder.mkdir()
    for index, rows in enumerate(np.array_split(np.arange(len(labels)), n_files)):
        np.savez(folder / f"shard-{index:03d}.npz", logits=logits[rows], labels=labels[rows])
    return folder


def test_the_command_takes_shards_and_shows_early_looks(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    logits, labels = some_logits()
    folder = saved(tmp_path / "net", logits, labels, 4)
    assert run(["audit", "--stream", str(folder), "--out", "out"]) == 0
    printed = capsys.readouterr()
    looks = [line for line in printed.err.splitlines() if "(early look)" in line]
    assert [line.split(" samples")[0] for line in looks] == ["net: 1,500", "net: 3,000"]  # past 1,000, and doubled
    model = json.loads((tmp_path / "out" / "audit.json").read_text())["models"][0]
    assert (model["name"], model["samples"]["n"]) == ("net", 3000)
    assert model["samples"]["source"] == "4 files, shard-000.npz to shard-003.npz"
    expected = streamed(logits, labels, 3000, Options()).result()
    assert [entry["score"] for entry in model["classes"]] == [entry.score for entry in expected.classes]

    files = sorted(map(str, folder.iterdir()))
    assert run(["audit", "--pieces", *files, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["models"][0]["classes"] == model["classes"]
    assert len(again["provenance"]["inputs"]) == 4

    assert run(["audit", "--stream", *files, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["models"]) == 4  # a model each


def test_a_model_that_is_run_as_a_stream_shows_early_looks_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    what = ["audit", "--stream", "--model", "zoo:noise", "--data", "generator:zoo", "--n-per-class", "500"]
    assert run([*what, "--store", "a", "--out", "out"]) == 0
    looks = capsys.readouterr().err.splitlines()  # images are drawn class by class
    assert [line.split(" so far: ")[0] for line in looks] == [
        "noise: 2,048 samples of 5 of 10 classes",
        "noise: 4,096 samples of 9 of 10 classes",
    ]
    assert all(line.endswith("(early look)") for line in looks)
    assert run([*what, "--store", "b", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pieces", "net", "net/shard-000.npz"], "net/shard-000.npz is given twice. Name each file once."),
        (["--stream", "net", "net/shard-000.npz"], "net/shard-000.npz is given twice. Name each file once."),
        (["--pieces", "net", "link.npz"], "link.npz is given twice. Name each file once."),
        (
            ["--pieces", "net", "copy.npz"],
            "copy.npz: holds the same as net/shard-001.npz: its samples would",
        ),
        (["--pieces", "net", "missing.npz"], "missing.npz: does not exist. Check the path."),
    ],
)
def test_no_sample_counts_twice(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    folder = saved(tmp_path / "net", *some_logits(200), 2)
    Path("link.npz").symlink_to(folder / "shard-000.npz")
    Path("copy.npz").write_bytes((folder / "shard-001.npz").read_bytes())
    assert run(["audit", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_an_early_look_never_ends_a_run(tmp_path, monkeypatch, capsys):
    """The first samples look like probabilities, and are all right, which was not expected."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    labels = np.arange(1200) % 3
    np.savez("first.npz", logits=np.eye(3)[labels], labels=labels)
    np.savez("second.npz", logits=5 * np.eye(3)[(labels + 1) % 3], labels=labels)
    assert run(["audit", "--pieces", "first.npz", "second.npz", "--expect-accuracy", "0.5"]) == 0
    assert [line.split(" so far")[0] for line in capsys.readouterr().err.splitlines()] == [
        f"{tmp_path.name}: 2,400 samples"
    ]


def test_sums_that_were_dealt_with_another_seed_are_made_anew(tmp_path, capsys):
    what = [
        "audit",
        "--stream",
        "--model",
        "zoo:noise",
        "--data",
        "zoo:digits",
        "--store",
        str(tmp_path),
        "--json",
        "-q",
    ]
    found = {}
    for seed in ("0", "1", "0"):
        assert run([*what, "--seed", seed]) == 0
        model = json.loads(capsys.readouterr().out)["models"][0]
        assert model["interval"]["seed"] == int(seed)
        assert found.setdefault(seed, model["classes"]) == model["classes"]
    assert [entry["interval"] for entry in found["0"]] != [entry["interval"] for entry in found["1"]]
    assert [entry["score"] for entry in found["0"]] == [entry["score"] for entry in found["1"]]


@pytest.mark.parametrize("how", [["--stream"], []])
def test_names_are_those_of_this_run_and_of_no_earlier_one(how, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    named = {None: list("0123456789"), "a": list("abcdefghij"), "b": list("klmnopqrst")}
    images = np.random.default_rng(0).random((20, 1, 8, 8), dtype=np.float32)
    np.savez("data.npz", images=images, labels=np.arange(20) % 10)  # which names no class
    for file in (None, "a", "b", None):
        given = []
        if file is not None:
            Path(f"{file}.txt").write_text("\n".join(named[file]))
            given = ["--class-names", f"{file}.txt"]
        what = ["audit", *how, "--model", "zoo:noise", "--data", "data.npz", "--store", "store", *given, "--json"]
        assert run(what) == 0
        model = json.loads(capsys.readouterr().out)["models"][0]
        assert [entry["name"] for entry in model["classes"]] == named[file]
        assert run(["logits", *what[what.index("--model") : -1], "-o", "net.safetensors", "-q"]) == 0
        assert read_samples("net.safetensors").class_names == tuple(named[file])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to stream"),
        (["empty"], "holds no logits file"),
        (["net", "--calibrate", "classes"], "--calibrate needs the samples"),
        (["net", "--target", "finite"], "--target finite needs the samples"),
        (["net", "--per-sample", "rows.csv"], "--per-sample needs the samples"),
    ],
)
def test_what_a_stream_cannot_do_is_said_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    saved(tmp_path / "net", *some_logits(200), 2)
    (tmp_path / "empty").mkdir()
    assert run(["audit", "--stream", *arguments]) == 2
    assert message in capsys.readouterr().err


WATCHED = """
    import sys
    import numpy as np
    from gfscore import Options, StreamingAudit
    from watching import peak

    n, k = int(sys.argv[1]), 1000
    rng = np.random.default_rng(0)

    def stream():
        audit = StreamingAudit(Options(permutations=0))
        for start in range(0, n, 4096):
            rows = min(4096, n - start)
            logits, labels = rng.standard_normal((rows, k), dtype=np.float32), rng.integers(0, k, rows)
            logits[np.arange(rows), labels] += 3
            audit.update(logits, labels)
        assert audit.result().samples.n == n

    print(peak(stream))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("n", [20_000, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_a_stream_of_a_thousand_classes_stays_under_500_mb(n):
    command = [sys.executable, "-c", textwrap.dedent(WATCHED), str(n)]
    environment = {"PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 350  # MB beyond what Python and its libraries take, some 100


def test_a_mapped_file_is_streamed_as_it_is(tmp_path, capsys):
    logits, labels = some_logits(5000)
    path = tmp_path / "net.safetensors"
    write_safetensors(path, [logits], logits.shape[1], labels, {})
    assert run(["audit", "--stream", str(path), "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["models"][0]
    assert model["samples"]["n"] == 5000
    assert model["interval"]["method"] == "blocks"
