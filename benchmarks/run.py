"""Speed as ratios, everything side by side in one run, written to ``benchmarks/results.md``: ``make bench``."""

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import numpy as np
import scipy
from rivals import loop, plain, torch_pass, torch_version

from gfscore.samples import Samples
from gfscore.scores import great_scores
from gfscore.temperature import TemperatureCurve, calibrate, temperature_curve
from gfscore.temperature.best_temperature import two_phase_grid
from gfscore.temperature.objectives import ClassAgreement, MeanOverModels, OverModels

GRID = 301  # temperatures of the paper's two grids
REPEATS = 5
LOOPED_ROWS = 2_000  # on which the loop over samples is timed, to be scaled
SHARES = (0.67, 0.95)  # of samples classified correctly: the others need no exponential


def seconds(*functions: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Best of several rounds for each, in turn: what it takes when the machine does nothing else."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(repeats):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


def made_up(n: int, k: int, seed: int = 0, correct: float = 0.67) -> tuple[np.ndarray, np.ndarray]:
    """Float32 logits of a network that is right so often; two times in three, as the paper's robust ImageNet models.

    The lead of the true class is what that share of the samples needs: its logit and the largest other are compared.
    """
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, k, n)
    logits = 2 * rng.standard_normal((n, k), dtype=np.float32)
    rows = np.arange(n)
    own = logits[rows, labels]
    logits[rows, labels] = -np.inf
    logits[rows, labels] = own + np.quantile(logits.max(axis=1) - own, correct)
    return logits, labels


def row(*cells: object) -> str:
    """A row of a Markdown table."""
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def verdict(ratio: float, limit: float, *, least: bool = False) -> str:
    """A ratio beside what is asked of it."""
    met = ratio >= limit if least else ratio <= limit
    return f"{ratio:,.2f}" + (f" ({'≥' if least else '≤'} {limit:g} asked: {'met' if met else '**missed**'})")


def one_temperature(n: int, k: int) -> Iterable[str]:
    """Scoring and the whole curve of one model, softmax."""
    logits, labels = made_up(n, k)
    samples = Samples.of(logits, labels)
    few = min(LOOPED_ROWS, n)
    ours, curve, in_numpy, reading, looped, looped_few = seconds(
        lambda: great_scores(samples),
        lambda: temperature_curve(samples),
        lambda: plain(logits, labels, "softmax"),
        lambda: logits.sum(),
        lambda: loop(logits, labels, "softmax"),
        lambda: loop(logits[:few], labels[:few], "softmax"),
    )
    yield f"## One model, {n:,} × {k:,}, softmax\n"
    yield f"{SHARES[0]:.0%} of the samples are classified correctly. One temperature takes gfscore {ours:.3f} s.\n"
    yield row("ratio", "")
    yield row("---", "--:")
    yield row("scoring at one temperature / reading the logits once (their sum)", f"{ours / reading:.1f}")
    for share in SHARES:
        yield from against_torch(n, k, share)
    yield row("plain NumPy (float64) / scoring at one temperature", f"{in_numpy / ours:.1f}")
    loops = "a loop over samples and classes / scoring at one temperature"
    yield row(f"{loops}, the loop timed on {few:,} rows and scaled", f"{looped_few * n / few / ours:,.1f}")
    yield row(f"{loops}, the loop timed on all rows", f"{looped / ours:,.1f}")
    yield row("the whole curve / plain NumPy at one temperature", verdict(curve / in_numpy, 3))
    yield row("the whole curve / scoring at one temperature", f"{curve / ours:.1f}")
    yield ""


def against_torch(n: int, k: int, correct: float) -> Iterable[str]:
    """Scoring beside torch's softmax alone, for logits of which this share is classified correctly."""
    logits, labels = made_up(n, k, correct=correct)
    samples, in_torch = Samples.of(logits, labels), torch_pass(logits, "softmax")
    if in_torch is None:
        return
    ours, theirs = seconds(lambda: great_scores(samples), in_torch)
    what = f"scoring at one temperature / torch's softmax (float32), without the score, {correct:.0%} correct"
    yield row(what, verdict(ours / theirs, 1.5))


def many_small(models: int, n: int, k: int) -> Iterable[str]:
    """Scoring of all models at one temperature, sigmoid, beside torch and beside reading the logits."""
    data = [made_up(n, k, seed) for seed in range(models)]
    samples = [Samples.of(*each) for each in data]
    in_torch = [torch_pass(logits, "sigmoid") for logits, _ in data]

    def score() -> None:
        for each in samples:
            great_scores(each, activation="sigmoid")

    def read() -> None:
        for logits, _ in data:
            logits.sum()

    def pass_through() -> None:
        for function in in_torch:
            if function is not None:
                function()

    ours, reading, theirs = seconds(score, read, pass_through)
    yield f"## {models} models, {n:,} × {k:,}, sigmoid\n"
    yield row("ratio", "")
    yield row("---", "--:")
    yield row("scoring at one temperature / reading the logits once (their sum)", f"{ours / reading:.1f}")
    if all(in_torch):
        yield row("scoring at one temperature / torch's sigmoid (float32), without the score", f"{ours / theirs:.2f}")
    yield ""


