"""What three people meet first, from a fresh default install, in terminals of 80 columns.

The engineer has an ONNX file and a CI, the auditor a vendor's table; both have the default install, in which neither
torch nor pandas nor pyarrow can be imported. The student, with a torch module, is in ``test_notebook.py``, and here in
short. The quick walks hide the extras of this environment; the long ones install the package into a new one.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from terminals import executed

ROOT = Path(__file__).parents[2]
EXTRAS = ("torch", "pandas", "pyarrow", "onnx", "onnx2torch", "sklearn", "streamlit", "ray", "timm", "transformers")
COLUMNS = 80
NAMES = ("cat", "dog", "horse")


class Shell:
    """Runs gfscore as a person does, and looks whether the screen is whole."""

    def __init__(self, command, folder, *, is_fresh):
        self.command, self.folder, self.is_fresh = command, folder, is_fresh
        self.environment = {"PYTHONPATH": ""} if is_fresh else {}

    def __call__(self, *arguments, code=0):
        store = str(self.folder / "store")
        seen = executed([*self.command, *arguments], self.folder, COLUMNS, GFSCORE_STORE=store, **self.environment)
        left = [line.rstrip() for line in seen.left]
        screen = "\n".join(left)
        assert seen.code == code, screen
        assert "Traceback" not in seen.raw
        assert "…" not in screen  # nothing is cut
        wide = [line for line in left if len(line) > COLUMNS]
        assert [
            line for line in wide if not line.startswith("gfscore: ")
        ] == []  # a refusal is one line, to be searched for
        return screen


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory):
    """The command of this environment, in which the extras are as if they were not there."""
    folder = tmp_path_factory.mktemp("default-install")
    hidden = f"import sys\nfor name in {EXTRAS!r}:\n    sys.modules[name] = None\n"
    (folder / "gfscore").write_text(f"{hidden}from gfscore.__main__ import main\nsys.exit(main())\n")
    return [sys.executable, str(folder / "gfscore")]


@pytest.fixture(scope="session")
def fresh_install(tmp_path_factory):
    """The command of a new environment with nothing but the package and what it needs."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*install, "-c", "constraints.txt", "."], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0 and "No matching distribution" in done.stderr:
        pytest.skip("no index of packages here")
    assert done.returncode == 0, done.stderr[-2000:]
    for name in EXTRAS:
        assert subprocess.run([str(folder / "bin" / "python"), "-c", f"import {name}"], capture_output=True).returncode
    return [str(folder / "bin" / "gfscore")]


@pytest.fixture(params=["quick", pytest.param("fresh", marks=pytest.mark.long)])
def shell(request, tmp_path):
    if request.param == "quick":
        return Shell(request.getfixturevalue("without_extras"), tmp_path, is_fresh=False)
    return Shell(request.getfixturevalue("fresh_install"), tmp_path, is_fresh=True)


def bring_network(realdata, folder, n, name="cifar_resnet20"):
    with np.load(realdata / "cifar10_test.npz") as file:
        np.savez(folder / "images.npz", images=file["images"][:n], labels=file["labels"][:n])
    (folder / "net.onnx").write_bytes((realdata / "models" / f"{name}.onnx").read_bytes())


def test_an_engineer_with_an_onnx_file_goes_from_init_to_a_verdict(shell, realdata):
    name, least = ("cifar_resnet20", "0.3@2/255") if shell.is_fresh else ("cifar_sgd_8px", "0.5@2/255")
    bring_network(realdata, shell.folder, 300, name)
    said = shell("init", "net.onnx", "images.npz")
    assert "Written: gfscore.toml" in said
    assert re.search(r'^preset = "\w+"$', (shell.folder / "gfscore.toml").read_text(), re.MULTILINE)

    said = shell("audit", "--config", "gfscore.toml", "--class-names", "cifar10", "--radii", "5")
    flat = " ".join(said.split())
    assert flat.index("Accuracy under attack") < flat.index("worst class (WCR)")
    assert "An estimate, no bound: attacks may leave less or more" in flat
    assert {"airplane", "automobile", "truck"} <= set(re.findall(r"^(\w+)  ", said, re.MULTILINE))

    gate = ("gate", "--config", "gfscore.toml")
    assert "FAIL  net" in shell(*gate, "--radii", "5", "--robust-accuracy", least, code=1)
    assert "PASS  net" in shell(*gate, "--radii", "5", "--robust-accuracy", "0.02@0.5/255")
    assert "UNDECIDED  net" in shell(*gate, "--radii", "5", "--robust-accuracy", "0.5@0.5/255", code=3)
    assert "gfscore: " in shell(*gate, "--robust-accuracy", "30@2/255", code=2)


