"""Sums of a stream that was interrupted: nothing twice, nothing lost, nothing trusted that is damaged."""

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from safetensors import safe_open

from gfscore.measures import summary_files
from gfscore.measures.summary_files import SUM, SumLog, remove_sums
from gfscore.samples import Samples
from gfscore.scores import great_scores
from gfscore.storage.array_bytes import array_bytes
from gfscore.storage.store import Recipe
from gfscore.summaries import Summary, Tally, merge_summaries

MEASURE = {"name": "sums", "activation": "softmax", "temperature": 1.0}
RECIPE = Recipe(
    model="m", data="d", n_samples=50, preprocessing={}, batch_size=10, shard_rows=20, measure=MEASURE
)  # three shards


def summary(shard):
    rng, rows = np.random.default_rng(shard), RECIPE.shards()[shard]
    samples = Samples.of(rng.normal(size=(rows.stop - rows.start, 3)), np.arange(rows.start, rows.stop) % 3, piece=True)
    return Summary.of(samples, great_scores(samples), first_row=rows.start)


def test_a_run_goes_on_where_an_interrupted_one_was(tmp_path):
    with suppress(KeyboardInterrupt), SumLog(tmp_path, RECIPE).open() as log:
        log.add(2, summary(2))
        log.add(0, summary(0))
        raise KeyboardInterrupt
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == [1]
        log.add(1, summary(1))
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == []
        expected = merge_summaries(map(summary, range(3)))
        for column in ("cells", "cell_counts", "sums", "confusions", "confusion_counts"):
            assert (getattr(log.summary, column) == getattr(expected, column)).all()


@pytest.mark.parametrize("moment", ["start", "end"])
def test_an_interrupt_while_a_shard_is_added_counts_it_neither_twice_nor_never(tmp_path, monkeypatch, moment):
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(0, summary(0))
    sound = Tally.add

    def interrupted(self, piece):
        if moment == "end":
            sound(self, piece)
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt), SumLog(tmp_path, RECIPE).open() as log:
        monkeypatch.setattr(Tally, "add", interrupted)
        log.add(1, summary(1))
    monkeypatch.undo()
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == [1, 2]
        for shard in log.missing:
            log.add(shard, summary(shard))
        assert (log.summary.sums == merge_summaries(map(summary, range(3))).sums).all()


def test_a_sum_of_other_rows_than_its_shards_have_counts_as_none(tmp_path):
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(0, summary(0))
        log.add(1, summary(2))  # of fewer rows
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == [0, 1, 2]


def test_what_a_killed_writer_left_is_swept(tmp_path):
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(0, summary(0))
    for name in (".sum.safetensors.x7k2", ".about.json.x7k2"):
        (log.path / name).touch()
    with SumLog(tmp_path, RECIPE).open() as log:
        assert sorted(path.name for path in log.path.iterdir()) == ["about.json", "lock", SUM]


def test_it_is_kept_now_and_then_for_a_run_that_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(summary_files, "SAVED_EVERY", 0.0)
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(1, summary(1))
        shutil.copytree(tmp_path, tmp_path / "killed")  # what a run would find that came after a kill at this moment
    with SumLog(tmp_path / "killed", RECIPE).open() as other:
        assert other.missing == [0, 2]


def test_a_run_with_other_class_names_goes_on_under_its_own(tmp_path):
    with SumLog(tmp_path, RECIPE, class_names=["a", "b", "c"]).open() as log:
        log.add(0, summary(0).named(["a", "b", "c"]))
    with SumLog(tmp_path, RECIPE, class_names=["x", "y", "z"]).open() as log:
        log.add(1, summary(1).named(["x", "y", "z"]))
        assert log.summary.class_names == log.summary.names == ("x", "y", "z")
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(2, summary(2))
        assert log.summary.names == ("0", "1", "2")
        assert (log.summary.sums == merge_summaries(map(summary, range(3))).sums).all()


@pytest.mark.parametrize("damage", ["cut", "byte", "text"])
def test_a_damaged_sum_counts_as_none(tmp_path, damage):
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(0, summary(0))
    path = log.path / SUM
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes({"cut": content[:-9], "byte": content, "text": b"no sum at all"}[damage])
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == [0, 1, 2]


def test_another_score_has_another_sum_and_all_can_be_deleted(tmp_path):
    with SumLog(tmp_path, RECIPE).open() as log:
        log.add(0, summary(0))
    with SumLog(tmp_path, replace(RECIPE, measure={"name": "sums", "temperature": 2.0})).open() as log:
        assert log.missing == [0, 1, 2]
    assert remove_sums(tmp_path) == 2
    with SumLog(tmp_path, RECIPE).open() as log:
        assert log.missing == [0, 1, 2]


def test_a_sum_is_deleted_only_once_nobody_adds_to_it(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        with SumLog(tmp_path, RECIPE).open() as log:
            log.add(0, summary(0))
            cleared = pool.submit(remove_sums, tmp_path)
            time.sleep(0.3)
            assert not cleared.done()
        assert cleared.result() == 1
    assert not log.path.exists()


def test_a_sum_is_the_same_bytes_in_every_process(tmp_path):
    """The library orders texts by a hash of the moment, which differs between two calls already."""
    arrays, texts = {"x": np.arange(3.0)}, {f"text {place}": str(place) for place in range(12)}
    assert len({array_bytes(arrays, texts) for _ in range(5)}) == 1
    path = tmp_path / "x.safetensors"
    path.write_bytes(array_bytes(arrays, texts))
    with safe_open(path, framework="np") as file:
        assert file.metadata() == texts
        np.testing.assert_array_equal(file.get_tensor("x"), arrays["x"])
