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
# Said as flags, which weigh more than a .streamlit/config.toml: one may lie in a folder of audits from a stranger, and
# what it says could let any web site read the page, serve files, or load fonts from other hosts.
GUARDS = {
    "server.enableXsrfProtection": "true",
    "server.enableCORS": "true",  # in Streamlit's words: sites of other origins are refused
    "server.xsrfCookieSameSite": "lax",
    "server.enableStaticServing": "false",
    "server.enableAgentApi": "false",
    "server.trustedUserHeaders": "{}",
    "server.baseUrlPath": "",
    "server.customComponentBaseUrlPath": "",
    "client.showErrorLinks": "false",
    "theme.base": "light",
    "theme.fontFaces": "[]",
    **{
        f"theme.{part}{name}": family
        for part in ("", "sidebar.", "light.", "dark.", "light.sidebar.", "dark.sidebar.")
        for name, family in (("font", "sans-serif"), ("headingFont", "sans-serif"), ("codeFont", "monospace"))
    },
}
# No theme has a base of its own, so that the browser's choice of light or dark counts.
LOOK = {"theme.light.primaryColor": "#0072B2", "theme.dark.primaryColor": "#56B4E9"}
SETTINGS = {
    **GUARDS,
    **LOOK,
    "server.headless": "true",  # opens no browser, asks for no e-mail address
    "server.fileWatcherType": "none",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "none",
    "client.toolbarMode": "minimal",
    "logger.hideWelcomeMessage": "true",
}


def serve(paths: Sequence[Path], *, data: str | None, host: str, port: int, upload_limit: int) -> None:
    """Serve the dashboard at an address that was :func:`checked <check_address>`, until it is interrupted."""
    cli = require("streamlit.web.cli", extra="dashboard", purpose="the dashboard")
    _know_own_address(host)
    at_home = {"127.0.0.1", "localhost", "::1"}
    hosts = sorted({host, *at_home}) if host in at_home else ["*"]  # of other machines nobody knows the names
    options = {
        "server.address": host,
        "server.port": port,
        "server.maxUploadSize": upload_limit,
        "browser.serverAddress": "localhost" if host in WILDCARDS else host,  # else Streamlit asks another host for it
        "server.corsAllowedOrigins": address(host, port),  # no other than the page itself
        "client.allowedOrigins": address(host, port),
        **SETTINGS,
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    flags += [f"--server.allowedHosts={name}" for name in hosts]  # a name that leads here by a trick is none of them
    cli.main(["run", __file__, *flags, "--", json.dumps([[str(path) for path in paths], data])], standalone_mode=False)


def _know_own_address(host: str) -> None:
    """Tell Streamlit its addresses, which it would ask another host for when a foreign web site knocks."""
    net_util = require("streamlit.net_util", extra="dashboard", purpose="the dashboard")
    for name in ("_external_ip", "_internal_ip"):
        setattr(net_util, name, host)


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
