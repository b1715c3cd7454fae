"""The public names are documented, and exactly those in ``__all__``."""

import inspect
import re
import types

import pytest

import gfscore


def test_all_is_what_can_be_imported():
    found = {
        name
        for name in dir(gfscore)
        if not name.startswith("_") and not isinstance(getattr(gfscore, name), types.ModuleType)
    } - {"TYPE_CHECKING"}
    assert found | {"__version__"} == set(gfscore.__all__)
    assert gfscore.__all__ == sorted(
        gfscore.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )


@pytest.mark.parametrize("name", [name for name in gfscore.__all__ if callable(getattr(gfscore, name))])
def test_each_is_documented(name):
    public = getattr(gfscore, name)
    documentation = inspect.getdoc(public)
    assert documentation
    if inspect.isfunction(public) and name != "read_samples":  # which needs a file
        assert ">>>" in documentation, "a doctest that runs"
    if inspect.isfunction(public) and public.__module__ in ("gfscore.metrics.formulas", "gfscore.scores.great"):
        assert ".. math::" in documentation, "a formula"
        assert re.search(r"``\([NK](, K|,)\)``", documentation), "shapes"
        assert re.search(r"\b(19|20)\d\d\b", documentation), "a reference, with its year"
