"""``gfscore repair`` as people call it, and from Python."""

import json
import re
from importlib.util import find_spec

import numpy as np
import onnxruntime
import pytest

import gfscore
from gfscore import zoo
from gfscore.cli.main import run
from gfscore.errors import OptionError
from gfscore.measures import Attacks
from gfscore.results import Repair

needs_attacks = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("foolbox", "onnx2torch", "pyautoattack")), reason="needs gfscore[attacks]"
)
needs_gradients = pytest.mark.skipif(find_spec("onnx2torch") is None, reason="needs gfscore[gradients]")


def blobs(n=1500, seed=0, gap=(2.0, 2.0, 1.0)):
    """Logits of three classes, of which the last is weak."""
    rng, labels = np.random.default_rng(seed), np.arange(n) % 3
    return rng.normal(0, 1, (n, 3)) + np.array(gap)[labels][:, None] * np.eye(3)[labels], labels


@pytest.fixture
def logits_file(tmp_path):
    logits, labels = blobs()
    np.savez(tmp_path / "logits.npz", logits=logits, labels=labels, class_names=["cat", "dog", "owl"])
    return tmp_path / "logits.npz"


def test_logits_are_balanced_and_it_is_said_that_this_is_all(logits_file, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["repair", str(logits_file), "--max-loss", "0.3", "--keep-mean", "0.05", "--out", str(out)]) == 0
    found = Repair.load(out / "repair.json")
    assert found.gained
    assert [each.measure for each in found.judged] == ["clean", "great"]
    assert found.choice.weakest == found.decisive.worst_before.class_ == "owl"
    assert "logits_alone" in [flag.code for flag in found.flags]
    shown = " ".join(capsys.readouterr().out.split())
    assert "what is balanced here is accuracy, and GREAT scores with it." in shown
    assert all(f" {name} " in shown for name in ("cat", "dog", "owl"))  # never the worst alone
    rows = (out / "bias.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "class,bias"
    assert [float(row.split(",")[1]) for row in rows[1:]] == list(found.bias)
    assert {path.name for path in out.iterdir()} == {
        *("repair.json", "repair.html", "model-card.md", "bias.csv", "classes.png", "frontier.png")
    }
    card = (out / "model-card.md").read_text(encoding="utf-8")
    assert "## Repair by a class bias" in card
    assert card.count("| owl |") == 2
    page = (out / "repair.html").read_text(encoding="utf-8")
    assert page.count("<img") == 2
    assert "http-equiv" in page


def test_what_is_judged_is_what_the_bias_does_to_the_other_half(logits_file):
    logits, labels = blobs()
    found = gfscore.repair(str(logits_file), max_loss=0.3, keep_mean=0.05)
    assert found.choice.n == found.choice.judged_by == 750
    clean = next(each for each in found.judged if each.measure == "clean")
    moved = (logits + np.array(found.bias)).argmax(axis=1) == labels
    shares = [moved[labels == part].mean() for part in range(3)]  # of both halves: near what either has
    assert [part.after.value for part in clean.parts] == pytest.approx(shares, abs=0.05)


def test_the_two_halves_share_no_sample_and_another_seed_draws_others():
    from gfscore.jobs.repair_parts import halve, measure_part
    from gfscore.jobs.sources import source_of

    logits, labels = blobs(300)
    source = source_of(gfscore.Samples.of(logits, labels), run=gfscore.RunOptions())
    part, _ = measure_part(source, source.read(), None, "no", per_class=None, seed=0, face=None)
    first, second = halve(part, 0)
    assert sorted([*first.rows, *second.rows]) == list(range(300))
    assert np.bincount(first.samples.labels).tolist() == [50, 50, 50]
    assert first.rows.tolist() != halve(part, 1)[0].rows.tolist()


@pytest.mark.parametrize("seeds", [25, pytest.param(100, marks=pytest.mark.long)])
def test_noise_is_not_sold_as_a_gain(seeds):
    """Of classes that are alike, whatever half of the samples chooses, the other half does not confirm it."""
    sold, said = 0, set()
    for seed in range(seeds):
        logits, labels = blobs(120, seed, gap=(1.0, 1.0, 1.0))
        try:
            sold += gfscore.repair(logits, labels, keep_mean=0.1, max_loss=0.3).gained
        except OptionError as error:
            said.add("which chance explains" in str(error))
    assert said <= {True}
    assert sold <= 5


def test_a_weak_class_is_found_to_gain_far_more_often_than_noise():
    gained = 0
    for seed in range(5):
        logits, labels = blobs(1200, seed)
        gained += gfscore.repair(logits, labels, keep_mean=0.05, max_loss=0.3).gained
    assert gained >= 4


@needs_gradients
def test_a_standard_network_has_nothing_to_redistribute(tmp_path, capsys):
    words = ["repair", "zoo:standard", "--data", "zoo:digits", "--n-per-class", "20", "--norm", "l2", "--eps", "1.8"]
    assert run([*words, "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out")]) == 3
    found = Repair.load(tmp_path / "out" / "repair.json")
    assert not found.gained
    assert found.judged == ()
    assert set(found.bias) == {0.0}
    assert not (tmp_path / "out" / "repaired.onnx").exists()
    shown = " ".join(capsys.readouterr().out.split())
    assert "There is nothing to redistribute: robust accuracy at L2 1.8 is" in shown
    assert "train the network" in shown


