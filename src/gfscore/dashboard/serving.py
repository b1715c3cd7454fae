"""Start Streamlit on the page: on this machine only unless told otherwise, and asking no other host for anything.

This file is also the script that Streamlit runs, with the arguments that the command had.
"""

import errno
import json
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from gfscore.errors import OptionError, require

PORT_ERRORS = (errno.EADDRINUSE, errno.EACCES)  # all others are about the host
WILDCARDS = ("0.0.0.0", "::")  # noqa: S104 (named, to be told apart)


def serve(paths: Sequence[Path], *, data: str | None, host: str, port: int, upload_limit: int) -> None:
    """Serve the dashboard at an address that was :func:`checked <check_address>`, until it is interrupted."""
    cli = require("streamlit.web.cli", extra="dashboard", purpose="the dashboard")
    options = {
        "server.address": host,
        "server.port": port,
        "server.headless": "true",  # opens no browser, asks for no e-mail address
        "server.fileWatcherType": "none",
        "server.maxUploadSize": upload_limit,
        "browser.gatherUsageStats": "false",
        "browser.serverAddress": "localhost" if host in WILDCARDS else host,  # else Streamlit asks another host for it
        "client.showErrorDetails": "none",
        "client.toolbarMode": "minimal",
        "logger.hideWelcomeMessage": "true",
        "theme.primaryColor": "#0072B2",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    cli.main(["run", __file__, *flags, "--", json.dumps([[str(path) for path in paths], data])], standalone_mode=False)


def arguments_of(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Paths and data as :func:`serve` handed them to the script.

    >>> arguments_of(['[["a.json"], null]'])
    (['a.json'], None)
    """
    paths, data = json.loads(arguments[0]) if arguments else ([], None)
    return paths, data


def address(host: str, port: int) -> str:
    """What to type into a browser.

    >>> address("::1", 8501)
    'http://[::1]:8501'
    """
    name = "localhost" if host in WILDCARDS else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def check_address(host: str, port: int) -> None:
    """Refuse a host that this machine does not have, and a port that is taken or not allowed."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except (OSError, UnicodeError) as error:  # the latter of a name that no host can have
        reason = getattr(error, "strerror", None) or "no name of a host"
        option = "--port" if getattr(error, "errno", None) in PORT_ERRORS else "--host"
        raise OptionError(
            f"the dashboard cannot listen at {host}, port {port} ({reason}). Choose another with {option}."
        ) from error


if __name__ == "__main__":
    from gfscore.dashboard.page import show  # Streamlit, which a command that only asks for help does not need

    show(*arguments_of(sys.argv[1:]))
