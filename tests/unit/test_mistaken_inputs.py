"""Labels and images that are nonsense, in jobs that are no audit: they say so first, and give no verdict."""

import numpy as np
import pytest

from gfscore import audit, calibrate, compare, repair
from gfscore.cli.main import run
from gfscore.errors import GFScoreError, OptionError
from gfscore.jobs.init import init
from gfscore.jobs.probing import Right
from gfscore.judge import UnsoundError
from gfscore.results import Verdict
from gfscore.samples import Samples
from gfscore.zoo import models
from gfscore.zoo import test_set as digits

N, K = 1200, 4


def logits(seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, spread, (N, K)) + 3.5 * np.eye(K)[np.arange(N) % K]


LABELS = np.arange(N) % K
SOUND = Samples.of(logits(), LABELS)
PERMUTED = Samples.of(logits(), (LABELS + 1) % K)


def shifted(seed):
    """Labels that count from 1, of a model with a class more."""
    return Samples.of(np.hstack([logits(seed), np.full((N, 1), -5.0)]), LABELS + 1)


def codes(found):
    return [flag.code for flag in found.flags]


def test_a_comparison_of_shifted_labels_is_undecided():
    found = compare(shifted(0), shifted(1), names=("v1", "v2"))
    assert codes(found)[:4] == ["labels_shifted", "at_chance"] * 2
    assert [flag.message[:3] for flag in found.flags[:4]] == ["v1:", "v1:", "v2:", "v2:"]
    assert found.verdict is Verdict.UNDECIDED
    assert found.reason.startswith("There is nothing to judge: v1: 0.")
    assert found.reason.endswith("To judge nevertheless, give --allow labels_shifted --allow at_chance.")
    allowed = compare(shifted(0), shifted(1), allow=["labels_shifted", "at_chance"])
    assert allowed.verdict is Verdict.PASS
    assert codes(allowed) == codes(found)


def test_classes_do_not_fall_because_labels_of_one_version_are_permuted():
    found = compare(SOUND, PERMUTED)
    assert codes(found)[0] == "labels_permuted"
    assert found.verdict is Verdict.UNDECIDED
    (unpaired,) = (flag for flag in found.flags if flag.code == "unpaired")
    assert "1,200 of 1,200 have other labels" in unpaired.message
    assert "Give logits of both on the same samples" not in unpaired.message


def test_two_audits_are_held_to_the_same():
    bad = audit(PERMUTED, permutations=0)
    found = compare(audit(SOUND, permutations=0), bad)
    assert "labels_permuted" in codes(found)
    assert found.verdict is Verdict.UNDECIDED


def test_sound_versions_have_no_such_flag():
    found = compare(SOUND, Samples.of(logits() + 0.1, LABELS))
    assert codes(found) == ["matched_by_order"]
    assert found.verdict is Verdict.PASS


def test_the_flags_of_a_comparison_stand_before_its_numbers(tmp_path, capsys):
    for name, samples in (("v1", SOUND), ("v2", PERMUTED)):
        np.savez(tmp_path / f"{name}.npz", logits=samples.logits, labels=samples.labels)
    files = [str(tmp_path / f"{name}.npz") for name in ("v1", "v2")]
    assert run(["compare", *files, "--fail-on-worse"]) == 3
    shown = capsys.readouterr().out
    assert shown.index("! v2: ") < shown.index("Brackets: ")
    assert shown.count("labels and model have the classes in different orders") == 2  # a flag, and the reason
    assert run(["compare", *files, "--fail-on-worse", "--allow", "labels_permuted", "--allow", "at_chance"]) == 1


def test_folders_of_audits_are_compared_and_what_is_written_is_said(tmp_path, capsys):
    for name in ("v1", "v2"):
        (tmp_path / name).mkdir()
        audit(SOUND, permutations=0).save(tmp_path / name / "audit.json")
    folders, out = [str(tmp_path / name) for name in ("v1", "v2")], tmp_path / "found.json"
    assert run(["compare", *folders, "--out", str(out)]) == 0
    assert capsys.readouterr().out.endswith(f"Written: {out}\n")
    assert run(["compare", *folders, "--out", str(out), "--json"]) == 0
    assert "Written" not in capsys.readouterr().out
    (tmp_path / "none").mkdir()
    assert run(["compare", folders[0], str(tmp_path / "none")]) == 2
    assert "is a folder without audit.json" in capsys.readouterr().err


