"""Run every command of an installed gfscore in a pseudo-terminal of 80 columns: ``python scripts/smoke.py [GFSCORE]``.

For environments into which the package was just installed: it needs the standard library alone, no tests and no
network. Every command must end with the code that is expected and show no traceback and no escape that it was given.
On Windows, which has no pseudo-terminals of this kind, the commands run in pipes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS = 80
SMALL = "--data zoo:digits --n-per-class 8 --store store"
COMMANDS = (  # words, and the exit codes that are right
    ("--version", {0}),
    ("--help", {0}),
    ("init zoo:trades zoo:digits --out gfscore.toml", {0}),
    (f"logits --model zoo:trades {SMALL} -o trades.safetensors", {0}),
    (f"logits --model zoo:standard {SMALL} -o standard.safetensors", {0}),
    (f"audit --model zoo:trades --model zoo:awp {SMALL} --out audit", {0}),
    ("audit trades.safetensors --out logits", {0}),
    ("audit missing.npz", {2}),
    ("store list --store store", {0}),
    ("store verify --store store", {0}),
    ("calibrate trades.safetensors standard.safetensors --objective classes", {0}),
    (f"certify --method smoothing --sigma 0.25 --n 100 --model zoo:noise {SMALL} --out certified", {0}),
    ("gate trades.safetensors --wcr 0.01 --out gate", {0, 1, 3}),
    ("compare standard.safetensors trades.safetensors", {0}),
    (f"check --model zoo:trades {SMALL} --out checked", {0}),
    ("repair zoo:trades --data zoo:digits --store store --out repair", {0, 2, 3}),  # 2: too few digits to show a gain
    ("leaderboard audit/audit.json", {0}),
    ("plan --classes 10 --half-width 0.1", {0}),
    ("report audit/audit.json -o report.html", {0}),
    ("figures audit/audit.json --out figures", {0}),
    ("table audit/audit.json --format csv", {0}),
    ("reproduce cifar10 --from-published", {0}),
    ("dashboard --help", {0}),
    ("demo --out demo --store store", {0}),
    ("store clear --all --store store", {0}),
)


def in_terminal(words: list[str], folder: Path) -> tuple[int, str]:
    """Exit code and everything that a program wrote to its terminal."""
    if sys.platform == "win32":
        done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")
    import fcntl
    import pty
    import struct
    import termios

    screen, inside = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    program = subprocess.Popen(words, cwd=folder, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    written = b""
    while True:
        try:
            piece = os.read(screen, 1 << 16)
        except OSError:  # how Linux says that the other end was closed
            break
        if not piece:
            break
        written += piece
    os.close(screen)
    return program.wait(), written.decode(errors="replace")


def main(program: str) -> int:
    """Run all commands; how many did not end as they should."""
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        for command, codes in COMMANDS:
            start = time.monotonic()
            code, text = in_terminal([program, *command.split()], Path(work))
            bad = code not in codes or "Traceback" in text or "failed inside" in text
            wrong += bad
            print(
                f"{'WRONG' if bad else 'ok':5} {code:3} {time.monotonic() - start:6.1f} s  gfscore {command}",
                flush=True,
            )
            if bad:
                print(text[-2000:])
    print(f"{len(COMMANDS) - wrong} of {len(COMMANDS)} commands as they should be")
    return wrong


if __name__ == "__main__":
    beside = Path(sys.executable).with_name("gfscore")  # of the environment whose Python this is
    named = sys.argv[1] if len(sys.argv) > 1 else str(beside) if beside.exists() else shutil.which("gfscore")
    sys.exit(min(main(str(named)), 1))
