"""A model in memory on data in memory: one call, whatever the two are, with the result that files would give."""

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gfscore
from gfscore import zoo
from gfscore.inputs.data import load_data, piles

RNG = np.random.default_rng(1)
QUICK = {"permutations": 0}
RADII = {"score": "first-order", "norm": "linf", "eps": "8/255"}
IMAGES, LABELS, _ = zoo.test_set()  # floats in [0, 1], (900, 1, 8, 8)
ROWS = np.concatenate([np.flatnonzero(label == LABELS)[:12] for label in range(10)])
PIXELS, CLASSES = np.ascontiguousarray(IMAGES[ROWS]), LABELS[ROWS]
BYTES = np.rint(255 * PIXELS).astype(np.uint8)


def mean_colours(images):
    """A function of inputs that is no constant, and no good classifier."""
    flat = images.reshape(len(images), -1).astype(np.float32)
    return flat @ np.random.default_rng(0).normal(0, 1, (flat.shape[1], 10)).astype(np.float32)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def net(torch):
    """A small network in training mode, with layers that behave otherwise in it."""
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.Flatten(), nn.Linear(144, 10)
    )
    optimiser = torch.optim.Adam(module.parameters(), 0.02)
    for _ in range(30):
        loss = nn.functional.cross_entropy(module(torch.from_numpy(PIXELS)), torch.from_numpy(CLASSES))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module


def same(first, second):
    """Whether two audits hold the same numbers."""
    return first.model.classes == second.model.classes and first.model.accuracy == second.model.accuracy


@pytest.fixture(scope="module")
def expected(net):
    return gfscore.audit(net, (PIXELS, CLASSES), **QUICK)


def test_a_module_in_training_mode_is_run_in_evaluation_mode_and_left_as_it_is(net, torch, expected):
    before = {name: value.clone() for name, value in net.state_dict().items()}
    modes = [part.training for part in net.modules()]
    assert expected.accuracy > 0.8
    assert [part.training for part in net.modules()] == modes
    assert all(modes)
    gfscore.audit(net, (PIXELS, CLASSES), **RADII, gradients="yes", **QUICK)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    net.eval()
    try:
        assert same(gfscore.audit(net, (PIXELS, CLASSES), **QUICK), expected)
    finally:
        net.train()


def test_a_module_that_cannot_be_copied_is_refused_while_it_is_in_training_mode(torch):
    class Stubborn(torch.nn.Linear):
        def __deepcopy__(self, memo):
            raise TypeError("no copies")

    with pytest.raises(gfscore.GFScoreError, match=r"training mode, and cannot be copied \(no copies\). Call model.ev"):
        gfscore.audit(Stubborn(64, 10), (PIXELS.reshape(120, -1), CLASSES))


def kinds_of_data(torch):
    """The same images as people have them."""
    images, labels = torch.from_numpy(PIXELS), torch.from_numpy(CLASSES)
    dataset, utils = torch.utils.data.TensorDataset(images, labels), torch.utils.data
    dicts = [{"pixel_values": image, "labels": label} for image, label in zip(images, labels, strict=True)]
    return {
        "pair": (PIXELS, CLASSES),
        "tensors": [images, labels],
        "lists": (PIXELS.tolist(), CLASSES.tolist()),
        "mapping": {"images": PIXELS, "labels": CLASSES},
        "loader": utils.DataLoader(dataset, batch_size=50),
        "loader of dicts": utils.DataLoader(dicts, batch_size=7),
        "loader of single samples": utils.DataLoader(dataset, batch_size=None),
        "loader with more": [(images[:60], labels[:60], "a.png"), (images[60:], labels[60:], "b.png")],
        "dataset": dataset,
        "generator": ((image, label) for image, label in dataset),
        "list of dicts": dicts,
        "channels last": (PIXELS.transpose(0, 2, 3, 1), CLASSES),
        "without channels": (PIXELS[:, 0], CLASSES),
        "double, and labels as floats": (PIXELS.astype(np.float64), CLASSES.astype(np.float64)),
    }


@pytest.mark.parametrize("kind", list(kinds_of_data(pytest.importorskip("torch"))))
def test_data_of_every_kind_give_one_result(kind, net, torch, expected):
    assert same(gfscore.audit(net, kinds_of_data(torch)[kind], **QUICK), expected)


def test_what_was_opened_by_gfscore_is_taken_too(net):
    found = gfscore.audit(net, load_data("zoo:digits", n_per_class=3), **QUICK)
    assert same(found, gfscore.audit(net, "zoo:digits", n_per_class=3, **QUICK))
    assert found.model.samples.n == 30


class Column:
    names = tuple("abcdefghij")


