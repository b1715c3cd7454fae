"""``gs://``: without gcsfs the extra is named; with a file system in its place everything else is the same."""

import sys
import types
from typing import ClassVar

import pytest

from gfscore.cli.main import run
from gfscore.storage import object_stores as remote
from gfscore.storage import to_read

fsspec_memory = pytest.importorskip("fsspec.implementations.memory", reason="fsspec is not installed")


@pytest.fixture(autouse=True)
def connected_anew():
    remote.file_system.cache_clear()
    yield
    remote.file_system.cache_clear()


@pytest.mark.parametrize(("scheme", "package"), [("s3", "s3fs"), ("gs", "gcsfs")])
def test_a_missing_extra_is_named(copies, scheme, package, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    for arguments in (["audit", f"{scheme}://bucket/net.npz"], ["audit", "net.npz", "--out", f"{scheme}://bucket/run"]):
        assert run(arguments) == 2
        assert capsys.readouterr().err == (
            f"gfscore: {scheme}:// needs {package}, which is not installed. Run: pip install 'gfscore[{scheme}]'\n"
        )


class Memory(fsspec_memory.MemoryFileSystem):
    """Stands for the file system of gcsfs: no leading slash, and a generation for every content."""

    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    protocol = "gs"

    def info(self, path, **options):
        return self._said(super().info(path, **options))

    def find(self, path, detail=False, **options):
        found = super().find(path, detail=True, **options)
        return {name.lstrip("/"): self._said(info) for name, info in found.items()}

    def _said(self, info):
        if info["type"] == "directory":
            return info
        return {**info, "name": info["name"].lstrip("/"), "generation": hash(self.cat_file(info["name"]))}


@pytest.fixture
def gcs(copies, monkeypatch):
    monkeypatch.setattr(Memory, "store", {})
    monkeypatch.setattr(Memory, "pseudo_dirs", [""])
    monkeypatch.setitem(sys.modules, "gcsfs", types.SimpleNamespace(GCSFileSystem=Memory))
    system = Memory(skip_instance_cache=True)
    system.mkdir("bucket")
    return system


def test_the_rest_is_the_same(gcs, logits, capsys):
    gcs.put_file(str(logits()), "/bucket/net.npz")
    assert run(["audit", "gs://bucket/net.npz", "--out", "gs://bucket/run"]) == 0
    assert "Written: gs://bucket/run/audit.json\n" in capsys.readouterr().out
    assert b'"gs://bucket/net.npz"' in gcs.cat_file("/bucket/run/audit.json")
    assert run(["table", "gs://bucket/run/audit.json"]) == 0


def test_another_content_is_another_copy(gcs):
    gcs.pipe_file("/bucket/x", b"one")
    first = to_read("gs://bucket/x")
    gcs.pipe_file("/bucket/x", b"two")
    assert [first.read_bytes(), to_read("gs://bucket/x").read_bytes()] == [b"one", b"two"]
    assert (to_read("gs://bucket", folder=True) / "x").read_bytes() == b"two"
