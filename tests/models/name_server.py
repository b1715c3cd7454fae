"""Run a command in a namespace whose only name server is this one, and print the names that it asked for, as JSON.

To be started by ``unshare --map-root-user --net --mount`` as ``name_server.py COMMAND...``: nothing leaves the
namespace, and no name is known in it.
"""

import json
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path


def asked_name(question: bytes) -> str:
    """The name in a question: labels with their lengths, after a header of 12 bytes."""
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode(errors="replace"))
        at += 1 + question[at]
    return ".".join(labels)


def answer(server: socket.socket, asked: list[str]) -> None:
    while True:
        question, sender = server.recvfrom(4096)
        asked.append(asked_name(question))
        server.sendto(question[:2] + b"\x81\x83" + question[4:], sender)  # there is no such name


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.NamedTemporaryFile("w") as settings:
        settings.write("nameserver 127.0.0.1\n")
        settings.flush()
        Path(settings.name).chmod(0o644)
        subprocess.run(["mount", "--bind", settings.name, "/etc/resolv.conf"], check=True)
        server, asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), list[str]()
        server.bind(("127.0.0.1", 53))
        threading.Thread(target=answer, args=(server, asked), daemon=True).start()
        done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
    sys.stdout.write(json.dumps({"code": done.returncode, "asked": asked}))


if __name__ == "__main__":
    main()