@pytest.fixture(scope="module")
def repaired(tmp_path_factory):
    """A network of the zoo, repaired on generated digits by forward passes alone."""
    folder = tmp_path_factory.mktemp("repaired")
    said = ["--norm", "l2", "--eps", "0.5", "--max-loss", "0.2", "--keep-mean", "0.05", "--gradients", "no"]
    words = ["repair", "zoo:trades", "--data", "generator:zoo", "--n-per-class", "200", "--samples", "200"]
    code = run([*words, *said, "--store", str(folder / "store"), "--out", str(folder / "out"), "--quiet"])
    return code, folder / "out", Repair.load(folder / "out" / "repair.json")


def test_every_class_is_shown_before_and_after(repaired):
    code, _, found = repaired
    assert code == (0 if found.gained else 3)
    assert [each.measure for each in found.judged] == ["first-order", "clean"]
    assert all(len(each.parts) == 10 for each in found.judged)
    assert found.choice.gradients is False
    assert found.choice.rivals == 9
    radii = found.judged[0]
    assert radii.worst_before.value == min(part.before.value for part in radii.parts)
    assert radii.worst_after.value == min(part.after.value for part in radii.parts)
    assert found.chosen.worst > found.unrepaired.worst
    assert "estimated" in [flag.code for flag in found.flags]


def test_images_that_chose_do_not_judge(tmp_path):
    """Wherever they are named: the same file twice, or a part of it."""
    digits = zoo.test_set()
    whole, part = str(tmp_path / "whole.npz"), str(tmp_path / "part.npz")
    rows = np.array([np.flatnonzero(digits.labels == label)[:24] for label in range(10)])
    for path, taken in ((whole, rows.ravel()), (part, rows[:, ::2].ravel())):
        np.savez(path, images=digits.images[taken], labels=digits.labels[taken])
    words = {"norm": "l2", "eps": 0.5, "layout": "NCHW", "delta": 0.9, "store": tmp_path / "store"}
    with pytest.raises(
        OptionError, match=r"every image that judges is one that chooses, too, .* leave --judge-data out"
    ):
        gfscore.repair("zoo:trades", part, judge_data=part, **words)
    found = gfscore.repair("zoo:trades", part, judge_data=whole, **words)
    assert {flag.code: flag.message for flag in found.flags}["copies"].startswith("120 images that judge also choose")
    assert "copies" not in [flag.code for flag in gfscore.repair("zoo:trades", whole, **words).flags]


def test_the_written_graph_decides_in_plain_onnxruntime_as_the_report_says(tmp_path):
    """Clean accuracy of each class after the repair, counted on the file alone."""
    digits = zoo.test_set()
    np.savez(tmp_path / "digits.npz", images=digits.images, labels=digits.labels)
    net = next(entry for entry in zoo.models() if entry.name == "trades").path
    words = ["repair", str(net), "--data", "generator:zoo", "--n-per-class", "100", "--samples", "200"]
    words += ["--judge-data", str(tmp_path / "digits.npz"), "--layout", "NCHW", "--norm", "l2", "--eps", "0.5"]
    words += ["--max-loss", "0.3", "--keep-mean", "0.1", "--gradients", "no", "--delta", "0.9"]  # so that it is written
    code = run([*words, "--store", str(tmp_path / "store"), "--out", str(tmp_path / "out"), "--quiet"])
    found = Repair.load(tmp_path / "out" / "repair.json")
    if code == 3:
        pytest.skip(f"no gain here: {found.reason}")
    assert found.written == "repaired.onnx"
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "repaired.onnx"), providers=["CPUExecutionProvider"])
    assert [entry.name for entry in session.get_outputs()] == ["logits"]
    [logits] = session.run(None, {session.get_inputs()[0].name: digits.images})
    right = logits.argmax(axis=1) == digits.labels
    clean = next(each for each in found.judged if each.measure == "clean")
    assert [part.after.value for part in clean.parts] == pytest.approx(
        [right[digits.labels == part].mean() for part in range(10)]
    )


