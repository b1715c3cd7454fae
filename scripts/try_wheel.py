"""Install a wheel or an sdist into fresh environments and use it there; print what came of each as a row of a table.

``python scripts/try_wheel.py dist/gfscore-0.1.0-py3-none-any.whl [--python python3.13] [default newest oldest EXTRA]``

``default`` is the package alone as ``constraints.txt`` holds it, ``newest`` without constraints, ``oldest`` with the
lower bounds of ``scripts/oldest.py``: there every command runs in a terminal (``scripts/smoke.py``). The name of an
extra installs the package with it, held by ``constraints.txt``, and does one thing that needs the extra;
``extras-without-torch`` and ``extras-with-torch`` are all of a kind. Without a name all of them are tried.
Environments are made one after the other and removed; what went wrong is printed below its row.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import tomllib
from collections.abc import Iterable
from pathlib import Path

from oldest import PROJECT, oldest

ROOT = PROJECT.parent
DIGITS = "--data zoo:digits --n-per-class 8 --store store"
SHIMS = "from gfscore.inputs.models.shims import stand_in_for_autoattack, torch_for\ntorch = torch_for('this')\n"
IMAGES = "import numpy as np\nimages, labels = np.random.default_rng(0).random((60, 1, 8, 8)), np.arange(60) % 10\n"
# Words of gfscore, an example, or a program: each ends with 0 where the extra is there and does its work.
TRIES = {
    "tables": "import pandas, gfscore\n"
    "pandas.DataFrame({'label': [0, 1] * 20, 'a': [1.0, 0] * 20, 'b': [0, 2.0] * 20}).to_parquet('t.parquet')\n"
    "print(gfscore.audit('t.parquet').to_frame())",
    "torch": "import torch, gfscore\nnet = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 10))\n"
    f"{IMAGES}print(gfscore.audit(net, (images, labels)))",
    "onnx": f"gfscore certify --method lipschitz --model zoo:standard {DIGITS}",
    "gradients": f"gfscore audit --model zoo:trades {DIGITS} --gradients yes --radii 4",
    "repair": "gfscore repair zoo:trades --data generator:zoo --n-per-class 60 --method at --epochs 1 --store store",
    "attacks": f"gfscore check --model zoo:trades {DIGITS} --autoattack --norm linf --eps 2/255 --samples 2",
    "timm": f"{SHIMS}import timm, gfscore.inputs.models as models\n"
    "torch.save(timm.create_model('resnet10t', num_classes=7).state_dict(), 'net.pt')\n"
    "print(models.load_model('timm:resnet10t?checkpoint=net.pt').name)",
    "transformers": f"{SHIMS}import transformers, gfscore.inputs.models as models\n"
    "config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=5)\n"
    "transformers.ResNetForImageClassification(config).save_pretrained('net')\n"
    "transformers.ConvNextImageProcessor(size={'shortest_edge': 32}, crop_pct=0.875).save_pretrained('net')\n"
    "print(models.load_model('hf:./net').name)",
    "dashboard": """
        import subprocess, sys, time, urllib.request
        page = subprocess.Popen([sys.executable, "-m", "gfscore", "dashboard", "--port", "8599"])
        for left in reversed(range(120)):
            time.sleep(0.5)
            try:
                print(urllib.request.urlopen("http://127.0.0.1:8599/_stcore/health").read())
                break
            except OSError:
                if not left:
                    raise
        page.terminate()
    """,
    "pytest": "example test_release.py",
    "sklearn": "example sklearn_selection.py",
    "torchmetrics": "example torchmetrics_validation.py",
    "mlflow": "example mlflow_logging.py",
    "wandb": "example wandb_logging.py",
    # No cloud is reached here: its client is made, as when an address of it is given.
    "s3": "from gfscore.storage.object_stores import file_system\nprint(file_system('s3'))",
    "gs": "import gcsfs\nprint(gcsfs.GCSFileSystem(token='anon'))",
    "ray": f"gfscore audit --model zoo:trades --model zoo:awp {DIGITS} --engine ray --workers 2",
    "robustbench": f"{SHIMS}stand_in_for_autoattack()\n"
    "from robustbench.model_zoo import model_dicts\nimport gfscore.inputs.models as models, pathlib\n"
    "cifar10 = next(found for data, found in model_dicts.items() if data.value == 'cifar10')\n"
    "l2 = next(found for threat, found in cifar10.items() if threat.value == 'L2')\n"
    "pathlib.Path('models/cifar10/L2').mkdir(parents=True)\n"
    "torch.save(l2['Sehwag2021Proxy_R18']['model']().state_dict(), 'models/cifar10/L2/Sehwag2021Proxy_R18.pt')\n"
    "print(models.load_model('robustbench:cifar10/L2/Sehwag2021Proxy_R18').name)",
}
WHOLE = ("default", "newest", "oldest")  # settings in which every command is run
PROGRAMS, ENDING = ("Scripts", ".exe") if sys.platform == "win32" else ("bin", "")  # of an environment
PROJECT_TABLE = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
KINDS = ("extras-without-torch", "extras-with-torch")


def needs_torch(extra: str) -> bool:
    """Whether an extra asks for torch, which not every Python has, and which is large.

    >>> needs_torch("timm"), needs_torch("dashboard")
    (True, False)
    """
    return any(each.startswith("torch>=") for each in PROJECT_TABLE["optional-dependencies"][extra])


def chosen(names: Iterable[str]) -> list[str]:
    """Settings by their names, or by what kind they are of.

    >>> chosen(["default", "extras-with-torch"])[:3]
    ['default', 'torch', 'gradients']
    """
    found: list[str] = []
    for name in names:
        found += [each for each in TRIES if needs_torch(each) == (name == KINDS[1])] if name in KINDS else [name]
    return found


def arguments_of_pip(wheel: Path, setting: str, work: Path) -> list[str]:
    """What pip installs for a setting, and what it is held to."""
    if setting == "newest":
        return [str(wheel)]
    held = ROOT / "constraints.txt"
    if setting == "oldest":
        held = work / "oldest.txt"
        held.write_text("\n".join(oldest(PROJECT_TABLE, [])))
    return ["-c", str(held), str(wheel) if setting in WHOLE else f"{wheel}[{setting}]"]


def command_of(setting: str, place: Path, work: Path) -> list[str]:
    """What is run in an environment whose programs are in ``place``."""
    python, program = (str(place / f"{name}{ENDING}") for name in ("python", "gfscore"))
    if setting in WHOLE:
        return [python, str(ROOT / "scripts" / "smoke.py"), program]
    tried = TRIES[setting]
    if tried.startswith("gfscore "):
        return [program, *tried.split()[1:]]
    if tried.startswith("example "):
        shutil.copy(ROOT / "examples" / tried.split()[1], work)
        return [python, *(["-m", "pytest", "-q"] if setting == "pytest" else []), tried.split()[1]]
    return [python, "-c", textwrap.dedent(tried)]


def try_out(python: str, wheel: Path, setting: str) -> bool:
    """Make an environment, install, run, and print the row; whether all went well."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        work = Path(folder)
        place = work / "env" / PROGRAMS
        own = str(place / f"python{ENDING}")
        steps = {
            "environment": [python, "-m", "venv", str(work / "env")],
            "install": [own, "-m", "pip", "install", "-q", *arguments_of_pip(wheel, setting, work)],
            "pip check": [own, "-m", "pip", "check"],
            "use": command_of(setting, place, work),
        }
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**clean, "HF_HUB_OFFLINE": "1", "WANDB_MODE": "offline"}
        for name, words in steps.items():
            done = subprocess.run(
                words,
                cwd=work,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
            fine = (0, 3) if (setting, name) == ("repair", "use") else (0,)  # 3: no gain, as so little training has
            if done.returncode not in fine:
                said = [line for line in done.stdout.splitlines() if not line.startswith("WARNING: Location")]
                print(f"| {_version(python)} | {setting} | fails: {name} |", *said[-60:], sep="\n", flush=True)
                return False
        packages = subprocess.check_output([own, "-m", "pip", "list", "--format=freeze"], text=True)
        said = done.stdout.strip().splitlines()[-1] if setting in WHOLE else "works"
        print(f"| {_version(python)} | {setting} | {said}; {len(packages.split())} packages |", flush=True)
    return True


def _version(python: str) -> str:
    return subprocess.check_output([python, "-V"], text=True).split()[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("settings", nargs="*", default=[*WHOLE, *TRIES], metavar="NAME")
    parser.add_argument("--python", default=sys.executable)
    given = parser.parse_intermixed_args()
    if unknown := set(given.settings) - {*WHOLE, *KINDS, *TRIES}:  # argparse's choices would refuse the default list
        parser.error(f"no setting is called {', '.join(sorted(unknown))}")
    print("| Python | installed | result |\n|---|---|---|", flush=True)
    failures = [name for name in chosen(given.settings) if not try_out(given.python, given.wheel.resolve(), name)]
    sys.exit(bool(failures))
