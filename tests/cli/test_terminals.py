"""What people meet and pipes do not: terminals of two widths, Ctrl-C, narrow encodings, names that do harm."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from terminals import HIDE_CURSOR, PROMPT, SHOW_CURSOR, Seen, Terminals, executed

from gfscore import views
from gfscore.cli.binding import Terminal
from gfscore.cli.main import main, run
from gfscore.cli.screens import progress_bar
from gfscore.outputs import report
from gfscore.results import Audit

command_line = import_module("gfscore.cli.main")  # its function has the same name
ROOT = Path(__file__).parents[2]
WIDTHS = (80, 140)
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RUN = "--data zoo:digits --n-per-class 10"
RUNNING = {  # with a progress bar
    f"audit --model zoo:trades {RUN}": 0,
    f"audit --model zoo:trades --model zoo:standard {RUN} --score first-order --norm l2 --eps 0.5": 0,
    "audit --model zoo:trades --data generator:zoo --n-per-class 100 --stream": 0,
    f"logits --model zoo:trades {RUN} -o trades.safetensors": 0,
    "gate --model zoo:trades --data zoo:digits --wcr 0.3 --adaptive": 0,
    f"gate --model zoo:trades {RUN} --wcr 1.2": 1,
    f"check --model zoo:scaled {RUN} --method bisection --samples 2": 0,
    "certify --method smoothing --sigma 0.25 --n 100 --model zoo:noise --data zoo:digits --n-per-class 3": 0,
}
READING = {
    "audit conv_small_pgd_trained.npz": 0,
    "audit conv_small_pgd_trained.npz conv_small_pgd_trained_new.npz --calibrate models": 0,
    "gate conv_small_pgd_trained.npz --wcr 0.9 --rdi 0.1 --class automobile=0.05": 1,
    "compare conv_small_pgd_trained.npz conv_small_pgd_trained_new.npz": 0,
    "calibrate conv_small_pgd_trained.npz conv_small_pgd_trained_new.npz --objective models": 0,
    "plan --classes 10 --radius 0.05": 0,
    "report known/audit.json": 0,
    "figures known/audit.json --only forest": 0,
    "table known/audit.json": 0,
    "store list": 0,
    "reproduce cifar10 --from-published": 0,
    "audit": 2,
}
# lines to be copied or read by programs are left whole; the terminal wraps them
WHOLE = re.compile(r"gfscore: |Written: |Left out: |In /|\| |GREAT score \(")
HOSTILE = "\x1b]0;taken over\x07cat"


def network(path, rng, strength=1.0, names=CLASSES):
    labels = np.arange(300) % len(names)
    logits = rng.normal(0, 1, (300, len(names)))
    logits[np.arange(300), labels] += strength * np.linspace(0.5, 4, len(names))[labels]
    np.savez(path, logits=logits, labels=labels, class_names=names)


@pytest.fixture(scope="module")
def terminals():
    process = Terminals()
    yield process
    process.end()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with two networks' logits and an audit."""
    folder, rng = tmp_path_factory.mktemp("work"), np.random.default_rng(0)
    network(folder / "conv_small_pgd_trained.npz", rng)
    network(folder / "conv_small_pgd_trained_new.npz", rng, 0.7)
    assert run(["audit", str(folder / "conv_small_pgd_trained.npz"), "--out", str(folder / "known"), "-q"]) == 0
    return folder