@needs_attacks
def test_an_attack_judges_the_same_images_before_and_after(tmp_path):
    found = gfscore.repair(
        *("zoo:trades", "generator:zoo"),
        n_per_class=100,
        norm="l2",
        eps=0.5,
        max_loss=0.2,
        attack="pgd",
        attacked=20,
        delta=0.5,
        store=tmp_path,
    )
    assert [each.measure for each in found.judged] == ["pgd", "first-order", "clean"]
    assert found.judged_on == "pgd"
    assert (found.decisive.n, found.judged[1].n) == (200, 500)
    assert found.decisive.before == pytest.approx(found.judged[1].before, abs=0.06)  # radii predict the attack


@needs_attacks
def test_attacks_that_judge_are_kept_and_a_stopped_run_goes_on(tmp_path, monkeypatch):
    """Before and after take two blocks each; the run is stopped in the third, and the next does the last two alone."""
    words = {"n_per_class": 40, "norm": "l2", "eps": 0.5, "max_loss": 0.4, "keep_mean": 0.2, "delta": 0.5}
    words |= {"attack": "pgd", "attacked": 8}
    attack, met = Attacks._withstood, []

    def stopped(self, run, rows):
        met.append((self.bias, tuple(rows.tolist())))
        if len(met) == most:
            raise KeyboardInterrupt
        return attack(self, run, rows)

    most = None
    monkeypatch.setattr(Attacks, "_withstood", stopped)
    whole = gfscore.repair("zoo:trades", "generator:zoo", store=tmp_path / "whole", **words)
    all_blocks, most = met.copy(), 3
    assert [bool(bias) for bias, _ in all_blocks] == [False, False, True, True]
    met.clear()
    with pytest.raises(KeyboardInterrupt):
        gfscore.repair("zoo:trades", "generator:zoo", store=tmp_path / "stopped", **words)
    assert met == all_blocks[:3]
    met.clear()
    again = gfscore.repair("zoo:trades", "generator:zoo", store=tmp_path / "stopped", **words)
    assert met == all_blocks[2:]
    assert again.model_copy(update={"provenance": None}) == whole.model_copy(update={"provenance": None})


def test_a_module_and_a_classifier_in_memory(tmp_path):
    torch = pytest.importorskip("torch")
    sklearn = pytest.importorskip("sklearn.linear_model")
    rng, labels = np.random.default_rng(0), np.arange(1200) % 3
    rows = rng.normal(size=(1200, 3)) + np.array([2.0, 2.0, 1.0])[labels][:, None] * np.eye(3)[labels]
    fitted = sklearn.LogisticRegression().fit(rows, labels)
    found = gfscore.repair(fitted, (rows, labels), keep_mean=0.05, max_loss=0.3, delta=0.5)
    assert found.eps is None
    assert "logits_alone" in [flag.code for flag in found.flags]
    decided = found.apply(fitted)(rows).argmax(axis=1)
    assert (decided == (fitted.decision_function(rows) + np.array(found.bias)).argmax(axis=1)).all()
    images = np.clip(rng.random((600, 1, 2, 2)) * 0.5 + 0.4 * np.eye(4)[labels[:600]].reshape(-1, 1, 2, 2), 0, 1)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4, 3, bias=False))
    with torch.no_grad():
        net[1].weight.copy_(torch.tensor([[9.0, 0, 0, 0], [0, 9.0, 0, 0], [0, 0, 7.0, 0]]))
    data = (images.astype(np.float32), labels[:600])
    repaired = gfscore.repair(net, data, norm="linf", eps=0.02, keep_mean=0.1, max_loss=0.3, delta=0.5)
    assert repaired.choice.gradients
    moved = repaired.apply(net)
    inputs = torch.from_numpy(data[0])
    assert torch.allclose(moved(inputs), net(inputs) + torch.tensor(repaired.bias), atol=1e-5)


def test_groups_instead_of_classes():
    logits, labels = blobs(2400)
    groups = np.where(np.random.default_rng(0).random(2400) < np.array([0.2, 0.2, 0.9])[labels], "night", "day")
    found = gfscore.repair(logits, labels, groups=groups, keep_mean=0.05, max_loss=0.3)
    assert found.partition == "group"
    assert [part.name for part in found.decisive.parts] == ["day", "night"]
    assert found.decisive.worst_before.class_ == "night"
    assert found.gained


def test_python_and_the_command_say_the_same(logits_file, capsys):
    assert run(["repair", str(logits_file), "--max-loss", "0.3", "--json"]) in (0, 3)
    printed = json.loads(capsys.readouterr().out)
    made = json.loads(gfscore.repair(str(logits_file), max_loss=0.3).to_json())
    assert {**printed, "provenance": None} == {**made, "provenance": None}


def test_a_repair_shows_itself_at_a_prompt(logits_file):
    text = repr(gfscore.repair(str(logits_file), max_loss=0.3, keep_mean=0.05))
    assert re.search(r"^owl +250 +\+0\.\d\d", text, re.MULTILINE)
    assert "← chosen" in text
    assert "no bias" in text


