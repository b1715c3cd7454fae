"""A release test: the worst class must not fall below a threshold, and the model must be accurate.

Run: pip install 'gfscore[pytest]' && pytest examples/test_release.py
"""

import numpy as np

from gfscore.integrations.pytest_plugin import assert_robust  # or the fixture of that name, without an import


def test_the_released_network_protects_every_class():
    assert_robust("zoo:trades", "zoo:digits", wcr=0.4, accuracy=0.9)


def test_a_function_of_your_own():
    rng, labels = np.random.default_rng(0), np.arange(600) % 3
    inputs = rng.normal(0, 1, (600, 3)) + 4 * np.eye(3)[labels]
    assert_robust(lambda batch: 2 * batch, (inputs, labels), wcr=0.3, rdi=0.6)
