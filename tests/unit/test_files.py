"""Files are written whole or not at all."""

import errno
import fcntl
import os
import threading
from pathlib import Path

import pytest
from fakes import FakeData, FakeModel

from gfscore.engines.local import measured
from gfscore.errors import FileError, MissingFileError, RunError
from gfscore.measures import Logits, Run
from gfscore.storage import atomic_file, hold_file, refuse_unreadable, sweep, write_text
from gfscore.storage.store import Store


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "result.txt"
    write_text(path, "old")
    with pytest.raises(TypeError), atomic_file(path) as temporary:
        temporary.write_text(["no", "text"])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "through")
    reader.join(timeout=10)
    assert read == ["through"]
    assert pipe.is_fifo()


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(FileError, match=r"is a directory\. Name a file in it\."):
        write_text(tmp_path, "text")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_a_disk_without_locks_is_refused_in_one_line(tmp_path, monkeypatch, number):
    def refuse(_file, _how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    said = (
        rf"lock: cannot be locked \({os.strerror(number)}\), so two runs could mix\. Choose a --store on another disk\."
    )
    with pytest.raises(FileError, match=said):
        hold_file(tmp_path / "lock")


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_leftovers_stay_where_nothing_may_be_removed(tmp_path, monkeypatch, code):
    store = Store(tmp_path / "store")

    def compute():
        return measured(Run(model=FakeModel(), data=FakeData(), store=store), Logits()).path

    finished = compute()
    leftovers = [finished.with_name(".entry.json.x7k2"), finished.with_name("shard-000000.safetensors")]
    for path in leftovers:
        path.write_bytes(b"")

    def refused(path, **_):
        raise OSError(code, os.strerror(code), str(path))

    monkeypatch.setattr(Path, "unlink", refused)
    assert compute() == finished
    monkeypatch.undo()
    assert all(path.exists() for path in leftovers)
    compute()
    assert not any(path.exists() for path in leftovers)


def test_a_leftover_on_a_disk_that_fails_is_told(tmp_path, monkeypatch):
    (tmp_path / ".a.x7k2").write_bytes(b"")

    def failing(path, **_):
        raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    monkeypatch.setattr(Path, "unlink", failing)
    with pytest.raises(OSError, match="Input/output error"):
        sweep(tmp_path, "a")


def test_a_file_that_vanishes_while_it_is_looked_at_is_missing(tmp_path, monkeypatch):
    path = tmp_path / "logits.npz"
    monkeypatch.setattr(Path, "exists", lambda _path: True)  # as it was a moment ago
    monkeypatch.setattr(Path, "is_file", lambda _path: True)
    monkeypatch.setattr(os, "access", lambda *_: True)
    with pytest.raises(MissingFileError, match="does not exist"):
        refuse_unreadable(path)


def test_rows_that_somebody_cleared_from_the_store_are_asked_for_again(tmp_path):
    stored = measured(Run(model=FakeModel(), data=FakeData(), store=Store(tmp_path / "store")), Logits())
    stored.path.unlink()
    with pytest.raises(RunError, match=r"logits\.safetensors: is gone or damaged .* Run it again"):
        stored.rows()
