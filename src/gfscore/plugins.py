"""Packages from outside that add metrics or scores: found by their entry points, loaded when they are needed.

A package says so in its ``pyproject.toml``::

    [project.entry-points."gfscore.plugins"]
    median = "robust_median"  # a module that registers when it is imported, or module:function, which is called
"""

from functools import cache

from gfscore.errors import PluginError, first_line

GROUP = "gfscore.plugins"


@cache
def load_plugins() -> None:
    """Load every installed plug-in, once; the tables ask for it, so that an import of gfscore costs nothing more."""
    from importlib.metadata import entry_points  # here: its import takes a while

    for entry in entry_points(group=GROUP):
        try:
            found = entry.load()
            if callable(found):
                found()
        except Exception as error:  # whatever a stranger's code raises
            what = f"the plug-in {entry.name!r} ({entry.value})"
            raise PluginError(f"{what} cannot be loaded ({first_line(error)}). Mend or uninstall it.") from error
