"""torchmetrics: equal to the core however the batches fall, and summed over two real processes."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gfscore

pytest.importorskip("gfscore.integrations.torch_metrics", exc_type=ImportError)
from gfscore.errors import OptionError
from gfscore.integrations.torch_metrics import NRGC, RDI, WCR, ClassScores, FPGreat, GreatScore, torch

ROOT = Path(__file__).parents[2]
WORKER = """
import os, sys
from gfscore.integrations.torch_metrics import RDI, WCR, ClassScores, GreatScore, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def work(rank, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Linear(4, 3))
    inputs, labels = torch.randn(90, 4), torch.arange(90) % 3
    rows = slice(0, 20) if rank == 0 else slice(20, 90)  # unequal shares
    metrics = [kind(num_classes=3) for kind in (ClassScores, GreatScore, WCR, RDI)]
    alone = [kind(num_classes=3, sync_on_compute=False) for kind in (ClassScores, GreatScore, WCR, RDI)]
    with torch.no_grad():
        for metric, whole in zip(metrics, alone):
            metric.update(model(inputs[rows]), labels[rows])
            whole.update(model.module(inputs), labels)
    assert metrics[0].counts.sum() == len(inputs[rows]), "before it is joined"
    for metric, whole in zip(metrics, alone):
        torch.testing.assert_close(metric.compute(), whole.compute(), rtol=1e-12, atol=0)
    assert metrics[0].counts.sum() == len(inputs[rows]), "the local state is back"
    print(f"joined-{rank} ", end="", flush=True)  # one write: two processes share the pipe
    dist.barrier()
    os._exit(0)  # where a group ends, torch 2.13 may wait for ever: for a thread that waits for Python's lock

if __name__ == "__main__":
    torch.multiprocessing.start_processes(work, args=(int(sys.argv[1]),), nprocs=2, start_method="fork")
"""


@pytest.fixture(scope="module")
def data():
    """Five classes, of which the last has no sample, in an order that leaves classes out of batches."""
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, 4, 200))
    logits = (rng.normal(0, 1, (200, 5)) + np.arange(1, 6)[labels, None] * np.eye(5)[labels]).astype(np.float32)
    return torch.from_numpy(logits), torch.from_numpy(labels)


@pytest.mark.parametrize("size", [7, 64, 200])
def test_batches_add_up_to_the_core(data, size):
    logits, labels = data
    audit = gfscore.audit(logits.numpy(), labels.numpy())
    expected = {
        GreatScore: audit.aggregate,
        WCR: audit.wcr.value,
        RDI: audit.rdi.value,
        NRGC: audit.nrgc.value,
        FPGreat: audit.fp_great.value,
        ClassScores: [*(entry.score for entry in audit.classes), np.nan],
    }
    for kind, value in expected.items():
        metric = kind(num_classes=5)
        for start in range(0, len(labels), size):
            metric(logits[start : start + size], labels[start : start + size])  # forward: of the batch, and added
        np.testing.assert_allclose(metric.compute().numpy(), value, rtol=1e-12)
        metric.reset()
        assert metric.counts.sum() == 0


def test_temperature_activation_and_probabilities_reach_the_core(data):
    logits, labels = data
    hot = WCR(num_classes=5, temperature=2.0, activation="sigmoid")
    expected = gfscore.audit(logits.numpy(), labels.numpy(), temperature=2.0, activation="sigmoid").wcr.value
    assert hot(logits, labels).item() == pytest.approx(expected, rel=1e-12)
    plain, given = WCR(num_classes=5), WCR(num_classes=5, probabilities=True)
    assert given(logits.softmax(1), labels).item() == pytest.approx(plain(logits, labels).item(), rel=1e-5)  # float32


def test_a_collection_shares_one_update(data):
    from torchmetrics import MetricCollection

    metrics = MetricCollection([WCR(num_classes=5), RDI(num_classes=5), NRGC(num_classes=5)])
    for _ in range(2):  # the first finds out that their states are the same
        metrics.update(*data)
    assert len(metrics.compute_groups) == 1
    single = RDI(num_classes=5)
    single.update(*data)
    assert metrics.compute()["RDI"].item() == pytest.approx(single.compute().item(), rel=1e-12)


def test_what_does_not_exist_is_nan_and_what_is_wrong_is_said():
    one_class = torch.tensor([[2.0, 0.0], [1.0, 0.0]]), torch.tensor([0, 0])
    assert WCR(num_classes=2)(*one_class).isnan()
    wrong = torch.tensor([[0.0, 2.0], [1.0, 0.0]]), torch.tensor([0, 1])
    assert NRGC(num_classes=2)(*wrong).isnan(), "all scores are 0"
    with pytest.raises(OptionError, match="2 columns; the metric was made for 3"):
        WCR(num_classes=3)(*one_class)
    with pytest.raises(OptionError, match="at least two"):
        WCR(num_classes=1)


def test_two_processes_are_joined(tmp_path):
    """Under DistributedDataParallel, gloo on the loopback: each process sees a part, both compute the whole."""
    (tmp_path / "worker.py").write_text(WORKER)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "worker.py", str(port)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(done.stdout.split()) == ["joined-0", "joined-1"]
