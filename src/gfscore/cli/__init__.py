"""The command line: parse, call, render."""

from gfscore.cli.main import main

__all__ = ["main"]
