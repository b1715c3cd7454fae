"""Run the commands of the pages in forks of one process that has loaded everything: most of a command is its start.

``gfscore`` on the path is a small script then (:data:`CLIENT`), which hands its words, folder, surroundings and
standard streams to that process and ends with the exit code of the fork. So pipes, redirections and exit codes are
those of the shell.
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from gfscore.errors import MissingExtraError

HEAVY = ("scipy.stats", "onnxruntime", "altair", "vl_convert", "onnx2torch", "foolbox.attacks")
MOST = 1 << 20  # bytes of what a command is told
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as there:
    there.connect({address!r})
    said = {{"words": sys.argv[1:], "folder": os.getcwd(), "surroundings": dict(os.environ)}}
    socket.send_fds(there, [json.dumps(said).encode()], [0, 1, 2])
    there.shutdown(socket.SHUT_WR)
    code = there.recv(16)
sys.exit(int(code or 99))
"""


@contextmanager
def warm_commands() -> Iterator[str]:
    """A folder to put first on the path, in which ``gfscore`` starts at once."""
    with TemporaryDirectory(prefix="gfs-") as folder:
        address, client = f"{folder}/socket", Path(folder) / "gfscore"
        client.write_text(CLIENT.format(python=sys.executable, address=address))
        client.chmod(0o755)
        server = subprocess.Popen([sys.executable, __file__, address], stdout=subprocess.PIPE)  # noqa: S603
        try:
            assert server.stdout is not None  # noqa: S101
            if server.stdout.readline() != b"ready\n":
                raise RuntimeError("the process that runs the commands of the pages did not start")
            yield folder
        finally:
            server.terminate()
            server.communicate()


def serve(address: str) -> None:
    """Load what commands load, then fork for each; ends when it is told to."""
    from gfscore.cli.main import application
    from gfscore.inputs.models.shims import no_deprecations, torch_for

    application()
    with suppress(ImportError, MissingExtraError):  # an extra that is not installed
        torch_for("the gradient of an ONNX model")
        with no_deprecations():
            for name in HEAVY:
                import_module(name)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        print("ready", flush=True)
        while True:
            asked, _ = door.accept()
            with asked:
                told, streams, _, _ = socket.recv_fds(asked, MOST, 3)
                while part := asked.recv(MOST):
                    told += part
                asked.sendall(str(_run(json.loads(told), streams)).encode())


def _run(told: dict[str, object], streams: list[int]) -> int:
    """The exit code of a command that is run in a fork."""
    process = os.fork()
    if process:
        for stream in streams:
            os.close(stream)
        return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    code = 99
    try:
        from gfscore.cli.main import run

        for place, stream in enumerate(streams):
            os.dup2(stream, place)
        os.chdir(str(told["folder"]))
        os.environ.clear()
        os.environ.update(told["surroundings"])  # type: ignore[call-overload]
        sys.argv = ["gfscore", *told["words"]]  # type: ignore[misc]
        code = run(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    serve(sys.argv[1])
