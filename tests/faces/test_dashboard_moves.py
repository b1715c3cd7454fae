"""What the moves of the sliders of the dashboard take, in processor time, and what uploads leave behind in memory."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest
from test_dashboard import npz, opened, samples_of, slider
from test_dashboard_browser import served_process, settled, started, upload

from gfscore.dashboard.controls import TEMPERATURES
from many_models import ASKED, EPS, many_models

SIZES = [(10_000, 10, 0.5), (50_000, 1000, 1.5)]
MOVES = [
    *(("Temperature T", TEMPERATURES[place]) for place in (45, 46, 47, 20)),  # the first of them, too
    ("Error level δ", 0.1),
    ("Error level δ", 0.2),
    ("Temperature T", 1.0),
    ("Error level δ", 0.01),
    ("Fairness weight λ", 1.0),
    ("Threshold τ", 0.5),
]
ROBUST_MOVES = [
    *(("Size of the attack, eps (Linf)", eps) for eps in EPS if eps != ASKED),
    ("Least robust accuracy, %", 30),
    ("Fairness weight λ", 1.0),
]


def processor_seconds(app, moves) -> list[float]:
    """What each move of a slider takes, of all threads together."""
    found = []
    for label, value in moves:
        start = time.process_time()
        slider(app, label).set_value(value).run()
        found.append(time.process_time() - start)
    assert not app.exception
    sys.stdout.write(f"{', '.join(f'{each:.2f}' for each in found)} s a move\n")
    return found


@pytest.mark.long
@pytest.mark.parametrize(("n", "k", "limit"), SIZES)
def test_every_move_is_answered_in_time_the_first_too(tmp_path, n, k, limit):
    rng, labels = np.random.default_rng(0), np.arange(n) % k
    logits = rng.normal(0, 1, (n, k)).astype(np.float32)
    logits[np.arange(n), labels] += rng.normal(4, 1, n)
    np.savez(tmp_path / "net.npz", logits=logits, labels=labels)
    assert max(processor_seconds(opened(tmp_path / "net.npz"), MOVES)) < limit


@pytest.mark.long
@pytest.mark.parametrize(("k", "limit"), [(10, 0.5), (1000, 1.5)])
@pytest.mark.parametrize("tab", ["One model", "Compare models"])
def test_every_move_of_robust_accuracy_is_answered_in_time(tmp_path, k, limit, tab):
    many_models(8 if k == 10 else 3, k, 5).save(tmp_path / "audit.json")
    app = opened(tmp_path)
    app.session_state["tab"] = tab
    app.run()
    assert max(processor_seconds(app, ROBUST_MOVES)) < limit


def megabytes(process) -> float:
    """Memory that a process has in use."""
    (line,) = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_comes_back_after_fifty_uploads(page, tmp_path):
    (tmp_path / "net.npz").write_bytes(npz(samples_of()))
    content = npz(samples_of(n_classes=100, n=100))  # 8 MB
    with served_process(tmp_path, tmp_path / "net.npz") as (url, process):
        started(page, url)
        start, used = megabytes(process.pid), []
        for place in range(50):
            upload(page, {"name": f"up{place}.npz", "mimeType": "", "buffer": content})
            page.get_by_text(f"up{place}: ").first.wait_for()
            settled(page)
            page.get_by_role("button", name=f"Remove up{place}.npz").click()
            page.get_by_text("net: ").first.wait_for()
            settled(page)
            used.append(megabytes(process.pid))
        page.goto("about:blank")  # it would miss the server
    sys.stdout.write(f"{start:.0f} MB at first, {used[4]:.0f} after five uploads, ")
    sys.stdout.write(f"{max(used):.0f} at most, {used[-1]:.0f} after fifty\n")
    assert used[-1] < used[4] + 100  # samples of 360 MB came in between
    assert max(used) < used[4] + 150  # nor were they there on the way
