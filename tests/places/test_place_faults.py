"""What is said when a store does not give, or does not take: one line, no traceback, nothing half-written."""

import errno
import http.server
import os
import socket
import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

from gfscore import zoo
from gfscore.cli.main import run
from gfscore.results import Audit
from gfscore.storage import object_stores as remote

MODEL = f"zoo:{zoo.models()[0].name}"


@pytest.fixture
def connected_anew(session_store, monkeypatch):
    """For a test with another environment; whoever is not there is not asked again and again."""
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    monkeypatch.setitem(remote.PATIENCE["retries"], "total_max_attempts", 1)
    remote.file_system.cache_clear()
    yield
    remote.file_system.cache_clear()


@pytest.fixture
def said(capsys):
    """Runs a command that must fail, and returns its exit code and its one line."""

    def call(*arguments):
        code = run(list(arguments))
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        return code, err.removeprefix("gfscore: ").removesuffix("\n")

    return call


def files_below(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_wrong_addresses(store, bucket, said, copies):
    store.pipe_file(f"{bucket}/folder/x.txt", b"x")
    for place, message in {
        f"{bucket}/net.npz": "does not exist. Check the address.",
        f"{bucket}/folder": "is a folder. Name a file.",
        f"{bucket}/folder/*.npz": "matches nothing. Check the address.",
        "no-bucket/net.npz": "is in no bucket: there is no 'no-bucket'. Check the address.",
    }.items():
        assert said("audit", f"s3://{place}") == (2, f"s3://{place}: {message}")
    for arguments in (
        ["audit", "--model", MODEL, "--data", f"s3://{bucket}/none"],
        ["audit", "--model", f"s3://{bucket}/none", "--data", "zoo:digits"],
        ["compare", f"s3://{bucket}/none", "b.npz"],
        ["audit", "a.npz", "--reference", f"s3://{bucket}/none"],
        ["audit", "a.npz", "--groups", f"s3://{bucket}/none"],
        ["dashboard", f"s3://{bucket}/none"],
        ["gate", "a.json", "--policy", f"s3://{bucket}/none"],
    ):
        option = next(
            (f"{each}: " for each in arguments[1:-1] if arguments[arguments.index(each) + 1].endswith("/none")), ""
        )
        where = option if option.startswith("--") else ""
        assert said(*arguments) == (2, f"{where}s3://{bucket}/none: does not exist. Check the address.")
    assert files_below(copies) == []


def test_a_result_for_no_bucket_is_noticed_before_the_work(store, said, logits):
    logits()
    assert said("audit", "net.npz", "--out", "s3://no-bucket/run") == (
        2,
        "s3://no-bucket/run: is in no bucket: there is no 'no-bucket'. Check the address.",
    )


@pytest.mark.parametrize("option", ["--store", "--model-dir"])
def test_folders_that_are_worked_in_are_here(store, said, option):
    assert said("audit", "net.npz", option, "s3://bucket/folder") == (
        2,
        f"s3://bucket/folder: {option} must be a folder on this machine. Name one.",
    )


@pytest.mark.parametrize("variable", ["GFSCORE_STORE", "GFSCORE_COPIES"])
def test_so_are_those_that_the_environment_names(store, bucket, said, monkeypatch, variable):
    store.pipe_file(f"{bucket}/images.npz", b"x")
    monkeypatch.setenv(variable, "s3://bucket/folder")
    message = f"s3://bucket/folder: {variable} must be a folder on this machine. Name one."
    assert said("audit", "--model", MODEL, "--data", f"s3://{bucket}/images.npz") == (2, message)


def test_other_schemes_and_secrets(said):
    refused = "is no address that is known. Give a path, or an address that begins with s3://, gs:// or file://."
    for arguments in (
        ["audit", "https://user:pass@host/net.npz?sig=1"],
        ["audit", "--model", "https://user:pass@host/net.npz?sig=1", "--data", "zoo:digits"],
        ["audit", "--model", MODEL, "--data", "https://user:pass@host/net.npz?sig=1"],
        ["audit", "net.npz", "--out", "https://user:pass@host/net.npz?sig=1"],
    ):
        assert said(*arguments) == (2, f"https://host/net.npz: {refused}")


@pytest.fixture
def forbidden(endpoint):
    """The server, once it asks who is there: nobody it knows."""

    def ask(after):
        request = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=after, method="POST")
        request.add_header("Content-Type", "text/plain")
        urllib.request.urlopen(request).close()

    ask(b"0")
    yield
    ask(b"inf")


def test_no_permission(store, bucket, logits, said, request):
    store.put_file(str(logits()), f"{bucket}/net.npz")
    request.getfixturevalue("forbidden")
    check = "Check them, and what they allow."
    assert said("audit", f"s3://{bucket}/net.npz") == (
        2,
        f"s3://{bucket}/net.npz: is not open to these credentials (Forbidden). {check}",
    )
    unknown = "The AWS Access Key Id you provided does not exist in our records"
    code, line = said("audit", "net.npz", "-q", "--out", f"s3://{bucket}/run")
    assert code == 2
    assert line.startswith(f"s3://{bucket}/run/audit.json: is not open to these credentials ({unknown}). {check} What ")