class Hub:
    """What is used of a data set of the package datasets: features with names, rows that are dictionaries."""

    features = {"image": object(), "label": Column}  # noqa: RUF012

    def __iter__(self):
        rows = zip(BYTES[:, 0], CLASSES.tolist(), strict=True)
        yield from ({"image": Image.fromarray(image), "label": label} for image, label in rows)


def test_a_data_set_of_pillow_images_has_names_and_is_resized(net):
    found = gfscore.audit(net, Hub(), **QUICK)
    assert [entry.name for entry in found.classes] == list("abcdefghij")
    assert same(found, gfscore.audit(net, (BYTES, CLASSES), class_names=list("abcdefghij"), **QUICK))
    larger = [(Image.fromarray(image).resize((16, 16 + row % 2)), 0) for row, image in enumerate(BYTES[:, 0])]
    with pytest.raises(gfscore.GFScoreError, match=r"gives images of shape \(16, 16\) and \(17, 16\). Resize them"):
        gfscore.audit(net, larger, **QUICK)
    again = gfscore.audit(net, [(image, row % 10) for row, (image, _) in enumerate(larger)], resize="8x8", **QUICK)
    assert again.model.run.preprocessing.resize == (8, 8)


def test_images_that_were_bytes_are_kept_as_bytes_and_large_data_in_a_file(net, torch, monkeypatch):
    monkeypatch.setattr(piles, "BLOCK_BYTES", 64 * 30)
    monkeypatch.setattr(piles, "MOST_BYTES", 64 * 50)
    floats = torch.from_numpy(BYTES).float() / 255
    batches = [(floats[at : at + 20], torch.from_numpy(CLASSES[at : at + 20])) for at in range(0, 120, 20)]
    shelf, blocks = piles.Shelf(found := []), [images.numpy() for images, _ in batches]
    for images in blocks:
        shelf.add(images)
    shelf.close()
    assert {block.dtype for block in found} == {np.dtype(np.uint8)}
    assert [isinstance(block, np.memmap) for block in found] == [False, True, True]
    assert same(gfscore.audit(net, batches, **QUICK), gfscore.audit(net, (BYTES, CLASSES), **QUICK))
    batches[3] = (batches[3][0] * 0.999, batches[3][1])  # no bytes any more: all are floats
    mixed = np.concatenate([images.numpy() for images, _ in batches])
    assert same(gfscore.audit(net, batches, **QUICK), gfscore.audit(net, (mixed, CLASSES), **QUICK))


def test_nothing_is_left_in_the_store(net, tmp_path, monkeypatch):
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    gfscore.audit(net, (PIXELS, CLASSES), **RADII, **QUICK)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_radii_are_those_of_the_file(net, torch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("test.npz", images=BYTES, labels=CLASSES)
    loader = torch.utils.data.DataLoader(list(zip(torch.from_numpy(BYTES) / 255, CLASSES, strict=True)), batch_size=32)
    words = {**RADII, "gradients": "yes", "mean": 0.1, "std": 0.9, **QUICK}
    found, wanted = gfscore.audit(net, loader, **words), gfscore.audit(net, "test.npz", **words)
    assert same(found, wanted)
    assert found.model.run.preprocessing == wanted.model.run.preprocessing
    assert found.model.robust_accuracy == wanted.model.robust_accuracy


def test_inputs_that_were_normalised_already_are_audited_and_flagged(net, torch, expected):
    mean, std = 0.3, 0.5
    inputs = (torch.from_numpy(PIXELS) - mean) / std
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(inputs, torch.from_numpy(CLASSES)), 16)
    found = gfscore.audit(net, loader, **QUICK)
    assert found.model.run is None
    [flag] = [flag for flag in found.flags if flag.code == "no_pixels"]
    assert "reach from -0.6 to 1.4" in flag.message
    assert "leave Normalize out of the transform" in flag.message
    pixels = gfscore.audit(net, (PIXELS, CLASSES), mean=mean, std=std, **QUICK)
    assert [entry.score for entry in pixels.classes] == pytest.approx(
        [entry.score for entry in found.classes], abs=1e-6
    )
    assert not [flag for flag in pixels.flags + expected.flags if flag.code == "no_pixels"]
    with pytest.raises(gfscore.GFScoreError, match=r"model: the images reach from -0.6 to 1.4: they were normalised"):
        gfscore.audit(net, loader, **RADII)
    with pytest.raises(gfscore.GFScoreError, match="They look normalised, and would be again"):
        gfscore.audit(net, loader, preset="mnist")
    assert "no_pixels" in [flag.code for flag in gfscore.gate(net, loader, rdi=1.25).models[0].flags]