def test_a_calibration_says_it_before_its_temperature(tmp_path, capsys):
    found = calibrate({"good": SOUND, "bad": PERMUTED, "other": Samples.of(logits(3), LABELS)}, "classes")
    assert codes(found)[:2] == ["labels_permuted", "at_chance"]
    assert all(flag.message.startswith("bad: ") for flag in found.flags[:2])
    for name, samples in (("v1", SOUND), ("v2", PERMUTED)):
        np.savez(tmp_path / f"{name}.npz", logits=samples.logits, labels=samples.labels)
    assert run(["calibrate", str(tmp_path / "v1.npz"), str(tmp_path / "v2.npz"), "--objective", "classes"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("! v2: ") < shown.index("T*")


def test_init_says_that_labels_or_images_are_nonsense(tmp_path):
    images, labels, _ = digits()
    np.savez(tmp_path / "sound.npz", images=images, labels=labels)
    np.savez(tmp_path / "moved.npz", images=images, labels=(labels + 1) % 10)
    np.savez(tmp_path / "turned.npz", images=images.swapaxes(2, 3), labels=labels)
    told = {
        name: init("zoo:standard", str(tmp_path / f"{name}.npz"), out=tmp_path / f"{name}.toml").notes
        for name in ("sound", "moved", "turned")
    }
    assert not any(note.startswith("! ") for note in told["sound"])
    assert "labels and model have the classes in different orders" in told["moved"][0]
    assert "saved with rows and columns exchanged" in told["turned"][0]
    assert all(note.startswith("! ") for note in (told["moved"][0], told["turned"][0]))


def ending_in(path, kind, *arrays):
    """A network of the zoo, whose logits go through one operator more."""
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(next(each.path for each in models() if each.name == "standard"))
    (given,) = graph.graph.output
    for node in graph.graph.node:
        node.output[:] = ["raw" if each == given.name else each for each in node.output]
    names = [f"constant {place}" for place in range(len(arrays))]
    graph.graph.initializer.extend(map(onnx.numpy_helper.from_array, arrays, names))
    graph.graph.node.append(onnx.helper.make_node(kind, ["raw", *names], [given.name]))
    onnx.save(graph, path)
    return str(path)


def test_init_says_what_a_model_without_logits_lacks(tmp_path):
    images, labels, _ = digits()
    np.savez(tmp_path / "digits.npz", images=images, labels=labels)
    found = init(ending_in(tmp_path / "soft.onnx", "Softmax"), str(tmp_path / "digits.npz"), out=tmp_path / "soft.toml")
    (told,) = (note for note in found.notes if note.startswith("! "))
    assert told.startswith("! soft gives probabilities: export it without its last softmax.")


def test_init_is_not_fooled_by_a_large_class(tmp_path):
    """Always the class of most images: right of most of them, and a guess."""
    images, labels, _ = digits()
    rows = np.concatenate([np.flatnonzero(labels == label)[:n] for label, n in enumerate((80, 24, 24))])
    np.savez(tmp_path / "few.npz", images=images[rows], labels=labels[rows])
    model = ending_in(tmp_path / "one.onnx", "Add", np.eye(10, dtype=np.float32)[0] * 1e4)
    found = init(model, str(tmp_path / "few.npz"), out=tmp_path / "one.toml", preset="HALF")
    assert found.notes[0].startswith("! accuracy, with classes weighed equally, is 33.3 %, and guessing gives 33.3 %")


def test_what_only_makes_a_network_guess_is_no_cause(tmp_path):
    """Of permuted labels nothing is right, and in another order of the pixels as much as guessing gives."""
    images, labels, _ = digits()
    found = audit("zoo:standard", (images, (labels + 1) % 10), store=tmp_path, permutations=0, radii="none").model
    assert {flag.code for flag in found.flags} >= {"labels_permuted", "at_chance"}
    assert not {flag.code for flag in found.flags} & {"images_rearranged", "preprocessing_likely"}


def test_images_are_not_the_cause_where_two_classes_are_exchanged():
    """Right of nearly none; turned images, on which a network guesses, seem far better and are no cause."""
    rng, named = np.random.default_rng(0), 0
    labels = np.arange(128) % 2
    for _ in range(2000):
        right = Right.of(rng.integers(0, 2, 128), labels)
        named += right.is_no_guess
    assert named <= 5  # half a thousandth at most is promised
    large = np.repeat([0, 1], [115, 13])
    assert not Right.of(np.zeros(128, dtype=np.int64), large).is_no_guess
    assert Right.of(large, large).is_no_guess


@pytest.mark.parametrize(
    "job", [lambda **words: compare(SOUND, SOUND, **words), lambda **words: repair(SOUND, **words)]
)
def test_only_flags_that_void_a_verdict_are_allowed(job):
    with pytest.raises(OptionError, match="--allow at_change is no flag that voids a verdict"):
        job(allow=["at_change"])


def test_models_on_images_whose_axes_were_exchanged_are_not_compared(tmp_path):
    """That no class is shown to have fallen says nothing where neither version recognises anything."""
    images, labels, _ = digits()
    scrambled = np.random.default_rng(0).permutation(64)
    images = images.reshape(len(images), 64)[:, scrambled].reshape(-1, 1, 8, 8)
    words = {"store": tmp_path, "radii": "none"}
    found = compare("zoo:standard", "zoo:trades", data=(images, labels), **words)
    assert codes(found).count("at_chance") == 2
    assert found.verdict is Verdict.UNDECIDED
    with pytest.raises(UnsoundError, match="nothing to judge"):
        repair("zoo:standard", (images, labels), store=tmp_path)


def test_the_cause_is_named_where_it_is_known(tmp_path):
    images, labels, _ = digits()
    turned = images.reshape(-1, 1, 8, 8).swapaxes(2, 3)
    found = compare("zoo:standard", "zoo:trades", data=(turned, labels), store=tmp_path, radii="none")
    assert codes(found)[0] == "images_rearranged"


def test_a_repair_of_permuted_labels_is_refused():
    with pytest.raises(UnsoundError, match=r"nothing to judge: .*classes in different orders.*--allow labels_permuted"):
        repair(PERMUTED)


def test_a_repair_goes_on_where_that_is_allowed_and_says_it_first():
    found = repair(PERMUTED, allow=["labels_permuted", "at_chance"])
    assert [flag.code for flag in found.flags][:2] == ["labels_permuted", "at_chance"]


def test_errors_of_a_repair_name_the_file(tmp_path):
    np.savez(tmp_path / "bad.npz", logits=PERMUTED.logits, labels=PERMUTED.labels)
    with pytest.raises(GFScoreError, match=r"bad\.npz.*nothing to judge"):
        repair(str(tmp_path / "bad.npz"))
