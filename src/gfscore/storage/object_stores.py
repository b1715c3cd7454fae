"""What is asked of an object store, and what is said when it does not answer.

Results for a store are written here, whole, then sent whole.
"""

import atexit
import errno
import functools
import shutil
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gfscore.errors import FileError, GFScoreError, MissingFileError, TransferError, first_line, naming, require
from gfscore.storage.addresses import Address, check_key, copies_root, is_address, parse_address, redact

FRESH = {"skip_instance_cache": True, "use_listings_cache": False}  # what a store says now, not what it said before
STREAM = {"max_concurrency": 1}  # an object comes in one stream, not in parts that are held in memory
PATIENCE = {"retries": {"total_max_attempts": 4}, "connect_timeout": 10, "read_timeout": 60}
VERSIONS = ("ETag", "etag", "generation", "md5Hash", "LastModified", "updated", "mtime", "created")  # the best first
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
# Exceptions of botocore and google-auth; neither is imported just to be caught.
CREDENTIALS = (
    "NoCredentialsError", "PartialCredentialsError", "CredentialRetrievalError", "ProfileNotFound", "NoAuthTokenError",
    "TokenRetrievalError", "UnauthorizedSSOTokenError", "DefaultCredentialsError", "RefreshError",
)  # fmt: skip
UNSENT = "unsent"  # beside the copies, and never removed: its user was told that it is kept

_bound: dict[Path, Address] = {}  # where the file or folder at a path is to be sent


@dataclass(frozen=True, slots=True, order=True)
class Object:
    """An object as it is now; another content has another version."""

    address: Address
    size: int
    version: str


class ChangedError(TransferError):
    """An object that changed while it was read."""

    def __init__(self, address: Address) -> None:
        super().__init__(f"{address}: changed while it was read, twice. Run it again when nobody writes to it.")


class ForbiddenError(FileError):
    """An object that these credentials do not open."""


@functools.cache
def file_system(scheme: str) -> Any:
    """The fsspec file system of a scheme; credentials and endpoint are its own affair."""
    purpose = f"{scheme}://"
    if scheme == "gs":
        return require("gcsfs", extra="gs", purpose=purpose).GCSFileSystem(**FRESH)
    return require("s3fs", extra="s3", purpose=purpose).S3FileSystem(**FRESH, **STREAM, config_kwargs=PATIENCE)


def find_objects(address: Address, *, folder: bool) -> list[Object]:
    """The object, or all objects of the folder, sorted."""
    with faults(address):
        system = file_system(address.scheme)
        info = system.info(address.remote)
        if info["type"] == "file":
            return [_object(address, info)]
        if not folder:
            raise FileError("is a folder. Name a file.").found_in(address)
        found = system.find(address.remote, detail=True)
    inside = {name: info for name, info in found.items() if info["type"] == "file" and not name.endswith("/")}
    with naming(address):
        if not inside:
            raise FileError("holds nothing. Check the address.")
        objects = []
        for name, info in inside.items():  # names come from whoever wrote the objects
            key = check_key(name.removeprefix(f"{address.bucket}/"))
            objects.append(_object(Address(address.scheme, address.bucket, key), info))
        _refuse_both(objects)
    return sorted(objects)


def matching_addresses(address: Address) -> list[str]:
    """Addresses of the objects that a pattern such as ``s3://bucket/parts/*.npz`` stands for, sorted."""
    with faults(address):
        system = file_system(address.scheme)
        found = [address.remote] if system.isfile(address.remote) else system.glob(address.remote)
    if not found:
        raise FileError("matches nothing. Check the address.").found_in(address)
    return sorted(f"{address.scheme}://{name}" for name in found)


def download(wanted: Object, path: Path, moved: Callable[[int], None]) -> None:
    """Write the object to ``path``; refused when it is not the version that is wanted, or not whole.

    ``moved`` is told of every piece: its bytes.
    """
    with faults(wanted.address):
        system = file_system(wanted.address.scheme)
        system.get_file(wanted.address.remote, str(path), callback=_callback(moved))
        after = _object(wanted.address, system.info(wanted.address.remote))
    if after != wanted:
        raise ChangedError(wanted.address)
    if path.stat().st_size != wanted.size:
        raise TransferError(f"{wanted.address}: {path.stat().st_size} of {wanted.size} bytes came. Run it again.")


