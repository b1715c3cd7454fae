"""Scores that were paid for are not paid for again, however a run ended."""

import numpy as np
import pytest

from gfscore.errors import FileError
from gfscore.storage.journals import RECORD, ScoreLog


def scoring(asked):
    def score(rows):
        asked.append(rows.tolist())
        return rows / 10.0, rows % 3

    return score


def test_each_row_is_scored_once(tmp_path):
    asked = []
    for expected in ([[3, 1], [2]], []):
        asked.clear()
        with ScoreLog(tmp_path, {"model": "m"}).open() as log:
            score = log.remember(scoring(asked))
            values, predicted = score(np.array([3, 1]))
            assert values.tolist() == [0.3, 0.1]
            assert predicted.tolist() == [0, 1]
            assert score(np.array([1, 2]))[0].tolist() == [0.1, 0.2]
        assert asked == expected
    assert log.reused == 4


def test_another_recipe_has_scores_of_its_own(tmp_path):
    asked = []
    for model in ("one", "two"):
        with ScoreLog(tmp_path, {"model": model}).open() as log:
            log.remember(scoring(asked))(np.array([1]))
    assert asked == [[1], [1]]


@pytest.mark.parametrize("cut", [1, RECORD.itemsize - 1])
def test_a_torn_record_is_computed_again(tmp_path, cut):
    asked = []
    with ScoreLog(tmp_path, {}).open() as log:
        log.remember(scoring(asked))(np.array([1, 2]))
    file = log.path / "scores.bin"
    file.write_bytes(file.read_bytes()[:-cut])
    with ScoreLog(tmp_path, {}).open() as log:
        assert log.remember(scoring(asked))(np.array([1, 2, 3]))[0].tolist() == [0.1, 0.2, 0.3]
    assert asked == [[1, 2], [2, 3]]
    with ScoreLog(tmp_path, {}).open() as log:
        assert sorted(log.known) == [1, 2, 3]


def test_a_damaged_record_is_computed_again(tmp_path):
    asked = []
    with ScoreLog(tmp_path, {}).open() as log:
        log.remember(scoring(asked))(np.array([1, 2]))
    file = log.path / "scores.bin"
    damaged = bytearray(file.read_bytes())
    damaged[10] ^= 1
    file.write_bytes(damaged)
    with ScoreLog(tmp_path, {}).open() as log:
        assert log.remember(scoring(asked))(np.array([1, 2]))[0].tolist() == [0.1, 0.2]
    assert asked == [[1, 2], [1]]


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "gate").write_text("a file")
    with pytest.raises(FileError, match=r"cannot be written .*Choose another place"), ScoreLog(tmp_path, {}).open():
        pass