def test_no_credentials(connected_anew, store, bucket, said, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    code, line = said("audit", f"s3://{bucket}/net.npz")
    assert code == 2
    assert line == (
        f"s3://{bucket}/net.npz: needs credentials (Unable to locate credentials). Set them in the environment "
        "(docs/places.md)."
    )


def test_nobody_there(connected_anew, store, bucket, logits, said, monkeypatch):
    logits()
    with socket.socket() as free:  # a port at which nobody listens
        free.bind(("127.0.0.1", 0))
        there = f"http://127.0.0.1:{free.getsockname()[1]}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", there)
    code, line = said("audit", f"s3://{bucket}/net.npz")
    assert code == 4
    assert line == (
        f"s3://{bucket}/net.npz: the transfer failed (EndpointConnectionError: Could not connect to the endpoint URL: "
        f'"{there}/{bucket}/net.npz"). Check the network and the endpoint, and run it again.'
    )
    code, line = said("audit", "net.npz", "--out", f"s3://{bucket}/run")
    assert code == 4
    assert line.startswith(f"s3://{bucket}/run: the transfer failed (EndpointConnectionError: ")


class HalfServer(http.server.BaseHTTPRequestHandler):
    """Announces a thousand bytes, sends half of them, and hangs up."""

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.send_header("ETag", '"1"')
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(bytes(500))

    def log_message(self, *_):
        pass


def test_an_interrupted_transfer(connected_anew, store, said, copies, monkeypatch):
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), HalfServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        code, line = said("audit", "s3://bucket/net.npz")
        server.shutdown()
    assert code == 4
    assert line.startswith("s3://bucket/net.npz: the transfer failed (")
    assert line.endswith("Check the network and the endpoint, and run it again.")
    assert files_below(copies) == []


def test_a_full_disk(store, bucket, logits, said, copies, monkeypatch):
    store.put_file(str(logits()), f"{bucket}/net.npz")

    def full(*_arguments, **_options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(remote.file_system("s3"), "get_file", full)
    assert said("audit", f"s3://{bucket}/net.npz") == (
        4,
        f"s3://{bucket}/net.npz: there is no space for its copy. Free some, or set GFSCORE_COPIES to another folder.",
    )
    assert files_below(copies) == []


def test_too_little_space_is_noticed_before_the_transfer(store, bucket, logits, said, transfers, monkeypatch):
    store.put_file(str(logits()), f"{bucket}/net.npz")
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: SimpleNamespace(free=1000))
    code, line = said("audit", f"s3://{bucket}/net.npz")
    assert code == 4
    assert line == (
        f"s3://{bucket}/net.npz: to copy that takes 0.0 GB, and 0.0 GB are free. Free some, or set GFSCORE_COPIES to "
        "another folder."
    )
    assert transfers() == []


def test_no_folder_for_copies(store, bucket, logits, said, monkeypatch, tmp_path):
    store.put_file(str(logits()), f"{bucket}/net.npz")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GFSCORE_COPIES", str(tmp_path / "file" / "copies"))
    assert said("audit", f"s3://{bucket}/net.npz") == (
        2,
        f"{tmp_path}/file/copies: cannot be made (Not a directory). Set GFSCORE_COPIES to another folder.",
    )


def test_what_fails_to_be_sent_leaves_what_was_there_and_is_kept(store, bucket, logits, said, copies, monkeypatch):
    logits()
    store.pipe_file(f"{bucket}/run/audit.json", b"the result of before")

    def broken(*_arguments, **_options):
        raise ConnectionResetError("reset")

    monkeypatch.setattr(remote.file_system("s3"), "put_file", broken)
    code, line = said("audit", "net.npz", "--out", f"s3://{bucket}/run")
    assert code == 4
    message, _, kept = line.rpartition(" ")
    assert message == (
        f"s3://{bucket}/run/audit.json: the transfer failed (ConnectionResetError: reset). Check the network and the "
        "endpoint, and run it again. What was to be sent is kept:"
    )
    assert Path(kept).is_relative_to(copies / "unsent")
    assert Audit.load(kept).model.name == "net"
    assert store.cat_file(f"{bucket}/run/audit.json") == b"the result of before"


def test_an_unusable_file_is_named_by_its_address(store, bucket, said):
    store.pipe_file(f"{bucket}/net.npz", b"no npz")
    code, line = said("audit", f"s3://{bucket}/net.npz")
    assert code == 2
    assert line.startswith(f"s3://{bucket}/net.npz: ")


def test_ctrl_c_leaves_no_part(store, bucket, copies, monkeypatch, capsys):
    for name in "abcdefghijkl":
        store.pipe_file(f"{bucket}/folder/{name}.npz", bytes(1000))

    def interrupted(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(remote.file_system("s3"), "get_file", interrupted)
    assert run(["audit", "--stream", f"s3://{bucket}/folder"]) == 130
    assert capsys.readouterr().err == "gfscore: interrupted.\n"
    assert files_below(copies) == []
    assert not Path("gfscore-audit").exists()