def to_write(place: str | Path) -> Path:
    """The path to write to: that of the place, or one from where :func:`send` takes it there.

    No such bucket, or nobody to ask, is noticed now, not after hours of work.
    """
    if not is_address(place):
        return Path(place)
    address = parse_address(str(place))
    if isinstance(address, Path):
        return address
    try:
        with faults(address):
            file_system(address.scheme).info(address.bucket)
    except ForbiddenError:  # who may write need not be allowed to look
        pass
    path = _waiting(copies_root()).joinpath(*address.parts)
    _bound[path] = address
    return path


@functools.cache
def _waiting(copies: Path) -> Path:
    """The folder of what this process is to send, beside the copies."""
    folder = copies / uuid.uuid4().hex
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def send(path: Path) -> None:
    """Send a file that is meant for elsewhere; any other stays. What cannot be sent is kept: the error says where."""
    for folder in (path, *path.parents):
        if folder in _bound:
            try:
                _upload(path, Address.at((*_bound[folder].parts, *path.relative_to(folder).parts)))
            except GFScoreError as error:
                kept = copies_root() / UNSENT / uuid.uuid4().hex / path.name
                kept.parent.mkdir(parents=True)
                path.rename(kept)
                error.args = (f"{error.args[0]} What was to be sent is kept: {kept}",)
                raise
            path.unlink()
            return


def _upload(path: Path, address: Address) -> None:
    """Put a file at an address, whole: until it is there, what was there before stays."""
    with faults(address):
        system = file_system(address.scheme)
        system.put_file(str(path), address.remote)
        size = system.info(address.remote)["size"]
    if size != path.stat().st_size:
        raise TransferError(f"{address}: {size} of {path.stat().st_size} bytes arrived. Run it again.")


@contextmanager
def faults(address: Address) -> Iterator[None]:
    """Every failure as one line: 2 for what another address or other credentials would mend, 4 for the rest."""
    try:
        yield
    except GFScoreError:
        raise
    except FileNotFoundError as error:
        what = "does not exist" if _has_bucket(address) else f"is in no bucket: there is no {address.bucket!r}"
        raise MissingFileError(f"{what}. Check the address.").found_in(address) from error
    except Exception as error:  # a store's library has errors of many kinds
        reason = redact(first_line(error))
        if isinstance(error, PermissionError):
            told = f"is not open to these credentials ({reason}). Check them, and what they allow."
            raise ForbiddenError(told).found_in(address) from error
        if type(error).__name__ in CREDENTIALS:
            told = f"needs credentials ({reason}). Set them in the environment (docs/places.md)."
            raise FileError(told).found_in(address) from error
        if isinstance(error, OSError) and error.errno in NO_SPACE:
            told = "there is no space for its copy. Free some, or set GFSCORE_COPIES to another folder."
            raise TransferError(f"{address}: {told}") from error
        raise TransferError(
            f"{address}: the transfer failed ({type(error).__name__}: {reason}). Check the network and the "
            "endpoint, and run it again."
        ) from error


def _has_bucket(address: Address) -> bool:
    try:
        file_system(address.scheme).info(address.bucket)
    except FileNotFoundError:
        return False
    except Exception:  # no answer is no proof
        return True
    return True


def _object(address: Address, info: dict[str, Any]) -> Object:
    version = next((f"{name} {info[name]}" for name in VERSIONS if info.get(name)), "")
    return Object(address, int(info["size"]), version)


def _refuse_both(objects: Sequence[Object]) -> None:
    """A store may hold ``a`` and ``a/b``; no disk can."""
    keys = {each.address.key for each in objects}
    for folder in (str(folder) for key in sorted(keys) for folder in PurePosixPath(key).parents):
        if folder in keys:
            raise FileError(f"the key {folder!r} is an object and a folder at once. Rename the object.")


def _callback(moved: Callable[[int], None]) -> Any:
    fsspec = require("fsspec.callbacks", extra="s3", purpose="a transfer")

    class Told(fsspec.Callback):  # type: ignore[misc, name-defined]
        def relative_update(self, inc: int = 1) -> None:
            moved(inc)

    return Told()
