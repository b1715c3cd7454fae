"""Files are written whole or not at all."""

import errno
import fcntl
import os
import sys
import threading
import types
from pathlib import Path

import pytest
from fakes import FakeData, FakeModel

from gfscore.engines.local import measured
from gfscore.errors import FileError, MissingFileError, OptionError, RunError
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


def test_a_result_is_on_the_disk_before_its_name_is(tmp_path, monkeypatch):
    """What a power cut leaves is the old file or the new one: bytes first, then the name, then the folder's list."""
    done, sync, replace = [], os.fsync, os.replace

    def noted_sync(descriptor):
        done.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()) if sys.platform == "linux" else "?")
        sync(descriptor)

    def noted_replace(old, new):
        done.append("name")
        replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(os, "replace", noted_replace)
    write_text(tmp_path / "audit.json", "{}")
    assert done[1] == "name"
    if sys.platform == "linux":
        assert Path(done[0]).name.startswith(".audit.json.")
        assert done[2] == str(tmp_path)


def test_a_disk_that_fails_when_it_is_waited_for_keeps_the_old_file(tmp_path, monkeypatch):
    write_text(tmp_path / "audit.json", "old")

    def failing(_descriptor):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(RunError, match=r"cannot be written \(Input/output error\)\. Mend this"):
        write_text(tmp_path / "audit.json", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["audit.json"]
    assert (tmp_path / "audit.json").read_text() == "old"


def test_a_disk_that_cannot_be_waited_for_will_do(tmp_path, monkeypatch):
    def unable(_descriptor):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", unable)
    write_text(tmp_path / "audit.json", "new")
    assert (tmp_path / "audit.json").read_text() == "new"


def test_a_user_without_a_home_is_asked_for_a_folder(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    for name in ("GFSCORE_STORE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(OptionError, match=r"no home folder .* Name another: --store, or GFSCORE_STORE\."):
        _ = Store().root


class TestLocksOfWindows:
    """The locks that Windows has instead, by a stand-in: this system cannot try the real ones."""

    @pytest.fixture
    def windows(self, monkeypatch):
        holders = {}  # by the file that is locked

        def locking(descriptor, how, n_bytes):
            assert (how, n_bytes) == (2, 1)
            place = os.lseek(descriptor, 0, os.SEEK_CUR)
            assert place > 1 << 30  # behind all content, which stays readable
            if holders.setdefault(os.fstat(descriptor).st_ino, descriptor) != descriptor:
                raise PermissionError(errno.EACCES, "Permission denied")

        monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
        monkeypatch.setitem(sys.modules, "fcntl", None)  # cannot be imported there
        monkeypatch.setattr(sys, "platform", "win32")
        return holders

    def test_who_comes_second_is_told_or_waits(self, tmp_path, windows, monkeypatch, caplog):
        with hold_file(tmp_path / "lock") as first:
            first.write(b"mine")
            assert first.tell() == 4  # where it was
            with pytest.raises(BlockingIOError):
                hold_file(tmp_path / "lock", wait=False)
            monkeypatch.setattr("gfscore.storage.files.PAUSE", 0.0)
            monkeypatch.setattr("gfscore.storage.locks.PAUSE", 0.0)
            monkeypatch.setattr("gfscore.storage.locks.time.sleep", lambda _s: windows.clear())
            monkeypatch.setattr("gfscore.storage.files.time", types.SimpleNamespace(sleep=lambda _s: None))
            with hold_file(tmp_path / "lock"):
                assert "waiting for another run" in caplog.text

    def test_a_disk_without_locks_is_refused(self, tmp_path, windows, monkeypatch):
        def refuse(*_):
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

        monkeypatch.setattr(sys.modules["msvcrt"], "locking", refuse)
        with pytest.raises(FileError, match="cannot be locked"):
            hold_file(tmp_path / "lock")
