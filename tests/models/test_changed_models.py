"""A model's file that is replaced while it is opened, or while it runs: never one's numbers under the other's name."""

import numpy as np
import onnx_graphs
import pytest

from gfscore import zoo
from gfscore.cli.main import run
from gfscore.errors import RunError
from gfscore.inputs import generators
from gfscore.inputs.models import load_model, onnx_model
from gfscore.inputs.models.shims import no_deprecations
from gfscore.measures import Logits


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    np.savez("data.npz", images=rng.random((40, 2, 2, 3), dtype=np.float32), labels=np.arange(40) % 5)
    onnx_graphs.linear(tmp_path / "net.onnx")
    onnx_graphs.linear(tmp_path / "other.onnx", head=("Relu",))


def replacing_during(opener, path):
    """The same opener, but another file takes the place of this one as soon as it is open."""

    def opened(*arguments, **options):
        session = opener(*arguments, **options)
        path.with_name("other.onnx").replace(path)
        return session

    return opened


def test_a_graph_replaced_while_it_is_opened_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_model, "open_session", replacing_during(onnx_model.open_session, tmp_path / "net.onnx"))
    with pytest.raises(RunError, match=r"net\.onnx changed while it was read\. Run it again"):
        load_model("net.onnx")


def test_weights_replaced_while_they_are_opened_are_refused(tmp_path, monkeypatch):
    graph = onnx_graphs.with_external_weights(tmp_path / "large.onnx", "large.bin")
    (tmp_path / "large.bin").write_bytes(onnx_graphs.weights().tobytes())
    (tmp_path / "other.onnx").write_bytes((2 * onnx_graphs.weights()).tobytes())
    monkeypatch.setattr(onnx_model, "open_session", replacing_during(onnx_model.open_session, tmp_path / "large.bin"))
    with pytest.raises(RunError, match=r"large\.bin changed while it was read"):
        load_model(graph)


@pytest.mark.parametrize("ending", ["torchscript", "pt2"])
def test_a_torch_file_replaced_while_it_is_opened_is_refused(tmp_path, monkeypatch, ending):
    torch = pytest.importorskip("torch")
    module, example = torch.nn.Flatten(), torch.zeros(2, 3, 2, 2)
    path = tmp_path / f"net.{ending}"
    if ending == "pt2":
        with no_deprecations():
            torch.export.save(torch.export.export(module, (example,)), path)
        where, name = torch.export, "load"
    else:
        with no_deprecations():
            torch.jit.save(torch.jit.trace(module, example), path)
        where, name = torch.jit, "load"
    monkeypatch.setattr(where, name, replacing_during(getattr(where, name), path))
    with pytest.raises(RunError, match="changed while it was read"):
        load_model(path, trust=True)


def test_a_generator_replaced_while_it_is_opened_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "draws.onnx"
    path.write_bytes(zoo.generator().path.read_bytes())
    monkeypatch.setattr(onnx_model, "open_session", replacing_during(onnx_model.open_session, path))
    with pytest.raises(RunError, match=r"draws\.onnx changed while it was read"):
        generators.onnx_generator(path)


def test_a_command_says_so_in_one_line_and_keeps_nothing(tmp_path, monkeypatch, capsys):
    forward = Logits.compute

    def meddling(*arguments):
        (tmp_path / "other.onnx").replace(tmp_path / "net.onnx")
        return forward(*arguments)

    monkeypatch.setattr(Logits, "compute", meddling)
    assert run(["audit", "--model", "net.onnx", "--data", "data.npz", "--store", "store", "-q"]) == 4
    assert capsys.readouterr().err == (
        "gfscore: net.onnx changed while it was read. Run it again, once nobody writes to it: it begins anew.\n"
    )
    assert not list((tmp_path / "store").rglob("shard-*"))
