"""Models of RobustBench by data set, threat model and name; they normalise images themselves."""

import argparse
import contextlib
import difflib
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

from gfscore.errors import FileError, OptionError, first_line, require
from gfscore.inputs.models.shims import no_deprecations, stand_in_for_autoattack, torch_for
from gfscore.inputs.models.torch_files import refused_pickle
from gfscore.inputs.models.torch_model import TorchModel, wrap_module
from gfscore.names import listing

PURPOSE = "a RobustBench model"
GRAMMAR = "Write robustbench:DATASET/THREAT/NAME, such as robustbench:cifar10/L2/Engstrom2019Robustness."
DEFAULT_FOLDER = Path("models")  # RobustBench's own


def load_robustbench(target: str, *, model_dir: Path | None = None, name: str | None = None) -> TorchModel:
    """``DATASET/THREAT/NAME``, from ``<model_dir>/DATASET/THREAT/NAME.pt``, which RobustBench downloads if it must."""
    parts = target.split("/")
    if len(parts) != 3 or not all(parts):
        raise OptionError(f"model 'robustbench:{target}' is not understood. {GRAMMAR}")
    dataset, threat, model_name = parts
    torch = torch_for(PURPOSE, extra="robustbench")
    stand_in_for_autoattack()
    with no_deprecations():
        zoo = require("robustbench.model_zoo", extra="robustbench", purpose=PURPOSE)
        utils = require("robustbench.utils", extra="robustbench", purpose=PURPOSE)
        _refuse_unknown(zoo, dataset, threat, model_name)
        folder = model_dir or DEFAULT_FOLDER
        file = folder / dataset / threat / f"{model_name}.pt"
        try:
            # What it prints about downloads must not get between our own results.
            with torch.serialization.safe_globals(_harmless()), contextlib.redirect_stdout(sys.stderr):
                module = utils.load_model(model_name, model_dir=folder, dataset=dataset, threat_model=threat)
        except pickle.UnpicklingError as error:
            raise refused_pickle(file).found_in(file) from error
        except Exception as error:  # network, a checkpoint of another model, a damaged one
            if not any(file.parent.glob(f"{file.name}*")):  # an ensemble has several
                message = f"is not there and could not be downloaded ({first_line(error)}). Put the checkpoint there."
            else:
                message = f"cannot be loaded as {model_name} ({first_line(error)}). Download it again."
            raise FileError(message).found_in(file) from error
    return wrap_module(module.eval(), name=name or model_name)


def _refuse_unknown(zoo: Any, dataset: str, threat: str, model_name: str) -> None:
    known = {
        kind.value: {threat.value: sorted(models) for threat, models in by_threat.items()}
        for kind, by_threat in zoo.model_dicts.items()
    }
    spec = f"robustbench:{dataset}/{threat}/{model_name}"
    if dataset not in known:
        raise OptionError(f"model {spec!r}: RobustBench has no data set {dataset!r}. It has {listing(sorted(known))}.")
    if threat not in known[dataset]:
        threats = listing(sorted(known[dataset]))
        raise OptionError(f"model {spec!r}: RobustBench has no {threat!r} for {dataset}. It has {threats}.")
    if model_name not in known[dataset][threat]:
        similar = difflib.get_close_matches(model_name, known[dataset][threat], n=4, cutoff=0.5)
        names = listing(similar or known[dataset][threat], most=4)
        raise OptionError(f"model {spec!r}: RobustBench has no such model for {dataset}/{threat}. It has {names}.")


def _harmless() -> list[Any]:
    """What training scripts left in the checkpoints besides weights: numbers and options, which run no code."""
    scalar, array = np.float64(0).__reduce__()[0], np.zeros(1).__reduce__()[0]  # how numpy pickles the two
    kinds = {type(np.dtype(kind)) for kind in (np.float16, np.float32, np.float64, np.int32, np.int64, np.bool_)}
    renamed = [
        (scalar, "numpy.core.multiarray.scalar"),
        (array, "numpy.core.multiarray._reconstruct"),
    ]  # before numpy 2
    return [argparse.Namespace, np.dtype, np.ndarray, scalar, array, *kinds, *renamed]