def check_looks(seen, columns, code):
    assert seen.code == code, seen.text
    assert "Traceback" not in seen.raw
    assert "failed inside" not in seen.raw
    assert [line for line in seen.lines if len(line) > columns and not WHOLE.match(line)] == []
    assert [line for line in seen.lines if "…" in line] == []  # nothing was cut
    assert seen.raw.count(HIDE_CURSOR) == seen.raw.count(SHOW_CURSOR)
    assert seen.left[0] == PROMPT
    assert [line for line in seen.left if "━" in line] == []  # bars are gone


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", RUNNING)
def test_commands_that_run_a_model(terminals, work, tmp_path, command, columns):
    seen = terminals.run(shlex.split(command), work, columns, GFSCORE_STORE=str(tmp_path))
    check_looks(seen, columns, RUNNING[command])
    assert re.search(r"━ \d+/\d+ ", seen.text), "no progress was shown"
    assert len([line for line in seen.left if line]) > 1, "nothing is left of what was said"
    assert re.search("\x1b\\[1[;m]", seen.raw) or command.startswith("logits"), "no colour was shown"


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("command", READING)
def test_commands_that_read(terminals, work, command, columns):
    check_looks(terminals.run(shlex.split(command), work, columns, GFSCORE_STORE=str(work)), columns, READING[command])


def test_the_store_in_a_terminal(terminals, work, tmp_path):
    quietly = {"GFSCORE_STORE": str(tmp_path)}
    terminals.run(["audit", "--model", "zoo:worst-class", *RUN.split(), "-q"], work, **quietly)
    seen = terminals.run(["store", "list"], work, 80, **quietly)
    check_looks(seen, 80, 0)
    assert "worst-class zoo:digits (at most 10 per class, seed 0) 100 finished" in seen.text


def test_verdicts_and_names_are_whole_in_80_columns(terminals, work):
    compared = terminals.run(shlex.split(next(c for c in READING if c.startswith("compare"))), work, 80)
    rows = [line for line in compared.lines if line.startswith(CLASSES)]
    assert len(rows) == len(CLASSES)
    assert all(re.search(r" (worse|better|unclear|within) *$", row) for row in rows)
    several = terminals.run(shlex.split(next(c for c in READING if "--calibrate" in c)), work, 80)
    assert [line for line in several.lines if line.startswith("conv_small_pgd_trained_new  ")]


@pytest.mark.parametrize("columns", [80, 140])
def test_p_values_are_explained_where_they_are_shown(terminals, work, columns):
    shown = terminals.run(shlex.split(next(c for c in READING if c.startswith("compare"))), work, columns).text
    assert shown.count("p of a fall") == (2 if columns == 140 else 0)


def test_the_demo_tells_what_a_newcomer_needs(demo):
    seen = Seen(demo.code, demo.screen)
    check_looks(seen, 80, 0)
    text = seen.text
    for word in (
        "Robust accuracy:",
        "Least protected:",
        "Is it noise?",
        "Beware:",
        "Caught:",
        "not a certificate",
        "Temperature:",
        "Written: gfscore-demo/: audit.json, report.html (open it), figures/",
    ):
        assert word in text
    audit = Audit.load(demo.folder / "audit.json")
    rungs = {model.name: model.robustness.headline for model in audit.models if model.robustness is not None}
    assert len(rungs) == 8  # those on the test images
    fooled = rungs["scaled on zoo:digits"]
    lowest = re.escape(f"{fooled.worst}: {views.share_text(fooled.lowest)}")
    assert re.search(rf"scaled +98\.0 % +{100 * fooled.value:.1f} % +{lowest} +51\.8 % +1\.227 +0\.070", text)
    assert text.index("Robust accuracy:") < text.index("Least protected:") < text.index("Is it noise?")
    assert len(audit.models) == 16
    assert len(audit.calibration.models) == 8  # those on the test images
    assert f"T* = {audit.calibration.temperature:.3g}" in text
    page = demo.folder / "report.html"
    assert page.read_text(encoding="utf-8") == report.html(audit)
    drawn = {path.name for path in (demo.folder / "figures").iterdir()}
    assert drawn == {"robustness-models.png", "robustness.png", "forest.png", "heatmap.png", "noise.png"}


def test_the_demo_takes_less_than_a_minute(demo):
    assert demo.seconds < 60


