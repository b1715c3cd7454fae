"""Results on their way to an object store: written here, whole, then sent whole."""

import atexit
import functools
import shutil
import uuid
from pathlib import Path

from gfscore.errors import GFScoreError
from gfscore.places.addresses import Address, is_address, parsed, root
from gfscore.places.remote import refuse_unwritable, upload

UNSENT = "unsent"  # beside the copies, and never removed: its user was told that it is kept

_bound: dict[Path, Address] = {}  # where the file or folder at a path is to be sent


def to_write(place: str | Path) -> Path:
    """The path to write to: that of the place, or one from where :func:`gfscore.files.replacing` sends it there."""
    if not is_address(place):
        return Path(place)
    address = parsed(str(place))
    if isinstance(address, Path):
        return address
    refuse_unwritable(address)
    path = _waiting(root()).joinpath(*address.parts)
    _bound[path] = address
    return path


def send(path: Path) -> None:
    """Send a file that is meant for elsewhere; any other stays. What cannot be sent is kept: the error says where."""
    for folder in (path, *path.parents):
        if folder in _bound:
            try:
                upload(path, Address.at((*_bound[folder].parts, *path.relative_to(folder).parts)))
            except GFScoreError as error:
                kept = root() / UNSENT / uuid.uuid4().hex / path.name
                kept.parent.mkdir(parents=True)
                path.rename(kept)
                error.args = (f"{error.args[0]} What was to be sent is kept: {kept}",)
                raise
            path.unlink()
            return


@functools.cache
def _waiting(copies: Path) -> Path:
    """The folder of what this process is to send, beside the copies."""
    folder = copies / uuid.uuid4().hex
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
