"""Copies: made once, made again when an object changed, never from two versions, and not kept for ever."""

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from gfscore import read_samples
from gfscore.errors import FileError, OptionError
from gfscore.storage import all_to_read, to_read
from gfscore.storage import copies as module
from gfscore.storage import object_stores as remote
from gfscore.storage.copies import DAY, clean
from gfscore.storage.object_stores import UNSENT, ChangedError

CONTENT = bytes(range(256)) * 1000
MUCH = 30_000_000  # bytes


def test_a_copy_is_made_once_and_again_when_the_object_changed(store, bucket, transfers):
    store.pipe_file(f"{bucket}/a/x.bin", CONTENT)
    path = to_read(f"s3://{bucket}/a/x.bin")
    assert path.read_bytes() == CONTENT
    assert path.parts[-4:] == ("s3", bucket, "a", "x.bin")
    assert transfers() == ["a/x.bin"]
    assert to_read(f"s3://{bucket}/a/x.bin") == path
    assert transfers() == []
    store.pipe_file(f"{bucket}/a/x.bin", CONTENT[::-1])  # the same size
    changed = to_read(f"s3://{bucket}/a/x.bin")
    assert changed.read_bytes() == CONTENT[::-1]
    assert path.read_bytes() == CONTENT  # whoever reads the old copy goes on reading it
    assert transfers() == ["a/x.bin"]


def test_a_damaged_copy_is_fetched_again(store, bucket, transfers):
    store.pipe_file(f"{bucket}/x.bin", CONTENT)
    path = to_read(f"s3://{bucket}/x.bin")
    path.write_bytes(CONTENT[:10])
    assert to_read(f"s3://{bucket}/x.bin").read_bytes() == CONTENT
    assert transfers() == ["x.bin", "x.bin"]


def test_a_copy_with_other_bytes_of_the_same_size_is_fetched_again(store, bucket, transfers):
    for name in ("x", "y"):
        store.pipe_file(f"{bucket}/folder/{name}", CONTENT)
    path = to_read(f"s3://{bucket}/folder", folder=True)
    transfers()
    changed = bytearray(CONTENT)
    changed[1000] ^= 1
    (path / "x").write_bytes(changed)
    assert to_read(f"s3://{bucket}/folder", folder=True) == path
    assert (path / "x").read_bytes() == CONTENT
    assert transfers() == ["folder/x"]
    (path / "x").write_bytes(changed)
    store.pipe_file(f"{bucket}/folder/y", CONTENT[::-1])  # a new copy takes over what is sound, and nothing else
    newer = to_read(f"s3://{bucket}/folder", folder=True)
    assert (newer / "x").read_bytes() == CONTENT
    assert transfers() == ["folder/x", "folder/y"]


def test_a_list_without_hashes_or_cut_short_is_fetched_anew(store, bucket, transfers):
    store.pipe_file(f"{bucket}/x.bin", CONTENT)
    path = to_read(f"s3://{bucket}/x.bin")
    listed = path.parents[2] / module.LISTED
    line = listed.read_text()
    for text in (line[65:], line[:70], ""):  # as it was written before; by a process that was killed
        listed.write_text(text)
        path.write_bytes(CONTENT[::-1])
        transfers()
        assert to_read(f"s3://{bucket}/x.bin").read_bytes() == CONTENT
        assert transfers() == ["x.bin"]


def test_copies_are_for_their_owner_alone(store, bucket, copies):
    store.pipe_file(f"{bucket}/x.bin", CONTENT)
    to_read(f"s3://{bucket}/x.bin")
    assert copies.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_was_fetched_in_part_is_completed(store, bucket, transfers, monkeypatch):
    for name in ("a", "b", "c/d"):
        store.pipe_file(f"{bucket}/folder/{name}", name.encode())
    store.pipe_file(f"{bucket}/folder/e/", b"")  # what some tools write for an empty folder
    store.pipe_file(f"{bucket}/folder-other/x", b"x")
    path = to_read(f"s3://{bucket}/folder/", folder=True)
    assert transfers() == ["folder/a", "folder/b", "folder/c/d"]
    (path / "b").unlink()
    assert to_read(f"s3://{bucket}/folder", folder=True) == path
    assert transfers() == ["folder/b"]
    assert sorted(str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()) == ["a", "b", "c/d"]
    with pytest.raises(FileError) as refused:
        to_read(f"s3://{bucket}/folder")
    assert str(refused.value) == f"s3://{bucket}/folder: is a folder. Name a file."


def test_of_a_folder_only_what_changed_is_fetched_again(store, bucket, transfers):
    for name in "abc":
        store.pipe_file(f"{bucket}/folder/{name}", name.encode())
    before = to_read(f"s3://{bucket}/folder", folder=True)
    transfers()
    store.pipe_file(f"{bucket}/folder/b", b"B")
    store.pipe_file(f"{bucket}/folder/d", b"d")
    store.rm_file(f"{bucket}/folder/c")
    after = to_read(f"s3://{bucket}/folder", folder=True)
    assert transfers() == ["folder/b", "folder/d"]
    assert {path.name: path.read_bytes() for path in after.iterdir()} == {"a": b"a", "b": b"B", "d": b"d"}
    assert {path.name: path.read_bytes() for path in before.iterdir()} == {"a": b"a", "b": b"b", "c": b"c"}


