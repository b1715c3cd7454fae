"""Copies of remote objects on this disk, as memory mapping and most readers need a file.

A copy is a folder named by hashes of the address and of what it holds: objects, sizes and versions. So it never goes
stale; when an object changes there is another copy, which shares the rest with the one before. A file in it is written
whole or not at all, and only when the store says afterwards that its version is still the same. Its SHA-256 is noted as
it comes, and looked at whenever it is used: a file that is no longer what was fetched is fetched again. Copies that
nobody used for a week go before a new one is made, and the oldest ones when all together are too large, but none that
was used in the last day.
"""

import functools
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TypeVar

from gfscore.errors import TransferError
from gfscore.storage.addresses import Address, address_of, copies_root, is_address, parse_address
from gfscore.storage.files import atomic_file, cannot_write, sha256
from gfscore.storage.object_stores import UNSENT, ChangedError, Object, download, find_objects, matching_addresses

TRANSFERS = 8  # at a time
LISTED = "objects.txt"  # in a copy: the objects it has so far, a line each, which begins with the SHA-256
DIGITS = 64  # of a SHA-256
DAY = 24 * 3600
UNUSED, BUSY, MOST = 7 * DAY, DAY, 50_000_000_000  # seconds, seconds, bytes
FIRST_WORD, NEXT_WORD = 2.0, 10.0  # seconds after which a transfer says how far it is

Given = TypeVar("Given")
Made = TypeVar("Made")

# Where a long transfer says how far it is; a library keeps silent.
report: ContextVar[Callable[[str], None] | None] = ContextVar("report", default=None)


def to_read(place: str | Path, *, folder: bool = False) -> Path:
    """The path of a file, or of a ``folder`` too: a place on this disk as it is, any other as a copy.

    >>> to_read("logits.npz").name
    'logits.npz'
    """
    return all_to_read([place], folder=folder)[0]


def all_to_read(places: Sequence[str | Path], *, folder: bool = False) -> list[Path]:
    """Paths of several places, whose objects are fetched side by side."""
    found = [parse_address(str(place)) if is_address(place) else Path(place) for place in places]
    remote = {each: [each] for each in found if isinstance(each, Address)}
    copied = _copy(remote, folder=folder) if remote else {}
    return [copied[each] if isinstance(each, Address) else each for each in found]


def with_beside(path: Path, names: Sequence[str]) -> Path:
    """A copy of an object together with others of its folder; any other path as it is."""
    address = address_of(path)
    if address is None or not names:
        return path
    return _copy({address: [address, *(address.beside(name) for name in names)]}, folder=False)[address]


def expand_pattern(place: str) -> list[str]:
    """An address with ``*`` or ``[...]`` as the addresses that it stands for: no shell does that."""
    if not is_address(place) or not set(place) & set("*["):
        return [place]
    address = parse_address(place)
    return [place] if isinstance(address, Path) else matching_addresses(address)


def _copy(wanted: Mapping[Address, list[Address]], *, folder: bool) -> dict[Address, Path]:
    """The path of each address in a copy of all that is wanted with it; what changes meanwhile is fetched once more."""

    def find(addresses: list[Address]) -> list[Object]:
        return [found for each in addresses for found in find_objects(each, folder=folder)]

    try:
        return _complete(dict(zip(wanted, _together(find, wanted.values()), strict=True)))
    except ChangedError:
        return _complete(dict(zip(wanted, _together(find, wanted.values()), strict=True)))