def test_a_session_is_a_model_from_a_file_and_from_bytes():
    onnxruntime = pytest.importorskip("onnxruntime")
    path = next(model.path for model in zoo.models() if model.name == "trades")
    wanted = gfscore.audit("zoo:trades", (PIXELS, CLASSES), **QUICK)
    for given in (str(path), Path(path).read_bytes()):
        session = onnxruntime.InferenceSession(given, providers=["CPUExecutionProvider"])
        assert same(gfscore.audit(session, (PIXELS.transpose(0, 2, 3, 1), CLASSES), **QUICK), wanted)


def test_classifiers_of_scikit_learn_are_models_by_their_own_labels():
    linear, ensemble = pytest.importorskip("sklearn.linear_model"), pytest.importorskip("sklearn.ensemble")
    rows, names = PIXELS.reshape(120, -1), np.array([f"digit {label}" for label in CLASSES])
    logistic = linear.LogisticRegression(max_iter=500).fit(rows, names)
    found = gfscore.audit(logistic, (rows, names), **QUICK)
    wanted = gfscore.audit(logistic.decision_function(rows), CLASSES, class_names=sorted(set(names)), **QUICK)
    assert [entry.name for entry in found.classes] == sorted(set(names))
    assert [entry.score for entry in found.classes] == pytest.approx([entry.score for entry in wanted.classes])
    forest = ensemble.RandomForestClassifier(5, random_state=0).fit(rows, CLASSES)
    assert gfscore.audit(forest, (rows, CLASSES), **QUICK).model.score.probabilities
    assert gfscore.audit(forest, (PIXELS, CLASSES), **QUICK).model.score.probabilities
    two = linear.LogisticRegression().fit(rows, CLASSES > 4)
    assert [entry.name for entry in gfscore.audit(two, (rows, CLASSES > 4), **QUICK).classes] == ["False", "True"]
    with pytest.raises(gfscore.GFScoreError, match="label 'cat' in row 0 is no class that model was fitted on"):
        gfscore.audit(logistic, (rows, ["cat"] * 120))
    with pytest.raises(gfscore.GFScoreError, match=r"LogisticRegression has no classes yet. Call its fit first"):
        gfscore.audit(linear.LogisticRegression(), (rows, CLASSES))


def test_a_pipeline_gets_the_columns_of_a_frame_by_name():
    pandas, pipeline = pytest.importorskip("pandas"), pytest.importorskip("sklearn.pipeline")
    compose, linear = pytest.importorskip("sklearn.compose"), pytest.importorskip("sklearn.linear_model")
    frame = pandas.DataFrame(PIXELS.reshape(120, -1)).add_prefix("p")
    chosen = compose.make_column_transformer(("passthrough", [f"p{column}" for column in range(20, 40)]))
    model = pipeline.make_pipeline(chosen, linear.LogisticRegression(max_iter=300)).fit(frame, CLASSES)
    found = gfscore.audit(model, (frame, pandas.Series(CLASSES)), n_per_class=10, **QUICK)
    assert found.model.samples.n == 100
    assert 0.5 < found.accuracy <= 1


def test_functions_get_images_as_they_were_handed_over():
    seen = []

    def function(images):
        seen.append(images.shape[1:])
        return mean_colours(images)

    for images in (BYTES[:, 0], BYTES.transpose(0, 2, 3, 1), PIXELS, PIXELS.reshape(120, -1)):
        seen.clear()
        found = gfscore.audit(function, (images, CLASSES), **QUICK)
        assert set(seen) == {images.shape[1:]}
        assert (found.model.run is None) == (images.ndim == 2)


def test_several_models_have_names(net):
    found = gfscore.audit({"first": net, "second": mean_colours}, (PIXELS, CLASSES), **QUICK)
    assert [model.name for model in found.models] == ["first", "second"]
    listed = gfscore.audit([net, mean_colours, "zoo:trades"], (PIXELS, CLASSES), **QUICK)
    assert [model.name for model in listed.models] == ["model 1", "model 2", "trades"]
    assert gfscore.audit(net, (PIXELS, CLASSES), name="mine", **QUICK).model.name == "mine"


def test_every_job_takes_a_model_and_data(net):
    data = (PIXELS, CLASSES)
    assert gfscore.gate(net, data, rdi=1.25).verdict.value == "PASS"
    assert gfscore.gate(net, data, wcr=0.01, adaptive=True).models[0].adaptive.used <= 120
    assert gfscore.check(net, data, method="bisection", samples=1).model.claim.tried_on > 0
    words = {"method": "smoothing", "n": 20, "n0": 5, "n_per_class": 2}
    assert gfscore.certify(net, data, **words).model.samples.n == 20
    assert gfscore.audit(net, data, stream=True, **QUICK).accuracy == gfscore.audit(net, data, **QUICK).accuracy