def test_an_engineer_who_forgets_the_normalisation_is_told(shell, realdata):
    bring_network(realdata, shell.folder, 200)
    said = " ".join(shell("audit", "--model", "net.onnx", "--data", "images.npz", "--radii", "none").split())
    assert re.search(r"with --preset (imagenet|cifar10)", said)


def vendor_table(path):
    rng = np.random.default_rng(7)
    labels = np.arange(450) % 3
    logits = rng.normal(0, 1, (450, 3))
    logits[np.arange(450), labels] += np.array([1.0, 2.2, 3.4])[labels]
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rows = ["image_id;true_label;" + ";".join(f"prob_{name}" for name in NAMES)]
    for number, (label, values) in enumerate(zip(labels, shares, strict=True)):
        numbers = (f"{value:.4f}".replace(".", ",") for value in values)
        rows.append(";".join((str(1000 + number), NAMES[label], *numbers)))
    path.write_text("\n".join(rows) + "\n")


def test_an_auditor_with_a_table_goes_from_a_refusal_to_a_page(shell):
    vendor_table(shell.folder / "vendor.csv")
    refused = " ".join(shell("audit", "vendor.csv", code=2).split())
    assert "--ignore-columns image_id" in refused
    table = ("vendor.csv", "--ignore-columns", "image_id")
    assert "--probabilities" in shell("audit", *table, code=2)

    said = shell("audit", *table, "--probabilities")
    assert re.findall(r"^(\w+) +150 ", said, re.MULTILINE) == list(NAMES)
    assert "Not a certificate." in said
    assert "robust accuracy" not in said  # probabilities do not tell it

    assert "Written: vendor.html" in shell("report", "gfscore-audit/audit.json", "--out", "vendor.html")
    page = (shell.folder / "vendor.html").read_text(encoding="utf-8")
    assert all(name in page for name in NAMES)
    assert not re.search(r"""(src|href)=["']https?://""", page)  # it opens offline


STUDENT = """
import numpy as np, torch, gfscore
from torch.utils.data import DataLoader, TensorDataset
from gfscore import zoo
digits = zoo.test_set()
images, labels = torch.from_numpy(digits.images).float(), torch.from_numpy(digits.labels).long()
centres = torch.stack([images[labels == digit].mean(0).flatten() for digit in range(10)])
net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))
with torch.no_grad():  # to the nearest mean digit
    net[1].weight.copy_(8 * centres)
    net[1].bias.copy_(-4 * (centres**2).sum(1))
result = gfscore.audit(net, DataLoader(TensorDataset(images, labels), batch_size=64), eps=0.05, n_per_class=20)
print(result)
print(result.gate(robust_accuracy="0.99@0.05"))
"""


def test_a_student_audits_a_torch_module_on_a_loader_in_one_call(tmp_path):
    pytest.importorskip("torch")
    environment = {"GFSCORE_STORE": str(tmp_path / "store"), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    seen = executed([sys.executable, "-c", STUDENT], tmp_path, COLUMNS, **environment)
    assert seen.code == 0, seen.raw
    assert "Traceback" not in seen.raw
    assert "robust accuracy" in seen.text
    assert "FAIL model" in seen.text
    assert "estimated by radii" in seen.text