def _complete(found: Mapping[Address, list[Object]]) -> dict[Address, Path]:
    """A complete copy for each address."""
    copies = copies_root()
    folders, missing = {}, []
    for address, objects in found.items():
        of_address = _hash(str(address))
        of_objects = _hash("".join(f"{_line(each)}\n" for each in objects))
        folder = folders[address] = copies / f"{of_address}{of_objects}"
        wanted = _not_there(folder, objects)
        if wanted:
            _clean_once(copies)
            _link(wanted, folder, [other for other in copies.glob(f"{of_address}*") if other != folder])
            missing += [(folder, each) for each in _not_there(folder, wanted)]
    if missing:
        _transfer(missing, copies)
    for folder in folders.values():
        os.utime(folder)  # when it was used last
    return {address: folder.joinpath(*address.parts) for address, folder in folders.items()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _line(each: Object) -> str:
    return f"{each.address} {each.size} {each.version}"


def _digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of each object that a copy has, by its line; one that was noted again counts as it was last."""
    try:
        lines = (folder / LISTED).read_text(encoding="utf-8", errors="surrogateescape").split("\n")[:-1]
    except FileNotFoundError:
        return {}
    return {line[DIGITS + 1 :]: line[:DIGITS] for line in lines}


def _note(folder: Path, each: Object, digest: str) -> None:
    """Add an object to the list of a copy: at once, so that a transfer that is interrupted goes on after it."""
    line = f"{digest} {_line(each)}\n".encode(errors="surrogateescape")
    try:
        with (folder / LISTED).open("ab", buffering=0) as file:
            file.write(line)
    except OSError as error:
        raise cannot_write(folder / LISTED, error, begun=True) from error


def _not_there(folder: Path, objects: Sequence[Object]) -> list[Object]:
    """The objects of which the copy does not have the very bytes that were fetched."""
    digests = _digests(folder)

    def is_sound(each: Object) -> bool:
        path, digest = folder.joinpath(*each.address.parts), digests.get(_line(each))
        return digest is not None and path.is_file() and path.stat().st_size == each.size and sha256(path) == digest

    return [each for each, sound in zip(objects, _together(is_sound, objects), strict=True) if not sound]


def _link(objects: Sequence[Object], folder: Path, others: Sequence[Path]) -> None:
    """Take from other copies of the address what has not changed since."""
    for other in others:
        with suppress(OSError):  # it is under way or being removed, or the disk knows no links
            digests, damaged = _digests(other), _not_there(other, objects)
            for each in (each for each in objects if each not in damaged):
                path = folder.joinpath(*each.address.parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                path.hardlink_to(other.joinpath(*each.address.parts))
                _note(folder, each, digests[_line(each)])


def _transfer(missing: Sequence[tuple[Path, Object]], copies: Path) -> None:
    moved = _Progress([each for _, each in missing])
    free = shutil.disk_usage(copies).free
    if moved.total > free:
        raise TransferError(
            f"{moved.what}: to copy that takes {moved.total / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free. Free "
            "some, or set GFSCORE_COPIES to another folder."
        )

    def fetch(each: tuple[Path, Object]) -> None:
        folder, wanted = each
        with atomic_file(folder.joinpath(*wanted.address.parts)) as temporary:
            download(wanted, temporary, moved)
            digest = sha256(temporary)
        _note(folder, wanted, digest)

    _together(fetch, missing, moved.stop)


def _together(
    work: Callable[[Given], Made], given: Iterable[Given], stop: Callable[[], None] = lambda: None
) -> list[Made]:
    """The work on each of them, a few at a time; after a failure no other begins, and those under way should stop."""
    with ThreadPoolExecutor(TRANSFERS) as pool:
        try:
            return list(pool.map(work, given))
        except BaseException:
            stop()
            pool.shutdown(cancel_futures=True)
            raise


class _Progress:
    """Says how far a long transfer is, now and then."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.report, self.total, self.done = report.get(), sum(each.size for each in objects), 0
        more = f" and {len(objects) - 1:,} more" if len(objects) > 1 else ""
        self.what = f"{objects[0].address}{more}"
        self.next, self.stopped = time.monotonic() + FIRST_WORD, False

    def stop(self) -> None:
        """Let each transfer end at its next piece."""
        self.stopped = True

    def __call__(self, n_bytes: int) -> None:
        if self.stopped:
            raise InterruptedError
        self.done += n_bytes
        if self.report is not None and time.monotonic() >= self.next:
            self.next = time.monotonic() + NEXT_WORD
            self.report(f"{self.what}: {self.done / 1e6:,.0f} of {self.total / 1e6:,.0f} MB")


@functools.cache
def _clean_once(folder: Path) -> None:
    clean(folder, time.time())


def clean(folder: Path, now: float) -> None:
    """Remove copies that were not used for long, and the oldest ones beyond what all may take; nothing but copies."""
    total = 0
    folders = [path for path in folder.iterdir() if path.is_dir() and path.name != UNSENT]
    with suppress(FileNotFoundError):  # another process cleans at the same time
        for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True):
            age = now - path.stat().st_mtime
            files = [file.stat() for file in path.rglob("*") if file.is_file()]
            total += sum(file.st_size // file.st_nlink for file in files)
            if age > UNUSED or (total > MOST and age > BUSY):
                shutil.rmtree(path, ignore_errors=True)
