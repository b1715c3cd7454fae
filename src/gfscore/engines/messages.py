"""Messages between two processes: a line of JSON, and as many bytes after it as its ``size`` says."""

import json
import os
import threading
from collections.abc import Mapping
from typing import IO, Any, NoReturn

Message = tuple[dict[str, Any], bytes]


def read_message(stream: IO[bytes]) -> Message | None:
    """The head of the next message and what follows it; None after the last, whole or not: one may be cut off."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    try:
        head = json.loads(line)
        size = head.pop("size")
    except (ValueError, AttributeError, KeyError):  # no JSON, or not of ours: the process is beyond help
        return None
    content = stream.read(size)
    return (head, content) if len(content) == size else None


class Sender:
    """Writes to another process, one message at a time."""

    def __init__(self, out: IO[bytes]) -> None:
        self._out, self._lock = out, threading.Lock()

    def send(self, head: Mapping[str, Any], content: bytes = b"") -> None:
        """One message."""
        with self._lock:
            self._out.write(json.dumps({**head, "size": len(content)}).encode() + b"\n" + content)
            self._out.flush()

    def end(self, how: str, why: str = "") -> NoReturn:
        """The last message after a failure; Ray, which may be stuck, is not asked to end well."""
        self.send({"ended": how, "why": why})
        os._exit(0)