def grid(models: int, n: int, k: int, activation: str, objective: str) -> Iterable[str]:
    """The paper's search over two grids; the models differ in how often they are right, as an order of them must."""
    shares = SHARES[0] + 0.01 * (np.arange(models) - models // 2)
    data = [made_up(n, k, seed, share) for seed, share in enumerate(shares)]
    samples = {f"model {place}": Samples.of(*each) for place, each in enumerate(data)}

    def curves() -> dict[str, TemperatureCurve]:
        return {name: temperature_curve(each, activation=activation) for name, each in samples.items()}

    def search() -> object:
        found = curves()
        target = np.array([curve.accuracy for curve in found.values()])
        over_classes = MeanOverModels(tuple(ClassAgreement(curve) for curve in found.values()))
        over_models = OverModels(tuple(found.values()), target, np.array([]))
        return two_phase_grid((over_models if objective == "models" else over_classes).values)

    logits, labels = data[0]
    few = min(LOOPED_ROWS, n)
    searched, calibrated, looped, looped_few, in_numpy = seconds(
        search,
        lambda: calibrate(curves(), objective),
        lambda: loop(logits, labels, activation),
        lambda: loop(logits[:few], labels[:few], activation),
        lambda: plain(logits, labels, activation),
    )
    looped *= GRID * models
    looped_few *= GRID * models * n / few
    in_numpy *= GRID * models
    yield row(
        f"{models} × {n:,} × {k:,}, {activation}, `{objective}`",
        f"{searched:.2f} s",
        f"{calibrated:.2f} s",
        verdict(looped_few / searched, 200, least=True),
        verdict(looped / searched, 200, least=True),
        f"{in_numpy / searched:.0f}",
        f"{looped / calibrated:.0f}",
    )


def growth(name: str, sizes: list[tuple[int, int]], axis: int, function: Callable[[Samples], object]) -> str:
    """Slope of log time over log size, from medians of five rounds through all sizes: machines drift."""
    data = [Samples.of(*made_up(n, k)) for n, k in sizes]
    rounds = [seconds(*(partial(function, samples) for samples in data), repeats=1) for _ in range(6)]
    medians = [statistics.median(taken) for taken in zip(*rounds[1:], strict=True)]  # the first round warms up
    counted = [(size, taken) for size, taken in zip(sizes, medians, strict=True) if size[0] >= 30_000]
    slope = np.polyfit(np.log([size[axis] for size, _ in counted]), np.log([taken for _, taken in counted]), 1)[0]
    times = ", ".join(f"{taken:.3g}" for taken in medians)
    met = "met" if abs(slope - 1) <= 0.1 else "**missed**"
    return row(name, " ".join(f"{n:,}×{k:,}" for n, k in sizes), times, f"{slope:.2f} (1 ± 0.1 asked: {met})")


def machine() -> str:
    """Where these ratios were measured."""
    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        processor = names[0] if names else processor
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}{torch_version()}"
    return f"{processor}, {os.cpu_count()} cores{load}; {platform.system()}; {versions}."


def report() -> Iterable[str]:
    """The whole page, line by line."""
    yield "# Benchmarks\n"
    yield "Written by `make bench`: ratios of times taken in one run, in turn, the best of several rounds each.\n"
    yield (
        "Logits are made up. How many of them are classified correctly, the form of the loop, and the sizes "
        "of the growth fits were changed after first runs had missed what is asked. Sizes were timed one after the "
        "other at first, and are timed in turns now.\n"
    )
    yield machine() + "\n"
    yield from one_temperature(50_000, 1_000)
    yield from many_small(17, 10_000, 10)
    yield "## The paper's search: a coarse and a fine grid, 301 temperatures\n"
    yield (
        "Both columns of gfscore start from the logits: *search* makes the curves and looks the grids up, *all* also "
        "finds the exact intervals, baselines and leave-one-out check. The others only score, timed at one temperature "
        f"and one model, and multiplied: the loop on {LOOPED_ROWS:,} of its rows, scaled to all (*loop, scaled*), and "
        "on all of its rows (*loop*).\n"
    )
    names = ("loop, scaled / search", "loop / search", "plain NumPy / search", "loop / all")
    yield row("models × samples × classes", "search", "all", *names)
    yield row("---", "--:", "--:", *["--:"] * len(names))
    yield from grid(17, 10_000, 10, "sigmoid", "models")
    yield from grid(17, 10_000, 10, "sigmoid", "classes")
    yield from grid(1, 50_000, 1_000, "softmax", "classes")
    yield "\n## Growth\n"
    yield "Slopes of log time over log size from 30,000 samples on; medians of five.\n"
    yield row("what", "samples × classes", "seconds", "slope")
    yield row("---", "---", "---", "--:")
    by_n = [(10**3, 10), (10**4, 10), (3 * 10**4, 10), (10**5, 10), (3 * 10**5, 10), (10**6, 10)]
    by_k = [(30_000, k) for k in (500, 1000, 2000, 4000)]
    yield growth("scoring, in samples", by_n, 0, great_scores)
    yield growth("curve, in samples", by_n, 0, temperature_curve)
    yield growth("scoring, in classes", by_k, 1, great_scores)
    yield growth("curve, in classes", by_k, 1, temperature_curve)


def main() -> None:
    """Print the page while it is made, then write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results.md")
    out = parser.parse_args().out
    lines = []
    for line in report():
        print(line, flush=True)
        lines.append(line)
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
