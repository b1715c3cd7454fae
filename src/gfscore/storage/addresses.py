"""Addresses of objects, ``s3://bucket/key``, and where on this disk each of them stands.

A copy of ``s3://bucket/a/b.npz`` is the file ``<root>/<copy>/s3/bucket/a/b.npz``: every name in the address is one
in the path, so neither leads out of its folder, and an address can be read off a path.
"""

import os
import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from gfscore.errors import FileError, OptionError, naming

SCHEMES = ("s3", "gs")
NAME = r"[A-Za-z][A-Za-z0-9+.-]*"
ADDRESS = re.compile(rf"(?P<scheme>{NAME}(?:::{NAME})*)://(?P<rest>.*)", re.DOTALL)  # fsspec chains schemes by ::
SPOILT = re.compile(r"(?:s3|gs|file):/(?!/)")  # what a Path makes of an address
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
QUERY = re.compile(r"\?[^/]*=")
COPY = r"[0-9a-f]{32}"  # the name of a copy's folder
# What may be secret: all between :// and @ when a password or a bare user stands there, and a query after the key.
PASSWORD = re.compile(r"://(?:[^/@\s:]*:[^\s'\"]*@|[^/@\s'\"]*@)")
SIGNATURE = re.compile(r"(://[^\s?'\"]*)\?[^\s'\"]*=[^\s'\"]*")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
LONGEST = 255  # bytes in a file's name

_roots: set[Path] = set()  # folders of copies that this process used


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """An object, or a folder of them: keys that begin alike, up to a slash."""

    scheme: str
    bucket: str
    key: str  # without slashes at its ends; empty for the whole bucket

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.key}"

    @property
    def remote(self) -> str:
        """As a file system of its scheme names it."""
        return f"{self.bucket}/{self.key}" if self.key else self.bucket

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the folders and the file that a copy is, below the folder of the copy."""
        return (self.scheme, self.bucket, *(self.key.split("/") if self.key else ()))

    @classmethod
    def at(cls, parts: Sequence[str]) -> Self:
        """The address with these parts."""
        scheme, bucket, *names = parts
        return cls(scheme, bucket, "/".join(names))

    def beside(self, name: str) -> Self:
        """The object that a relative path leads to from this one's folder, and not out of it."""
        folder, slash, _ = self.key.rpartition("/")
        return type(self)(self.scheme, self.bucket, folder + slash + check_key(posixpath.normpath(name)))


def is_address(place: str | Path) -> bool:
    """Whether this is an address, of whatever scheme; all else is a path.

    >>> is_address("s3://bucket/logits.npz"), is_address("logits.npz"), is_address("timm:resnet18")
    (True, False, False)
    """
    if SPOILT.match(str(place)):
        raise OptionError("has one slash where an address has two. Give it as text, not as a Path.").found_in(place)
    return isinstance(place, str) and ADDRESS.match(place) is not None


def parse_address(text: str) -> Address | Path:
    """The address; for ``file://`` the path.

    >>> parse_address("s3://bucket/a/logits.npz")
    Address(scheme='s3', bucket='bucket', key='a/logits.npz')
    >>> parse_address("file:///data/my%20logits.npz").as_posix()
    '/data/my logits.npz'
    """
    found = ADDRESS.match(text)
    scheme, rest = (found["scheme"].lower(), found["rest"]) if found else ("", "")
    bucket, slash, key = rest.partition("/")
    with naming(redact(text)):
        if scheme == "file":
            if bucket not in ("", "localhost") or not slash:
                raise OptionError("is not on this machine. Write file:///FOLDER/FILE, with three slashes.")
            return Path(f"/{unquote(key)}")
        if scheme not in SCHEMES or "::" in text:
            raise OptionError(
                "is no address that is known. Give a path, or an address that begins with s3://, gs:// or file://."
            )
        if PASSWORD.search(text) or QUERY.search(rest):
            raise OptionError(
                "was given with credentials or a query. Leave them out: credentials come from the environment "
                "(docs/places.md)."
            )
        if not BUCKET.fullmatch(bucket):
            raise OptionError(f"names no bucket. Write {scheme}://BUCKET/KEY.")
        key = key.removesuffix("/")
        return Address(scheme, bucket, check_key(key) if key else "")


def check_key(key: str) -> str:
    """The key, once all its parts are names that a file can have, so that its copy stays in its folder."""
    for name in key.split("/"):
        if name in ("", ".", "..") or CONTROL.search(name) or len(name.encode(errors="replace")) > LONGEST:
            raise OptionError(f"the key {key!r} has the part {name!r}, which is no name for a file. Rename the object.")
    return key


def user_cache() -> Path:
    """What gfscore keeps for the user and could make again."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gfscore"
    except RuntimeError as error:  # a user whom the system does not know, as containers have them
        raise OptionError(
            "there is no home folder to keep what is computed in. Name another: --store, or GFSCORE_STORE."
        ) from error


def local_folder(place: str | Path, what: str) -> Path:
    """The path of a folder that is worked in, which needs locks and memory mapping: no object store has those."""
    path = parse_address(str(place)) if is_address(place) else Path(place)
    if not isinstance(path, Path):
        raise OptionError(f"{what} must be a folder on this machine. Name one.").found_in(path)
    return path


def copies_root() -> Path:
    """Where copies are kept: ``$GFSCORE_COPIES``, or a folder in the user's cache; made if it is not there.

    What was fetched with somebody's credentials is for nobody else to read.
    """
    folder = local_folder(os.environ.get("GFSCORE_COPIES") or user_cache() / "copies", "GFSCORE_COPIES").resolve()
    _roots.add(folder)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        told = f"cannot be made ({error.strerror}). Set GFSCORE_COPIES to another folder."
        raise FileError(told).found_in(folder) from error
    return folder


def address_of(path: Path) -> Address | None:
    """The address that a copy at this path has; None for any other path."""
    for folder in _roots:
        parts = path.relative_to(folder).parts[1:] if path.is_relative_to(folder) else ()
        if len(parts) > 1 and parts[0] in SCHEMES:
            return Address.at(parts)
    return None


def redact(text: object) -> str:
    """As people may see it: copies by their address, and nothing that could be a password.

    >>> redact("cannot read s3://user:pass@bucket/key?X-Amz-Signature=abc (403)")
    'cannot read s3://bucket/key (403)'
    """
    seen = str(text)
    for folder in _roots:
        seen = re.sub(rf"{re.escape(str(folder))}/{COPY}/({'|'.join(SCHEMES)})/", r"\1://", seen)
    return SIGNATURE.sub(r"\1", PASSWORD.sub("://", seen))
