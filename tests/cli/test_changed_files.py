"""Files that are replaced while a command reads them: the hash in a result is of what was scored, or there is none."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from gfscore import Audit
from gfscore.cli.main import run
from gfscore.inputs import logits_files
from gfscore.jobs import policy_words, sources, stream, two_versions


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labels = np.arange(90) % 3
    for seed, name in enumerate(("a", "b", "c")):
        values = np.random.default_rng(seed).normal(0, 1, (90, 3)).astype(np.float32)
        values[np.arange(90), labels] += 2
        np.savez(f"{name}.npz", logits=values, labels=labels)
    Path("groups.txt").write_text("x\ny\n" * 45)
    Path("policy.toml").write_text("[rules]\nwcr = 0.1\n")


def replace_after(monkeypatch, module, name, path, *, when):
    """Let another file take the place of ``path`` right after the call number ``when`` of a function."""
    original, calls = getattr(module, name), []

    def called(*arguments, **options):
        found = original(*arguments, **options)
        calls.append(None)
        if len(calls) == when:
            new = Path(f"{path}.new")
            new.write_bytes(Path(path).read_bytes() + b"\n" if "np" not in path else Path("c.npz").read_bytes())
            new.replace(path)
        return found

    monkeypatch.setattr(module, name, called)


@pytest.mark.parametrize(
    ("command", "module", "name", "path", "when"),
    [
        (["audit", "a.npz", "b.npz"], sources, "read_samples", "a.npz", 1),
        (["audit", "a.npz", "--groups", "groups.txt"], sources, "read_groups", "groups.txt", 1),
        (["audit", "a.npz", "b.npz", "--calibrate", "stability"], sources, "read_samples", "a.npz", 2),
        (["audit", "--stream", "a.npz", "b.npz"], stream, "_hashes", "b.npz", 2),
        (["audit", "--pieces", "a.npz", "b.npz"], logits_files, "read_samples", "a.npz", 1),
        (["gate", "a.npz", "--wcr", "0.1"], sources, "read_samples", "a.npz", 1),
        (["gate", "a.npz", "--policy", "policy.toml"], policy_words, "read_policy", "policy.toml", 1),
        (["gate", "a.npz", "--baseline", "b.npz", "--change", "wcr=-0.5"], sources, "read_samples", "b.npz", 1),
        (["compare", "a.npz", "b.npz"], two_versions, "read_samples", "a.npz", 1),
        (["certify", "a.npz", "--method", "lipschitz", "--lipschitz", "2"], sources, "read_samples", "a.npz", 1),
    ],
)
def test_a_file_that_changes_while_it_is_read_has_no_hash(command, module, name, path, when, monkeypatch, capsys):
    assert run([*command, "--json"]) in (0, 1, 3)  # the command itself is fine
    capsys.readouterr()
    replace_after(monkeypatch, module, name, path, when=when)
    assert run([*command, "--json"]) == 4
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        f"gfscore: {path} changed while it was read. Run it again, once nobody writes to it: it begins anew.\n"
    )


def test_the_hash_is_of_what_was_read(capsys):
    assert run(["audit", "a.npz", "--groups", "groups.txt", "--json"]) == 0
    inputs = Audit.from_json(capsys.readouterr().out).provenance.inputs
    assert inputs == {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in ("a.npz", "groups.txt")}