@pytest.mark.long
@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_every_documented_command(tmp_path, page, columns):
    """Those that the site shows with what they print, in a terminal instead of a pipe."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```console run\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command in (line[2:] for block in blocks for line in block.strip().splitlines()):
        announced = re.search(r"# exit (\d)", command)
        code = int(announced[1]) if announced else 0
        seen = executed(["bash", "-c", command], tmp_path, columns, PATH=path, GFSCORE_STORE=str(tmp_path / "store"))
        if command.startswith("gfscore") and " table " not in command:
            check_looks(seen, columns, code)
        else:
            assert seen.code == code, seen.text


def test_interrupted_in_a_terminal(terminals, tmp_path):
    command = "audit --model zoo:trades --data generator:zoo --n-per-class 100000 --store store"
    seen = terminals.run(command.split(), tmp_path, press_when="trades")
    assert seen.code == 130
    assert seen.raw.endswith("gfscore: interrupted.\r\n")
    assert seen.raw.count("interrupted") == 1
    assert "Traceback" not in seen.raw
    assert seen.raw.rfind(SHOW_CURSOR) > seen.raw.rfind(HIDE_CURSOR) > -1
    assert {path.name for path in tmp_path.iterdir()} <= {"store"}
    assert list(tmp_path.rglob(".*")) == []


@pytest.fixture
def own_interrupts():
    """The handler of Ctrl-C that a terminal gives a program, and afterwards the one that was there."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background has not
    yield
    signal.signal(signal.SIGINT, before)
    command_line._interrupts.clear()


