"""An S3 server on this machine, and nothing but that: every test has its own bucket and its own folder of copies."""

import itertools
import os

import pytest

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIDGFSCORETEST", "AWS_SECRET_ACCESS_KEY": "secret/of+the=tests"}
NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def endpoint():
    server_module = pytest.importorskip("moto.server", reason="moto, the S3 server of the tests, is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """The folder of copies."""
    from gfscore.places import outgoing, remote

    folder = tmp_path / "copies"
    monkeypatch.setenv("GFSCORE_COPIES", str(folder))
    monkeypatch.setenv("GFSCORE_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    remote.file_system.cache_clear()
    outgoing._waiting.cache_clear()
    yield folder
    remote.file_system.cache_clear()


@pytest.fixture
def store(endpoint, copies, monkeypatch):
    """The file system of the server, as who fills a bucket sees it."""
    import s3fs

    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": endpoint, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # nobody else is asked for credentials
    return s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)


@pytest.fixture
def bucket(store):
    """The name of a new bucket."""
    name = f"bucket-{next(NUMBERS)}"
    store.mkdir(name)
    return name
