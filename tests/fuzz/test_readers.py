"""Damaged and hostile files: every reader says in one line what is wrong, soon, and without taking much memory."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import mutated
from readers import READERS
from watched import attempt

HERE = Path(__file__).parent
MADE_WITH = {
    "parquet": "pyarrow",
    "images parquet": "pyarrow",
    "onnx": "onnx",
    "onnx wire": "onnx",
    "generator": "onnx",
}
each_reader = pytest.mark.parametrize("name", READERS)


@pytest.fixture
def reader(name):
    if name in MADE_WITH:
        pytest.importorskip(MADE_WITH[name])
    return READERS[name]


@each_reader
def test_the_files_that_are_damaged_here_are_sound_before(reader, name):
    said = [attempt(reader, content) for content in reader.seeds()]
    expected = ["", "takes weights from 'weights.bin', which does not exist"] if name.startswith("onnx") else [""]
    for message in said:
        assert any(part in message if part else not message for part in expected), message


def damage(reader, examples, random_seed):
    seeds = reader.seeds()

    @settings(max_examples=examples, derandomize=random_seed, database=None)
    @given(st.sampled_from(seeds), st.randoms(use_true_random=False))
    def attempts(content, random):
        attempt(reader, mutated(content, random))

    attempts()


@each_reader
def test_damaged_files_are_refused_or_read(reader):
    damage(reader, 50, random_seed=True)  # about a second


@pytest.mark.long
@each_reader
def test_many_damaged_files_are_refused_or_read(reader):
    damage(reader, 5000, random_seed=False)


def guided(name, seconds):
    pytest.importorskip("atheris")
    command = [sys.executable, str(HERE / "guided.py"), name, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + 3 * seconds)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_what_new_code_paths_lead_to_is_refused_or_read():
    for package in MADE_WITH.values():
        pytest.importorskip(package)
    guided("all", 5)


@pytest.mark.long
@each_reader
def test_what_many_new_code_paths_lead_to_is_refused_or_read(reader, name):
    guided(name, 60)
