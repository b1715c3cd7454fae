"""Copies of remote objects on this disk, as memory mapping and most readers need a file.

A copy is a folder named by hashes of the address and of what it holds: objects, sizes and versions. So it never goes
stale; when an object changes there is another copy, which shares the rest with the one before. A file in it is written
whole or not at all, and only when the store says afterwards that its version is still the same. Copies that nobody used
for a week go before a new one is made, and the oldest ones when all together are too large, but none that was used in
the last day.
"""

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

from gfscore.errors import TransferError
from gfscore.files import replacing, write_text
from gfscore.places.addresses import Address, address_of, is_address, parsed, root
from gfscore.places.remote import ChangedError, Object, download, look, matching

TOGETHER = 8  # transfers at a time
LISTED = "objects.txt"  # in a finished copy: its objects, a line each
DAY = 24 * 3600
UNUSED, BUSY, MOST = 7 * DAY, DAY, 50_000_000_000  # seconds, seconds, bytes
FIRST_WORD, NEXT_WORD = 2.0, 10.0  # seconds after which a transfer says how far it is

# Where a long transfer says how far it is; a library keeps silent.
report: ContextVar[Callable[[str], None] | None] = ContextVar("report", default=None)


def to_read(place: str | Path, *, folder: bool = False) -> Path:
    """The path of a file, or of a ``folder`` too: a place on this disk as it is, any other as a copy.

    >>> to_read("logits.npz").name
    'logits.npz'
    """
    if not is_address(place):
        return Path(place)
    address = parsed(str(place))
    if isinstance(address, Path):
        return address
    return _copied(address, lambda: look(address, folder=folder))


def with_beside(path: Path, names: Sequence[str]) -> Path:
    """A copy of the same object together with others of its folder; any other path as it is."""
    address = address_of(path)
    if address is None or not names:
        return path
    wanted = [address, *(address.beside(name) for name in names)]
    return _copied(address, lambda: [found for each in wanted for found in look(each, folder=False)])


def expanded(place: str) -> list[str]:
    """An address with ``*`` or ``[...]`` as the addresses that it stands for: no shell does that."""
    if not is_address(place) or not set(place) & set("*["):
        return [place]
    address = parsed(place)
    return [place] if isinstance(address, Path) else matching(address)


def _copied(address: Address, find: Callable[[], list[Object]]) -> Path:
    """The path of an address in a copy of what is found; what changes while it is read is looked for once more."""
    try:
        folder = _copy(address, find())
    except ChangedError:
        folder = _copy(address, find())
    return folder.joinpath(*address.parts)


def _copy(address: Address, objects: Sequence[Object]) -> Path:
    listed = "".join(f"{each.address} {each.size} {each.version}\n" for each in objects)
    of_address = _hash(str(address))
    copies = root()
    folder = copies / f"{of_address}{_hash(listed)}"
    missing = [each for each in objects if not _is_there(folder, each)]
    if missing:
        clean_once(copies)
        _link(missing, folder, [other for other in copies.glob(f"{of_address}*") if other != folder])
        missing = [each for each in missing if not _is_there(folder, each)]
        _refuse_too_large(address, sum(each.size for each in missing), copies)
        _transfer(missing, folder)
        write_text(folder / LISTED, listed)
    os.utime(folder)  # when it was used last
    return folder


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _is_there(folder: Path, wanted: Object) -> bool:
    path = folder.joinpath(*wanted.address.parts)
    return path.is_file() and path.stat().st_size == wanted.size


def _link(objects: Sequence[Object], folder: Path, others: Sequence[Path]) -> None:
    """Take from other copies of the same address what has not changed since."""
    for other in others:
        with suppress(OSError):  # it is under way or being removed, or the disk knows no links
            listed = set((other / LISTED).read_text(encoding="utf-8").splitlines())
            for each in objects:
                if f"{each.address} {each.size} {each.version}" in listed and _is_there(other, each):
                    path = folder.joinpath(*each.address.parts)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.unlink(missing_ok=True)
                    path.hardlink_to(other.joinpath(*each.address.parts))


def _refuse_too_large(address: Address, size: int, copies: Path) -> None:
    free = shutil.disk_usage(copies).free
    if size > free:
        raise TransferError(
            f"{address}: its copy takes {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free. Free some, or set "
            "GFSCORE_COPIES to another folder."
        )


def _transfer(objects: Sequence[Object], folder: Path) -> None:
    moved = _Progress(objects)

    def fetch(wanted: Object) -> None:
        with replacing(folder.joinpath(*wanted.address.parts)) as temporary:
            download(wanted, temporary, moved)

    with ThreadPoolExecutor(TOGETHER) as pool:
        try:
            for _ in pool.map(fetch, objects):
                pass
        except BaseException:
            moved.stopped = True  # what is under way ends at its next piece, and the rest does not begin
            pool.shutdown(cancel_futures=True)
            raise


class _Progress:
    """Says how far a long transfer is, now and then."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.report, self.total, self.done = report.get(), sum(each.size for each in objects), 0
        self.what = str(objects[0].address) if len(objects) == 1 else f"{len(objects):,} objects"
        self.next, self.stopped = time.monotonic() + FIRST_WORD, False

    def __call__(self, n_bytes: int) -> None:
        if self.stopped:
            raise InterruptedError
        self.done += n_bytes
        if self.report is not None and time.monotonic() >= self.next:
            self.next = time.monotonic() + NEXT_WORD
            self.report(f"{self.what}: {self.done / 1e6:,.0f} of {self.total / 1e6:,.0f} MB")


@functools.cache
def clean_once(folder: Path) -> None:
    """Clean, once a process."""
    clean(folder, time.time())


def clean(folder: Path, now: float) -> None:
    """Remove copies that were not used for long, and the oldest ones beyond what all may take."""
    total = 0
    folders = [path for path in folder.iterdir() if path.is_dir()]
    with suppress(FileNotFoundError):  # another process cleans at the same time
        for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True):
            age = now - path.stat().st_mtime
            files = [file.stat() for file in path.rglob("*") if file.is_file()]
            total += sum(file.st_size // file.st_nlink for file in files)
            if age > UNUSED or (total > MOST and age > BUSY):
                shutil.rmtree(path, ignore_errors=True)
