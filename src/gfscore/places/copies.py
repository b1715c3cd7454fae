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

from gfscore.digests import sha256
from gfscore.errors import TransferError
from gfscore.files import cannot_write, replacing
from gfscore.places.addresses import Address, address_of, is_address, parsed, root
from gfscore.places.outgoing import UNSENT
from gfscore.places.remote import ChangedError, Object, download, look, matching

TOGETHER = 8  # transfers at a time
LISTED = "objects.txt"  # in a copy: the objects it has so far, a line each, which begins with the SHA-256
DIGITS = 64  # of a SHA-256
DAY = 24 * 3600
UNUSED, BUSY, MOST = 7 * DAY, DAY, 50_000_000_000  # seconds, seconds, bytes
FIRST_WORD, NEXT_WORD = 2.0, 10.0  # seconds after which a transfer says how far it is

Find = Callable[[], list[Object]]
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
    """The same for several places, whose objects are fetched side by side."""
    found = [parsed(str(place)) if is_address(place) else Path(place) for place in places]
    remote = {each: functools.partial(look, each, folder=folder) for each in found if isinstance(each, Address)}
    copied = _copied(remote) if remote else {}
    return [copied[each] if isinstance(each, Address) else each for each in found]


def with_beside(path: Path, names: Sequence[str]) -> Path:
    """A copy of the same object together with others of its folder; any other path as it is."""
    address = address_of(path)
    if address is None or not names:
        return path
    wanted = [address, *(address.beside(name) for name in names)]
    return _copied({address: lambda: [found for each in wanted for found in look(each, folder=False)]})[address]


def expanded(place: str) -> list[str]:
    """An address with ``*`` or ``[...]`` as the addresses that it stands for: no shell does that."""
    if not is_address(place) or not set(place) & set("*["):
        return [place]
    address = parsed(place)
    return [place] if isinstance(address, Path) else matching(address)


def _copied(remote: Mapping[Address, Find]) -> dict[Address, Path]:
    """The path of each address in a copy of what is found; what changes while it is read is looked for once more."""

    def find_all() -> dict[Address, list[Object]]:
        return dict(zip(remote, _together(lambda find: find(), remote.values()), strict=True))

    try:
        return _copy(find_all())
    except ChangedError:
        return _copy(find_all())


def _copy(found: Mapping[Address, list[Object]]) -> dict[Address, Path]:
    """Complete a copy for each address."""
    copies = root()
    folders, missing = {}, []
    for address, objects in found.items():
        of_address = _hash(str(address))
        of_objects = _hash("".join(f"{_line(each)}\n" for each in objects))
        folder = folders[address] = copies / f"{of_address}{of_objects}"
        wanted = _not_there(folder, objects)
        if wanted:
            clean_once(copies)
            _link(wanted, folder, [other for other in copies.glob(f"{of_address}*") if other != folder])
            missing += [(folder, each) for each in _not_there(folder, wanted)]
    if missing:
        _refuse_too_large([each for _, each in missing], copies)
        _transfer(missing)
    for folder in folders.values():
        os.utime(folder)  # when it was used last
    return {address: folder.joinpath(*address.parts) for address, folder in folders.items()}


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


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:16]


def _not_there(folder: Path, objects: Sequence[Object]) -> list[Object]:
    """The objects of which the copy does not have the very bytes that were fetched."""
    digests = _digests(folder)
    sound = _together(lambda each: _is_sound(folder, each, digests.get(_line(each))), objects)
    return [each for each, is_sound in zip(objects, sound, strict=True) if not is_sound]


def _is_sound(folder: Path, wanted: Object, digest: str | None) -> bool:
    path = folder.joinpath(*wanted.address.parts)
    return digest is not None and path.is_file() and path.stat().st_size == wanted.size and sha256(path) == digest


def _link(objects: Sequence[Object], folder: Path, others: Sequence[Path]) -> None:
    """Take from other copies of the same address what has not changed since."""
    for other in others:
        with suppress(OSError):  # it is under way or being removed, or the disk knows no links
            digests, damaged = _digests(other), _not_there(other, objects)
            for each in (each for each in objects if each not in damaged):
                path = folder.joinpath(*each.address.parts)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                path.hardlink_to(other.joinpath(*each.address.parts))
                _note(folder, each, digests[_line(each)])


def _refuse_too_large(objects: Sequence[Object], copies: Path) -> None:
    size, free = sum(each.size for each in objects), shutil.disk_usage(copies).free
    if size > free:
        raise TransferError(
            f"{_named(objects)}: to copy that takes {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free. Free "
            "some, or set GFSCORE_COPIES to another folder."
        )


def _transfer(missing: Sequence[tuple[Path, Object]]) -> None:
    moved = _Progress([each for _, each in missing])

    def fetch(each: tuple[Path, Object]) -> None:
        folder, wanted = each
        with replacing(folder.joinpath(*wanted.address.parts)) as temporary:
            download(wanted, temporary, moved)
            digest = sha256(temporary)
        _note(folder, wanted, digest)

    _together(fetch, missing, moved.stop)


def _together(
    work: Callable[[Given], Made], given: Iterable[Given], stop: Callable[[], None] = lambda: None
) -> list[Made]:
    """The work on each of them, a few at a time; after a failure no other begins, and those under way should stop."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        try:
            return list(pool.map(work, given))
        except BaseException:
            stop()
            pool.shutdown(cancel_futures=True)
            raise


def _named(objects: Sequence[Object]) -> str:
    first = str(objects[0].address)
    return first if len(objects) == 1 else f"{first} and {len(objects) - 1:,} more"


class _Progress:
    """Says how far a long transfer is, now and then."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self.report, self.total, self.done = report.get(), sum(each.size for each in objects), 0
        self.what = _named(objects)
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
def clean_once(folder: Path) -> None:
    """Clean, once a process."""
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
