"""Damaged and hostile files: every reader says in one line what is wrong, soon, and without taking much memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from damage import damage
from readers import MADE_WITH, READERS
from watched import KEPT, attempt

HERE = Path(__file__).parent
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


@each_reader
def test_damaged_files_are_refused_or_read(reader):
    damage(reader, 20, same_every_time=True)


@pytest.mark.long
@each_reader
def test_many_damaged_files_are_refused_or_read(reader, name, tmp_path):
    """In a process of its own: native code that crashes takes no other test with it, and leaves the file."""
    command = [sys.executable, str(HERE / "damage.py"), name, "5000"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    left = [str(path) for path in tmp_path.glob(f"{KEPT}*/files/**/*") if path.is_file()]
    assert (done.returncode, left) == (0, []), (done.stdout + done.stderr)[-3000:]


def guided(name, seconds):
    pytest.importorskip("atheris")
    command = [sys.executable, str(HERE / "guided.py"), name, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60 + 3 * seconds)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_what_new_code_paths_lead_to_is_refused_or_read():
    for package in MADE_WITH.values():
        pytest.importorskip(package)
    guided("all", 3)


@pytest.mark.long
@each_reader
def test_what_many_new_code_paths_lead_to_is_refused_or_read(reader, name):
    guided(name, 60)
