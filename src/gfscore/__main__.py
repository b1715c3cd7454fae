"""``python -m gfscore``."""

from gfscore.cli import main

main()
