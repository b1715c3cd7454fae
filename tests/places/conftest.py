"""An S3 server on this machine, and nothing but that: every test has its own bucket and its own folder of copies."""

import itertools
import os

import numpy as np
import pytest

NUMBERS = itertools.count()
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDGFSCORETEST",
    "AWS_SECRET_ACCESS_KEY": "secret/of+the=tests",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",  # nobody else is asked for credentials
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_CONFIG_FILE": os.devnull,
}


@pytest.fixture(scope="session")
def endpoint():
    server_module = pytest.importorskip("moto.server", reason="moto, the S3 server of the tests, is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def session_store(endpoint):
    """The file system of the server, as whoever fills a bucket sees it: one for all tests, as it takes a while."""
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    key, secret = ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
    return s3fs.S3FileSystem(key=key, secret=secret, endpoint_url=endpoint, use_listings_cache=False)


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """The folder of copies."""
    monkeypatch.setenv("GFSCORE_COPIES", str(tmp_path / "copies"))
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "copies"


@pytest.fixture
def store(session_store, endpoint, copies, monkeypatch):
    """The same, with an environment in which gfscore finds the server."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint}.items():
        monkeypatch.setenv(name, value)
    return session_store


@pytest.fixture
def bucket(store):
    """The name of a new bucket."""
    name = f"bucket-{next(NUMBERS)}"
    store.mkdir(name)
    return name


@pytest.fixture
def logits(tmp_path):
    """Writes a logits file."""

    def write(name="net.npz", *, seed=0, n=120):
        path, rng, labels = tmp_path / name, np.random.default_rng(seed), np.arange(n) % 3
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, logits=rng.normal(0, 1, (n, 3)) + 2 * np.eye(3)[labels], labels=labels)
        return path

    return write


@pytest.fixture
def transfers(caplog):
    """Says which objects were sent by the server since it was last asked."""
    caplog.set_level("INFO", logger="werkzeug")

    def seen():
        lines = [record.getMessage() for record in caplog.records]
        caplog.clear()
        paths = [line.split('"')[1].split()[1] for line in lines if '"GET /' in line]
        return sorted(path.partition("/")[2].partition("/")[2] for path in paths if "?" not in path)

    return seen