def test_interrupted_while_a_compiled_module_is_imported(monkeypatch, capsys, own_interrupts):
    """It raises what it likes then; the KeyboardInterrupt is lost."""

    def broken(*_names):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("initialization failed")

    monkeypatch.setattr(command_line, "application", broken)
    with pytest.raises(SystemExit) as ended:
        main(["audit"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "gfscore: interrupted.\n"


def test_an_error_stands_below_the_bar_and_not_in_it(terminals, tmp_path):
    """The bar is drawn by a generator, and what fails is what uses it."""
    (tmp_path / "file").touch()
    command = f"logits --model zoo:trades {RUN} --store store --out file/trades.safetensors"
    seen = terminals.run(command.split(), tmp_path)
    assert seen.code == 2
    assert seen.raw.rfind(HIDE_CURSOR) < seen.raw.rfind(SHOW_CURSOR) < seen.raw.rfind("gfscore: ")
    assert [line[:9] for line in seen.left if line] == [PROMPT, "gfscore: "]


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_colours_in_pipes(variable, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(variable, "1")
    monkeypatch.chdir(tmp_path)
    assert run(f"audit --model zoo:trades {RUN} --store store".split()) == 0
    printed = capfd.readouterr()
    assert "\x1b[1m" in printed.out
    assert printed.err == ""  # no bar


@pytest.mark.parametrize("name", ["resnet[/v2]", "net[bold red]v2", ":dog:", f"{HOSTILE}[/]"])
def test_names_are_no_markup(name, tmp_path, monkeypatch, capsys):
    class Screen(io.StringIO):
        def isatty(self):
            return True

    for variable in ("CI", "GITHUB_ACTIONS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", Screen())
    with progress_bar(quiet=False) as bar:
        Terminal(bar, quiet=False).bar(name)(1, 2)
    shown = name.replace("\x1b", r"\x1b").replace("\x07", r"\x07")
    assert shown in sys.stderr.getvalue()
    monkeypatch.chdir(tmp_path)
    names = (f"{name} a", f"{name} b")
    for path in ("net.npz", "same.npz"):
        network(path, np.random.default_rng(0), names=names)
    assert run(["audit", "net.npz"]) == 0
    assert run(["gate", "net.npz", "--class", f"{name} a=0.1"]) in (0, 1, 3)
    assert run(["compare", "net.npz", "same.npz"]) == 0
    printed = capsys.readouterr().out
    assert printed.count(f"{shown} a") > 3
    assert "\x1b" not in printed


def printed_in(encoding, arguments, monkeypatch):
    """Exit code and both streams of a command whose pipes are in an encoding."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    for stream in streams:
        stream.flush()
    return ended.value.code, *(stream.buffer.getvalue().decode(encoding) for stream in streams)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_narrow_encodings_get_what_they_can_show(encoding, work, monkeypatch, own_interrupts):
    monkeypatch.chdir(work)
    old, new = "conv_small_pgd_trained.npz", "conv_small_pgd_trained_new.npz"
    code, out, _ = printed_in(encoding, ["audit", old], monkeypatch)
    assert code == 0
    assert re.search(r"\] +#####[.# ] ", out)  # bars
    assert re.search(r"\(FP-GREAT\) +-?0\.\d+ \[-0\.\d+, ", out)
    code, out, _ = printed_in(encoding, ["compare", old, new, "--fail-on-worse"], monkeypatch)
    assert code == 1
    assert f"{Path(old).stem} -> {Path(new).stem}: " in out
    assert "\\u" not in out
    code, out, _ = printed_in(encoding, ["gate", old, "--fp-great=0.9"], monkeypatch)
    assert code == 1
    assert out.startswith("FAIL")


def test_data_for_programs_are_escaped_and_never_replaced(tmp_path, monkeypatch, own_interrupts):
    monkeypatch.chdir(tmp_path)
    names = ("猫→", "dog")
    network("net.npz", np.random.default_rng(0), names=names)
    code, out, _ = printed_in("cp1252", ["audit", "net.npz", "--json"], monkeypatch)
    assert (code, [entry.name for entry in Audit.from_json(out).model.classes]) == (0, list(names))
    code, _, err = printed_in("ascii", ["gate", "net.npz", "--class", "cat=1"], monkeypatch)
    assert code == 2
    assert "\\u732b->" in err


@pytest.mark.parametrize("closed", ["1>&-", "1>&- 2>&-"])
def test_closed_streams(closed, work):
    command = f"exec {shlex.quote(sys.executable)} -m gfscore gate conv_small_pgd_trained.npz --wcr 0.9 {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=work, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(("rule", "code"), [("--rdi=1.2", 0), ("--rdi=0.1", 1)])
@pytest.mark.parametrize("output", [[], ["--json"]])
def test_a_reader_that_leaves_changes_no_verdict(rule, code, output, work, monkeypatch, own_interrupts):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert run(["gate", str(work / "conv_small_pgd_trained.npz"), rule, *output]) == code


def test_names_in_error_lines_are_harmless(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    network("net.npz", np.random.default_rng(0), names=(HOSTILE, "dog"))
    assert run(["gate", "net.npz", "--class", "horse=0.1"]) == 2
    assert run(["audit", f"{HOSTILE}.npz"]) == 2
    told = capsys.readouterr().err
    assert told.count(r"\x1b]0;taken over\x07cat") == 2
    assert "\x1b" not in told


def test_tables_and_json_in_a_terminal_are_harmless(terminals, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    network("net.npz", np.random.default_rng(0), names=(HOSTILE, "dog\x9b2J"))
    assert run(["audit", "net.npz", "--quiet"]) == 0
    audit = "gfscore-audit/audit.json"
    for arguments in (["table", audit, "--format", "csv"], ["audit", "net.npz", "--json"]):
        seen = terminals.run(arguments, tmp_path)
        assert seen.code == 0
        assert r"\u001b]0;taken over\u0007cat" in seen.raw
        assert not {"\x1b", "\x07", "\x9b"} & set(seen.raw)
    assert run(["table", audit, "--format", "csv"]) == 0
    assert HOSTILE in capsys.readouterr().out  # a program gets what is there


def test_pipes_have_no_edge(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    names = tuple(f"{name} of a kind that takes many words to be told from the others" for name in CLASSES)
    for path in ("net.npz", "same.npz"):
        network(path, np.random.default_rng(0), names=names)
    assert run(["audit", "net.npz"]) == 0
    assert run(["compare", "net.npz", "same.npz"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith(names)]
    assert len(rows) == 2 * len(names)
    assert all("%" in row for row in rows)  # a row each, to its end
