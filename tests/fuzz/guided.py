"""Coverage-guided fuzzing of one reader with atheris: ``python guided.py READER SECONDS``.

Inputs that reach new code of gfscore are kept and damaged further. The first finding stops it, with a traceback and a
file ``gfscore-crash-...`` in the system's temporary folder.
"""

import os
import resource
import sys
import tempfile
from pathlib import Path
from random import Random

import atheris

HERE = Path(__file__).parent
MEMORY_MB = 2048  # that a reader may take
sys.path[:0] = [str(HERE), str(HERE.parent / "models"), str(HERE.parent / "unit")]

with atheris.instrument_imports(include=["gfscore"]):
    from readers import READERS

from mutations import mutated  # noqa: E402 (after what is instrumented)
from watched import attempt  # noqa: E402


def damaged(content: bytes, max_size: int, seed: int) -> bytes:
    """Half of the time what libFuzzer does to bytes, else what our formats invite."""
    random = Random(seed)
    changed = atheris.Mutate(content, max_size) if random.random() < 0.5 else mutated(content, random)
    return changed[:max_size]


def main(name: str, seconds: str) -> None:
    reader = READERS[name]
    with tempfile.TemporaryDirectory() as folder:
        for index, content in enumerate(reader.seeds()):
            (Path(folder) / str(index)).write_bytes(content)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # The peak that libFuzzer looks at begins with that of the process that started this one.
        limit = MEMORY_MB + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        arguments = [sys.argv[0], folder, f"-max_total_time={seconds}", "-max_len=200000", f"-rss_limit_mb={limit}"]
        arguments.append(f"-artifact_prefix={tempfile.gettempdir()}/gfscore-")
        atheris.Setup(arguments, lambda content: attempt(reader, content) and None, custom_mutator=damaged)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
