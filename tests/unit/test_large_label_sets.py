"""First-order radii of a thousand classes: memory that does not grow with the stream, planned, stopped and resumed."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

WATCHED = """
    import sys
    from dataclasses import replace
    import numpy as np
    from gfscore import Options, Samples
    from gfscore.jobs.stages import audit_summary
    from gfscore.measures.summary_files import summary_from_bytes, summary_to_bytes
    from gfscore.scores import FirstOrder, RadiusCounts, first_order_scores
    from gfscore.summaries import Summary, Tally
    from watching import anonymous, peak

    n, k, rows = int(sys.argv[1]), 1000, 256
    how = FirstOrder(norm="linf", eps=2 / 255)
    ladder = tuple(eps / 255 for eps in (0.5, 1, 1.5, 2, 3, 4, 6, 8))
    rng = np.random.default_rng(0)

    def stream():
        tally = Tally()
        for start in range(0, n, rows):
            few = min(rows, n - start)
            logits, labels = rng.standard_normal((few, k), dtype=np.float32), rng.integers(0, k, few)
            logits[np.arange(few), labels] += 4
            samples = Samples.of(logits, labels, piece=True)
            norms = rng.uniform(50, 5000, (few, how.rivals))
            local = first_order_scores(samples, norms, how, gradients=True, piece=True)
            found = Summary.of(samples, local, first_row=start)
            counts = RadiusCounts.of(local, labels, k, ladder=ladder, rows=few)
            tally.add(replace(found, radii=counts))
        kept = summary_to_bytes(tally.summary())  # as a run that may be killed keeps it
        audited = audit_summary(summary_from_bytes(kept), Options(score="first-order", norm="linf", permutations=0))
        assert audited.samples.n == audited.robustness.n == n

    print(peak(stream), anonymous())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
@pytest.mark.parametrize("n", [5_000, pytest.param(200_000, marks=pytest.mark.long)])
def test_a_stream_of_radii_of_a_thousand_classes_stays_under_500_mb(n):
    command = [sys.executable, "-c", textwrap.dedent(WATCHED), str(n)]
    environment = {"PYTHONPATH": ":".join([str(Path(__file__).parent), *sys.path])}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    beyond, whole = map(float, done.stdout.split())
    assert beyond < 350  # MB beyond what Python and its libraries take, some 100
    assert whole < 500
