"""The image, as far as it needs no engine: its file, what is sent to the engine, and what tries it hold together.

What does need one is in ``scripts/try_image.sh``, which the job ``image`` runs.
"""

import os
import re
import socket
import subprocess
import sys
import threading
import tomllib
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGE = (ROOT / "docs" / "container.md").read_text(encoding="utf-8")
WORDS = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}


def stages():
    """The steps of each stage: instruction and what follows it."""
    text = (ROOT / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in steps} <= WORDS
    assert steps[0][0] == "FROM"
    starts = [place for place, (word, _) in enumerate(steps) if word == "FROM"]
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]


def copied():
    """What comes from the repository."""
    copies = [rest.split() for stage in stages() for word, rest in stage if word == "COPY"]
    return [name for words in copies if not words[0].startswith("--from=") for name in words[:-1]]


def is_sent(name):
    """Whether a path passes ``.dockerignore``: of the patterns that match it or a folder above, the last decides."""
    sent = True
    parts = name.split("/")
    above = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.removeprefix("!")
        if line.startswith("#"):
            continue
        within = pattern.removeprefix("**/")
        names = above if within == pattern else parts
        if any(
            fnmatch(each, within) and (within != pattern or each.count("/") == pattern.count("/")) for each in names
        ):
            sent = line.startswith("!")
    return sent


def test_what_is_copied_is_there_and_sent_and_nothing_else_is():
    assert copied()
    for name in copied():
        assert (ROOT / name).exists(), name
        assert is_sent(name), name
    assert is_sent("src/gfscore/cli/options.py")
    assert not is_sent("src/gfscore/__pycache__/errors.cpython-313.pyc")
    others = {path.name for path in ROOT.iterdir()} - set(copied())
    assert {".git", "tests", "docs"} <= others
    assert [name for name in sorted(others) if is_sent(name)] == []


def test_docker_and_podman_read_the_same_list():
    """Each of these names would hide ``.dockerignore`` from one of them."""
    assert not (ROOT / ".containerignore").exists()
    assert not (ROOT / "Containerfile.dockerignore").exists()


def test_it_installs_extras_that_exist_with_the_versions_that_were_tested():
    (run,) = (rest for word, rest in stages()[0] if word == "RUN")
    assert "-c /source/constraints.txt" in run
    assert "PIP_BUILD_CONSTRAINT=/source/constraints.txt" in run
    extras = set(re.search(r"\[(.*?)\]", run)[1].split(","))
    assert "dashboard" in extras
    assert extras <= set(PROJECT["optional-dependencies"])


def test_no_layer_holds_the_source_or_a_step_of_root_after_the_user():
    first, last = stages()
    assert first[0][1] == f"{last[0][1]} AS build"  # the same Python: a virtual environment links to it
    assert [rest for word, rest in last if word == "COPY"] == ["--from=build /opt/gfscore /opt/gfscore"]
    words = [word for word, _ in last]
    said = dict(last)
    assert said["USER"] == "gfscore"
    assert words.index("USER") > max(place for place, word in enumerate(words) if word in ("RUN", "COPY"))
    assert "useradd --create-home --uid 10001 gfscore" in said["RUN"]
    assert said["ENTRYPOINT"] == '["gfscore"]'
    assert said["STOPSIGNAL"] == "SIGINT"
    assert said["EXPOSE"] == "8501"


def test_the_store_is_where_whoever_runs_may_write():
    """``--user`` may name anybody: results in a mounted folder are to belong to who asked for them."""
    said = dict(stages()[-1])
    store = re.search(r"GFSCORE_STORE=(\S+)", said["ENV"])[1]
    home = re.search(r"HOME=(\S+)", said["ENV"])[1]
    opened = re.search(r"chmod 1777 (.*)", said["RUN"])[1].split()
    assert {store, home, said["WORKDIR"]} == set(opened)


def health_check(port):
    """What the file says of 8501, for another port and with this Python."""
    command = dict(stages()[-1])["HEALTHCHECK"].partition("CMD ")[2]
    assert command.startswith("gfscore --version && ")
    script = re.search(r'python -c "(.*)"$', command)[1]
    assert '"' not in script
    assert "$" not in script
    environment = {**os.environ, "http_proxy": "http://127.0.0.1:9", "no_proxy": "", "NO_PROXY": ""}
    done = subprocess.run(
        [sys.executable, "-c", script.replace("8501", str(port))], env=environment, capture_output=True, timeout=30
    )
    return done.returncode == 0


class Answer(BaseHTTPRequestHandler):
    """Says what its server was made to say."""

    def do_GET(self):
        self.send_response(self.server.status if self.path == "/_stcore/health" else 404)
        self.end_headers()

    def log_message(self, *words):
        pass


def test_healthy_where_nothing_listens():
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))  # taken, but nobody listens
        assert health_check(place.getsockname()[1])


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (404, False), (503, False)])
def test_healthy_where_the_dashboard_answers_whatever_proxy_the_engine_names(status, healthy):
    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        server.status = status
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert health_check(server.server_port) == healthy
        server.shutdown()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse what does not fit the queue")
def test_not_healthy_where_the_queue_is_full_and_nobody_answers():
    with socket.socket() as stuck:
        stuck.bind(("127.0.0.1", 0))
        stuck.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(stuck.getsockname())
        assert not health_check(stuck.getsockname()[1])
        for each in waiting:
            each.close()


def test_the_job_builds_the_image_and_tries_it_with_no_network():
    yaml = pytest.importorskip("yaml")
    job = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]["image"]
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == ["docker build -f Containerfile -t gfscore .", "bash scripts/try_image.sh docker gfscore"]
    assert "$ " + runs[0] in PAGE
    tried = (ROOT / "scripts" / "try_image.sh").read_text(encoding="utf-8")
    assert subprocess.run(["bash", "-n"], input=tried.encode()).returncode == 0
    assert "harmless=(--network none " in tried
    for words in (
        "demo --out",
        "audit --model zoo:trades --data zoo:digits",
        "audit logits.npz",
        ".Config.Healthcheck",
    ):
        assert words in tried


def test_the_page_and_the_file_give_the_same_commands():
    """They were once told to publish a port at which the dashboard, by default, does not listen."""
    head = (ROOT / "Containerfile").read_text(encoding="utf-8").partition("\nFROM")[0]
    commands = re.findall(r"^#   (docker run .*)$", head, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert f"$ {command}\n" in PAGE, command
    for command in re.findall(r"^\$ docker run .* -p .*", PAGE, re.MULTILINE):
        assert " -p 127.0.0.1:8501:8501 " in command
        assert command.endswith("--host 0.0.0.0")
