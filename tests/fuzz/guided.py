"""Coverage-guided fuzzing of one reader with atheris, or of all in turns: ``python guided.py READER|all SECONDS``.

The first byte of an input says which reader it is for; the rest is the file. Inputs that reach new code of gfscore are
kept and damaged further. The first finding stops it, with a traceback and a file ``gfscore-crash-...`` in the system's
temporary folder.
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
    random, reader, file = Random(seed), content[:1], content[1:]
    changed = atheris.Mutate(file, max_size - 1) if random.random() < 0.5 else mutated(file, random)
    return reader + changed[: max_size - 1]


def main(name: str, seconds: str) -> None:
    readers = list(READERS.values()) if name == "all" else [READERS[name]]
    seeds = [bytes([index]) + content for index, reader in enumerate(readers) for content in reader.seeds()]

    def attempted(content: bytes) -> None:
        if content:
            attempt(readers[content[0] % len(readers)], content[1:])

    with tempfile.TemporaryDirectory() as folder:
        for index, content in enumerate(seeds):
            (Path(folder) / str(index)).write_bytes(content)
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        # The peak that libFuzzer looks at begins with that of the process that started this one.
        limit = MEMORY_MB + resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        arguments = [sys.argv[0], folder, f"-max_total_time={seconds}", "-max_len=200000", f"-rss_limit_mb={limit}"]
        arguments.append(f"-artifact_prefix={tempfile.gettempdir()}/gfscore-")
        atheris.Setup(arguments, attempted, custom_mutator=damaged)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