def test_arrays_of_every_kind_are_logits_and_labels(torch):
    logits = 3 * np.eye(3)[np.arange(30) % 3] + np.random.default_rng(0).integers(0, 2, (30, 3))
    labels, pandas = np.arange(30) % 3, pytest.importorskip("pandas")
    extended = pytest.importorskip("ml_dtypes").bfloat16
    tensor = torch.tensor(logits, requires_grad=True)

    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.asarray(logits, dtype=dtype)

    wanted = gfscore.audit(logits, labels, **QUICK)
    for given in (
        tensor,
        tensor.bfloat16(),
        tensor.half(),
        list(tensor),
        tensor.to_sparse(),
        logits.astype(extended),
        logits.tolist(),
        pandas.DataFrame(logits),
        pandas.DataFrame(logits).astype("Int64"),
        Foreign(),
    ):
        assert same(gfscore.audit(given, labels, **QUICK), wanted)
    for classes in (
        torch.tensor(labels),
        [torch.tensor(label) for label in labels],
        pandas.Series(labels),
        pandas.Series(labels, dtype="Int64"),
        labels.tolist(),
        labels.astype(np.float16),
    ):
        assert same(gfscore.audit(logits, classes, **QUICK), wanted)
        assert same(gfscore.audit(logits=logits, labels=classes, **QUICK), wanted)


def test_two_models_are_compared_and_several_calibrated(net, torch, tmp_path, monkeypatch):
    loader = torch.utils.data.DataLoader(list(zip(PIXELS, CLASSES, strict=True)), batch_size=40)
    found = gfscore.compare(net, "zoo:trades", data=loader)
    assert (found.paired, found.n) == (True, 120)
    same_pairs = gfscore.compare((net, (PIXELS, CLASSES)), ("zoo:trades", (PIXELS, CLASSES)))
    assert same_pairs.classes == found.classes
    first, second = (gfscore.samples_of(model, loader) for model in (net, "zoo:trades"))
    by_arrays = gfscore.compare(first.logits, second.logits, labels=CLASSES)
    alone = gfscore.compare(net, "zoo:trades", data=loader, radii="none")  # else robust accuracy has half of the level
    assert [entry.change for entry in by_arrays.classes] == [entry.change for entry in alone.classes]
    audits = [gfscore.audit(model, loader, **QUICK) for model in (net, "zoo:trades")]
    assert not gfscore.compare(*audits).paired
    models = {"net": net, "flat": mean_colours, "trades": "zoo:trades"}
    assert len(gfscore.calibrate(models, "models", data=loader).models) == 3
    half = gfscore.RunOptions(mean=0.5, std=0.5)
    whole = gfscore.calibrate(models, "models", data=loader, run=half)
    assert gfscore.calibrate(models, "models", data=loader, mean=0.5, std=0.5) == whole
    assert gfscore.calibrate(model=models, objective="models", data=loader, mean=0.5, std=0.5) == whole
    monkeypatch.chdir(tmp_path)
    np.savez("test.npz", images=BYTES, labels=CLASSES)
    assert gfscore.compare("zoo:standard", "zoo:trades", data="test.npz", n_per_class=5).n == 50


def test_the_page_runs(net, torch, tmp_path, monkeypatch):
    linear, page = pytest.importorskip("sklearn.linear_model"), Path(__file__).parents[2] / "docs" / "python.md"
    monkeypatch.chdir(tmp_path)
    rows, three = PIXELS.reshape(120, -1), np.arange(300) % 3
    names = {
        "net": net,
        "loader": torch.utils.data.DataLoader(list(zip(PIXELS, CLASSES, strict=True)), batch_size=40),
        "images": PIXELS,
        "labels": CLASSES,
        "rows": rows,
        "classifier": linear.LogisticRegression(max_iter=300).fit(rows, CLASSES),
        "logits": gfscore.samples_of(net, (PIXELS, CLASSES)).logits,
    }
    blocks = re.findall(r"<!-- one call -->\n\n```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    exec(blocks[0], names)
    names |= {"labels": three, "logits": RNG.normal(0, 1, (300, 3)) + 2 * np.eye(3)[three]}
    exec(blocks[1], names)
    assert Path("report.html").stat().st_size > 1000


def test_labels_in_a_column_are_labels(net):
    """As Keras has them: (N, 1)."""
    found = gfscore.audit(net, (PIXELS, CLASSES[:, None]), **QUICK)
    assert found.accuracy == gfscore.audit(net, (PIXELS, CLASSES), **QUICK).accuracy


def test_a_class_shows_itself_in_a_line(net):
    found = gfscore.audit(net, (PIXELS, CLASSES), **QUICK)
    entry = found.classes[0]
    assert repr(entry).startswith(f"{entry.name}: {entry.n} samples; accuracy {100 * entry.accuracy:.1f} %; ")
    assert str(entry) == repr(entry)
    assert "\n" not in repr(entry)
    assert len(repr(entry)) < 200