@pytest.mark.parametrize("columns", [40, 80])
def test_nothing_is_cut_in_narrow_terminals(logits_file, tmp_path, columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    run(["repair", str(logits_file), "--max-loss", "0.3", "--out", str(tmp_path / "out")])
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= columns for line in lines if not line.startswith("Written"))


needs_training = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("onnx", "onnx2torch", "torch")), reason="needs gfscore[repair]"
)
TRAINING = ["--method", "faal", "--norm", "l2", "--eps", "0.5", "--epochs", "2", "--lr", "0.01"]


@needs_training
def test_a_network_is_trained_judged_and_written(tmp_path, capsys):
    """Few digits, two epochs: what is promised of the files, of the parts and of the baselines holds."""
    out, digits = tmp_path / "out", ["--data", "generator:zoo", "--n-per-class", "160"]
    code = run(["repair", "zoo:pgd-small", *digits, *TRAINING, "--then", "none", "--out", str(out)])
    found = Repair.load(out / "repair.json")
    assert code == (0 if found.gained else 3)
    trained = found.training
    assert (trained.train_n, trained.select_n, found.choice.judged_by) == (800, 400, 400)
    assert [each.name for each in trained.baselines] == ["at", "average"]
    assert [each.measure for each in found.judged] == ["midpoint", "clean"]
    assert len(trained.curves) == trained.done == 2
    for each in trained.baselines:  # the same images: the network before is the same everywhere
        assert [part.before.value for part in each.judged.parts] == [part.before.value for part in found.decisive.parts]
        assert [part.after.value for part in each.against.parts] == [part.after.value for part in found.decisive.parts]
    told = capsys.readouterr()
    assert "faal: 2 epochs of 800 images by N-FGSM" in told.err + told.out
    assert "Trained by faal with N-FGSM on 800 images" in " ".join(told.out.split())
    assert (out / "training.png").exists()
    assert (out / "repaired.onnx").exists() is found.gained is (out / "repaired.safetensors").exists()
    assert "Repair by training (faal)" in (out / "model-card.md").read_text(encoding="utf-8")
    assert (out / "repair.html").read_text(encoding="utf-8").count("<img") == 2  # arrows and curves: no frontier


@needs_training
def test_the_written_graph_gives_the_decisions_of_the_trained_network(tmp_path):
    from gfscore.inputs.data import load_data
    from gfscore.inputs.models import load_model
    from gfscore.measures import Run
    from gfscore.training.networks import Retrained, run_of, trainable_copy, write_graph

    digits = Run(model=load_model("zoo:trades"), data=load_data("zoo:digits"))
    module, bias = trainable_copy(digits), np.linspace(-2, 2, 10)
    for each in module.inner.parameters():
        each.data.mul_(1.1)
    write_graph(tmp_path / "repaired.onnx", digits, module, bias)
    inputs = digits.inputs(slice(0, 200))
    session = onnxruntime.InferenceSession(tmp_path / "repaired.onnx")
    found = session.run(None, {session.get_inputs()[0].name: inputs})[0]
    there = run_of(digits, module, Retrained(name="trained", weights=module.state_dict(), bias=bias))
    expected = there.logits_of(there.pixels(slice(0, 200)))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert session.get_inputs()[0].name == digits.model.input
    assert (found.argmax(axis=1) != digits.forward(inputs).argmax(axis=1)).any()  # it is another network


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--epochs", "3"], "--epochs is about training, and --method bias trains nothing. Leave it out, or choose"),
        (
            ["--method", "sat"],
            "method 'sat' is not known. Choose bias, faal, coda, wat, frl, frl-remargin, cfa, bat, csr, dafa, at",
        ),
        (["--train-data", "zoo:digits"], "--train-data trains, and --method bias trains nothing. Leave it out."),
        (["--method", "at", "--then", "temperature"], "--then 'temperature' is not known. Choose bias or none."),
        (["--method", "at", "--gradients", "no"], "--method at trains by gradients. Leave --gradients out."),
        (["--method", "at", "--inner", "cw"], "inner attack 'cw' is not known. Choose nfgsm, or pgd with its steps"),
    ],
)
def test_words_of_training_are_refused_where_they_mean_nothing(words, told, capsys):
    assert run(["repair", "zoo:trades", "--data", "zoo:digits", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_logits_cannot_be_trained(logits_file, capsys):
    assert run(["repair", str(logits_file), "--method", "faal"]) == 2
    assert "--method faal trains a network, and there are only logits. Say the model" in capsys.readouterr().err


def test_a_missing_torch_is_said_before_anything_is_read(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    assert run(["repair", "zoo:trades", "--data", "zoo:digits", "--method", "faal"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "a repair by training needs torch, which is not installed. Run: pip install 'gfscore[repair]'" in told