def overwriting(monkeypatch, store, times):
    """Let somebody write to the object ``times`` times, each time while it is read."""
    look, left = remote.download, list(range(times))

    def download(wanted, path, moved):
        if left:
            store.pipe_file(wanted.address.remote, b"version %d" % left.pop())
        look(wanted, path, moved)

    monkeypatch.setattr(module, "download", download)


def test_an_object_that_changes_while_it_is_read_is_read_again(store, bucket, monkeypatch):
    store.pipe_file(f"{bucket}/x.bin", b"version 9")  # the versions are equally long
    overwriting(monkeypatch, store, 1)
    assert to_read(f"s3://{bucket}/x.bin").read_bytes() == b"version 0"


def test_one_that_keeps_changing_is_refused_and_leaves_nothing(store, bucket, copies, monkeypatch):
    store.pipe_file(f"{bucket}/x.bin", b"version 9")
    overwriting(monkeypatch, store, 2)
    with pytest.raises(ChangedError) as refused:
        to_read(f"s3://{bucket}/x.bin")
    assert str(refused.value) == (
        f"s3://{bucket}/x.bin: changed while it was read, twice. Run it again when nobody writes to it."
    )
    assert [path for path in copies.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            ["f/x", "f/../../evil"],
            "the key 'f/../../evil' has the part '..', which is no name for a file. Rename the object.",
        ),
        (
            ["f/x", "f//etc/evil"],
            "the key 'f//etc/evil' has the part '', which is no name for a file. Rename the object.",
        ),
        (["f/x", "f/x/y"], "the key 'f/x' is an object and a folder at once. Rename the object."),
    ],
)
def test_hostile_keys_never_reach_the_disk(store, bucket, tmp_path, copies, keys, message):
    for key in keys:
        store.pipe_file(f"{bucket}/{key}", b"x")
    with pytest.raises((FileError, OptionError)) as refused:
        to_read(f"s3://{bucket}/f", folder=True)
    assert str(refused.value) == f"s3://{bucket}/f: {message}"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_old_copies_go_and_those_in_use_stay(store, bucket, copies, monkeypatch):
    now, paths = time.time(), {}
    for name, days in {"new": 0, "old": 3, "older": 6, "oldest": 8}.items():
        store.pipe_file(f"{bucket}/{name}", CONTENT)
        paths[name] = to_read(f"s3://{bucket}/{name}")
        os.utime(copies / paths[name].relative_to(copies).parts[0], (now - days * DAY,) * 2)
    unsent = copies / UNSENT / "0" / "audit.json"  # results that somebody was told are kept
    unsent.parent.mkdir(parents=True)
    unsent.write_bytes(CONTENT)
    os.utime(copies / UNSENT, (now - 100 * DAY,) * 2)
    clean(copies, now)
    assert [name for name, path in paths.items() if path.exists()] == ["new", "old", "older"]
    monkeypatch.setattr(module, "MOST", 2.5 * len(CONTENT))
    clean(copies, now)
    assert [name for name, path in paths.items() if path.exists()] == ["new", "old"]
    monkeypatch.setattr(module, "MOST", 0)
    clean(copies, now)
    assert [name for name, path in paths.items() if path.exists()] == ["new"]
    assert unsent.exists()


def test_a_long_transfer_says_how_far_it_is(store, bucket, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WORD", 0.0)
    store.pipe_file(f"{bucket}/x.bin", CONTENT * 8)
    lines = []
    token = module.report.set(lines.append)
    to_read(f"s3://{bucket}/x.bin")
    module.report.reset(token)
    assert len(lines) == 1
    assert lines[0].startswith(f"s3://{bucket}/x.bin: ")
    assert lines[0].endswith(" of 2 MB")


def test_many_places_are_fetched_side_by_side_and_each_is_found_again(store, bucket, transfers, monkeypatch):
    monkeypatch.setattr(module, "FIRST_WORD", 0.0)
    names = [f"{number:02d}" for number in range(20)]
    for name in names:
        store.pipe_file(f"{bucket}/{name}", name.encode())
    lines = []
    token = module.report.set(lines.append)
    paths = all_to_read([f"s3://{bucket}/{name}" for name in names])
    module.report.reset(token)
    assert [path.read_text() for path in paths] == names
    assert transfers() == names
    assert lines[0].startswith(f"s3://{bucket}/00 and 19 more: ")
    assert to_read(f"s3://{bucket}/07") == paths[7]
    assert all_to_read(["here.npz", f"s3://{bucket}/07"]) == [Path("here.npz"), paths[7]]
    assert transfers() == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux says how much memory was used")
def test_a_large_object_takes_little_memory(store, bucket):
    store.pipe_file(f"{bucket}/small.bin", CONTENT)
    store.pipe_file(f"{bucket}/large.bin", bytes(MUCH))
    code = f"""
        from pathlib import Path
        from gfscore.storage.copies import to_read
        most = lambda: int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
        to_read("s3://{bucket}/small.bin")  # loads the libraries
        before = most()
        print(to_read("s3://{bucket}/large.bin").stat().st_size, most() - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    size, taken = map(int, done.stdout.split())
    assert size == MUCH
    assert taken < MUCH / 4


def test_python_reads_addresses_too(store, bucket, logits):
    store.put_file(str(logits()), f"{bucket}/net.npz")
    assert (read_samples(f"s3://{bucket}/net.npz").logits == read_samples("net.npz").logits).all()
    store.pipe_file(f"{bucket}/bad.npz", b"no npz")
    with pytest.raises(FileError, match=rf"^s3://{bucket}/bad\.npz: "):
        read_samples(f"s3://{bucket}/bad.npz")
