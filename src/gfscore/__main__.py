"""The command, as ``gfscore`` and as ``python -m gfscore``: it listens to Ctrl-C before anything else is loaded."""

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> "NoReturn":
    """Load the command line, run it and exit."""
    listens = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not where it is ignored, as behind nohup
    if listens:
        signal.signal(signal.SIGINT, _leave)
    try:
        from gfscore.cli import main as command

        if listens:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on the command says what it does
        command()
    except KeyboardInterrupt:
        _leave()


def _leave(number: int = signal.SIGINT, _frame: "FrameType | None" = None) -> "NoReturn":
    """End at once: nothing is begun, and what is half imported would only fail in its own words."""
    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, b"gfscore: interrupted.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
