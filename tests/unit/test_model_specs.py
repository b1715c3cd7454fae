"""The grammar of model specs, and the one line for every spec that is wrong."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gfscore
from gfscore import zoo
from gfscore.errors import FileError, InvalidInputError, MissingExtraError, ModelError, OptionError
from gfscore.inputs.model_specs import KEYS, join_spec, split_spec
from gfscore.inputs.models import CallableModel, load_model
from gfscore.inputs.models.fingerprints import hash_texts

WRONG_SPECS = {
    "": "the model is an empty text. Give a path or a spec such as timm:NAME.",
    "keras:resnet": "model 'keras:resnet' begins with no known kind. "
    "Give a path, or one of torch:, timm:, hf:, robustbench:, zoo:.",
    "timm:": "model 'timm:' names nothing. Write what follows timm:, as in docs/models.md.",
    "timm:?checkpoint=a.pt": "model 'timm:?checkpoint=a.pt' is not understood. "
    "Write timm:NAME or timm:NAME?checkpoint=FILE.",
    "timm:resnet18?weights=a.pt": "model 'timm:resnet18?weights=a.pt' is not understood. "
    "Write timm:NAME or timm:NAME?checkpoint=FILE.",
    "torch:package": "model 'torch:package' does not name a factory. Write torch:package.module:factory.",
    "torch:a-b:make": "model 'torch:a-b:make' does not name a factory. Write torch:package.module:factory.",
    "hf:a/b/c": "model 'hf:a/b/c' is not understood. Write hf:ORG/NAME, or hf:./folder.",
    "hf:./nowhere": "./nowhere: is not a folder. Check the path, or write hf:ORG/NAME for the hub.",
    "robustbench:cifar10/Standard": "model 'robustbench:cifar10/Standard' is not understood. "
    "Write robustbench:DATASET/THREAT/NAME, such as robustbench:cifar10/L2/Engstrom2019Robustness.",
    "nowhere.onnx": "nowhere.onnx: does not exist. Check the path.",
    "C:/nets/nowhere.onnx": "C:/nets/nowhere.onnx: does not exist. Check the path.",  # Windows
    "C:\\nets\\nowhere.onnx": "C:\\nets\\nowhere.onnx: does not exist. Check the path.",
    "folder": "folder: is a directory. Name a file.",
    "empty.onnx": "empty.onnx: is empty (0 bytes). Write it again.",
    "text.onnx": "text.onnx: is not an ONNX file, or is cut short. Export it again.",
    "net.h5": "net.h5: has the ending '.h5'. Models are .onnx, .pt2 or .torchscript; export others to ONNX.",
    "net.pt": "net.pt: has the ending '.pt', which does not say what it is. Say --model-format torchscript "
    "(format='torchscript') if it is that; weights alone need their network: torch:module:factory.",
    "net.pt2": "net.pt2: is a torch.export program, which can run code. "
    "Say --trust-model (trust=True) if you trust who made it, or give ONNX.",
    "net.torchscript": "net.torchscript: is TorchScript, which can run code. "
    "Say --trust-model (trust=True) if you trust who made it, or give ONNX.",
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with files that are no models."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.onnx").touch()
    for name in ("text.onnx", "net.h5", "net.pt", "net.pt2", "net.torchscript"):
        (tmp_path / name).write_text("not a model")
    return tmp_path


@pytest.mark.parametrize("spec", WRONG_SPECS)
def test_a_wrong_spec_is_refused_in_one_line(spec, here):
    with pytest.raises(InvalidInputError) as caught:
        load_model(spec)
    assert str(caught.value) == WRONG_SPECS[spec]
    assert isinstance(caught.value, OptionError | FileError)


def test_an_unknown_format_is_refused(here):
    with pytest.raises(OptionError, match=r"^format 'keras' is not known. Choose onnx, torchscript or pt2.$"):
        load_model("net.pt", format="keras")


def test_the_format_goes_before_the_ending(here):
    with pytest.raises(FileError, match=r"^net.pt: is TorchScript, which can run code."):
        load_model("net.pt", format="torchscript")


def test_a_path_with_a_colon_is_a_path_when_it_exists(here):
    (here / "run:3.onnx").write_text("not a model")
    with pytest.raises(FileError, match=r"^run:3.onnx: is not an ONNX file"):
        load_model("run:3.onnx")


def test_a_model_of_the_zoo_by_name():
    known = zoo.models()[0]
    model = load_model(f"zoo:{known.name}")
    digits = zoo.test_set()
    correct = model(digits.images).argmax(axis=1) == digits.labels
    assert model.name == known.name
    assert correct.mean() == pytest.approx(known.clean_accuracy)


def test_a_name_that_is_not_in_the_zoo_is_told_what_is():
    with pytest.raises(OptionError, match=r"^model 'zoo:big' is not in the zoo. It has .*'standard'.*\.$"):
        load_model("zoo:big")


@pytest.mark.parametrize(
    ("spec", "missing", "purpose"),
    [
        ("torch:m:f", "torch", "the model 'torch:m:f'"),
        ("timm:resnet18", "timm", "a timm model"),
        ("hf:a/b", "transformers", "a Hugging Face model"),
        ("robustbench:cifar10/L2/x", "robustbench", "a RobustBench model"),
    ],
)
def test_a_missing_extra_is_named(spec, missing, purpose, monkeypatch):
    if missing != "torch":
        pytest.importorskip("torch")
        pytest.importorskip("pyautoattack")
    for module in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)  # as if it were not there
    with pytest.raises(MissingExtraError) as caught:
        load_model(spec)
    assert str(caught.value) == (
        f"{purpose} needs {missing}, which is not installed. Run: pip install 'gfscore[{missing}]'"
    )


def test_no_runtime_is_imported_before_a_model_needs_it(tmp_path):
    code = "import sys, gfscore.inputs.models; print([m for m in ('onnxruntime', 'torch', 'timm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.strip() == "[]"


def test_a_callable_is_a_model():
    model = CallableModel(lambda images: images.sum(axis=(2, 3)), name="sums", layout="NCHW")
    images = np.random.default_rng(0).random((5, 4, 3, 3), dtype=np.float32)
    np.testing.assert_array_equal(model(images), images.sum(axis=(2, 3)))
    assert (model.name, model.fingerprint, model.fixed_batch) == ("sums", None, None)


def test_a_callable_with_a_fixed_batch_always_sees_that_many_rows():
    seen = []

    def function(rows):
        seen.append(rows.copy())
        return rows

    model = CallableModel(function, name="rows", fixed_batch=4)
    rows = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.testing.assert_array_equal(model(rows), rows)
    np.testing.assert_array_equal(seen[0], [[0, 1], [2, 3], [4, 5], [4, 5]])
    with pytest.raises(ModelError, match=r"^rows: takes batches of 4 and was given 5 rows. Give it 4 at a time.$"):
        model(np.zeros((5, 2), np.float32))


def test_fingerprints_tell_parts_apart():
    assert len({hash_texts("ab", "c"), hash_texts("a", "bc"), hash_texts("abc"), hash_texts("c", "ab")}) == 4


TINY = {"data": "zoo:digits", "n_per_class": 3, "permutations": 0}


class TestQueries:
    """What follows a question mark is about one model."""

    def test_it_is_what_the_words_for_all_would_be(self):
        by_query = gfscore.audit(model="zoo:standard?mean=0.2&std=0.5", **TINY).model
        by_words = gfscore.audit(model="zoo:standard", mean="0.2", std="0.5", **TINY).model
        assert by_query == by_words
        assert (by_query.name, by_query.run.preprocessing.mean) == ("standard", (0.2,))

    def test_each_model_has_its_own_and_the_others_what_is_said_for_all(self):
        models = ["zoo:standard?preset=HALF", "zoo:trades", "zoo:noise?range=0,1&name=my%20net"]
        found = gfscore.audit(model=models, mean="0.2", std="0.5", **TINY).models
        assert [(each.name, each.run.preprocessing.mean) for each in found] == [
            ("standard", (0.5,)),
            ("trades", (0.2,)),
            ("my net", (0.2,)),
        ]
        assert found[2].run.preprocessing.value_range == (0.0, 1.0)

    def test_one_network_twice_has_two_names(self):
        models = ["zoo:standard", "zoo:standard?preset=half", "zoo:standard?preset=mnist"]
        names = [each.name for each in gfscore.audit(model=models, **TINY).models]
        assert names == ["standard", "standard (preset=half)", "standard (preset=mnist)"]

    @pytest.mark.parametrize("more", [{"adaptive": True}, {}])
    def test_gates_take_it(self, more):
        run = {"data": "zoo:digits", "rdi" if not more else "wcr": 0.9 if not more else 0.001, **more}
        found = gfscore.gate(model="zoo:trades?mean=0.1&std=1", **run).models[0]
        assert found.name == "trades"

    def test_streams_and_certificates_take_it(self):
        words = {"model": "zoo:trades?mean=0.1&std=1", "data": "zoo:digits", "n_per_class": 3}
        streamed = gfscore.audit(**words, stream=True).model
        certified = gfscore.certify(**words, method="smoothing", sigma=0.25, n0=10, n=20).model
        assert streamed.run.preprocessing.mean == certified.run.preprocessing.mean == (0.1,)

    def test_a_file_that_is_there_has_no_query(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        standard = next(model.path for model in zoo.models() if model.name == "standard")
        Path("net?preset=half.onnx").write_bytes(standard.read_bytes())
        assert gfscore.audit(model="net?preset=half.onnx", **TINY).model.run.preprocessing.mean == (0.0,)

    def test_arrays_are_preprocessed_too(self):
        images, labels, _ = zoo.test_set()
        found = gfscore.audit("zoo:standard?preset=half", (images.astype(np.float32), labels), permutations=0)
        assert found.model.run.preprocessing.mean == (0.5,)

    @given(
        words=st.dictionaries(
            st.sampled_from([key for key in KEYS if key != "grey"]), st.text("a0.,&?%=+ é/", min_size=1), min_size=1
        )
    )
    def test_what_is_joined_is_split_again(self, words):
        assert split_spec(join_spec("folder/net.onnx", words)) == ("folder/net.onnx", words)
        assert split_spec(join_spec("timm:vit?checkpoint=a.pt", words)) == ("timm:vit?checkpoint=a.pt", words)


QUERIES = {
    "presett=half": "says 'presett' after the ?, which is no word of a model. Did you mean 'preset'?",
    "zzz=1": "says 'zzz' after the ?, which is no word of a model. There are preset, mean, std, layout, resize, crop, "
    "interpolation, grey, range, name, output, format.",
    "half": "names no word after the ?. Write net.onnx?preset=half.",
    "": "has an empty word after the ?. Write net.onnx?preset=cifar10, or leave it out.",
    "preset=half&": "has an empty word after the ?. Write net.onnx?preset=cifar10, or leave it out.",
    "mean=": "gives mean no value. Write mean=VALUE.",
    "mean=0.1&mean=0.2": "says mean twice. Say it once.",
    "mean=50%": "has a % that begins no escape. Write %25 for it, %26 for & and %3F for ?.",
    "name=%ff": "has an escape that is no UTF-8 text. Write the letters themselves.",
    "grey=maybe": "has grey=maybe. Write grey=true or grey=false.",
}


@pytest.mark.parametrize("query", QUERIES)
def test_wrong_queries(query):
    with pytest.raises(OptionError) as caught:
        split_spec(f"net.onnx?{query}")
    assert str(caught.value) == f"model 'net.onnx?{query}' {QUERIES[query]}"


def test_a_query_of_an_address_is_ours_when_it_has_a_word_of_ours():
    assert split_spec("s3://b/net.onnx?preset=half") == ("s3://b/net.onnx", {"preset": "half"})
    signed = "s3://b/net.onnx?X-Amz-Signature=abc"
    assert split_spec(signed) == (signed, {})
    with pytest.raises(OptionError) as caught:
        split_spec(f"{signed}&preset=half")
    assert "abc" not in str(caught.value)
