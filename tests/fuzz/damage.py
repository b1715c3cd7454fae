"""Files damaged at random, for one reader: ``python damage.py READER EXAMPLES``, other files each time."""

import faulthandler
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent


def damage(reader, examples: int, *, same_every_time: bool) -> None:
    """Let the reader try that many damaged files; a finding is raised, after it was made as small as can be."""
    from mutations import mutated
    from watched import attempt

    @settings(max_examples=examples, derandomize=same_every_time, database=None, deadline=None, print_blob=True)
    @given(st.sampled_from(reader.seeds()), st.randoms(use_true_random=False))
    def attempts(content, random):
        attempt(reader, mutated(content, random))

    attempts()


def main(name: str, examples: str) -> None:
    from readers import READERS

    faulthandler.enable()
    damage(READERS[name], int(examples), same_every_time=False)


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parent / "models"), str(HERE.parent / "unit")]
    main(*sys.argv[1:])
