"""Addresses: what is one, what is refused, and what nobody gets to see."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gfscore.errors import OptionError
from gfscore.storage import address_of, redact, to_read, to_write
from gfscore.storage.addresses import Address, check_key, copies_root

UNKNOWN = "is no address that is known. Give a path, or an address that begins with s3://, gs:// or file://."
SECRET = (
    "was given with credentials or a query. Leave them out: credentials come from the environment (docs/places.md)."
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("http://host/net.npz", f"http://host/net.npz: {UNKNOWN}"),
        ("https://u:p@host/net.npz?X-Amz-Signature=0", f"https://host/net.npz: {UNKNOWN}"),
        ("ftp://host/net.npz", f"ftp://host/net.npz: {UNKNOWN}"),
        ("memory://net.npz", f"memory://net.npz: {UNKNOWN}"),
        ("sftp://u@host/net.npz", f"sftp://host/net.npz: {UNKNOWN}"),
        ("s3://b/a::zip://c", f"s3://b/a::zip://c: {UNKNOWN}"),
        ("simplecache::s3://b/net.npz", f"simplecache::s3://b/net.npz: {UNKNOWN}"),
        ("zip://net.npz::s3://b/net.zip", f"zip://net.npz::s3://b/net.zip: {UNKNOWN}"),
        ("s3://AKID:se/cret@b/net.npz", f"s3://b/net.npz: {SECRET}"),
        ("s3://user@b/net.npz", f"s3://b/net.npz: {SECRET}"),
        ("s3://b/net.npz?versionId=1&X-Amz-Signature=0", f"s3://b/net.npz: {SECRET}"),
        ("s3://", "s3://: names no bucket. Write s3://BUCKET/KEY."),
        ("gs:///net.npz", "gs:///net.npz: names no bucket. Write gs://BUCKET/KEY."),
        ("s3://..", "s3://..: names no bucket. Write s3://BUCKET/KEY."),
        (
            "s3://b/../../x",
            "s3://b/../../x: the key '../../x' has the part '..', which is no name for a file. Rename the object.",
        ),
        ("s3://b//x", "s3://b//x: the key '/x' has the part '', which is no name for a file. Rename the object."),
        (
            "s3://b/a\0b",
            "s3://b/a\0b: the key 'a\\x00b' has the part 'a\\x00b', which is no name for a file. Rename the object.",
        ),
        (
            "file://host/net.npz",
            "file://host/net.npz: is not on this machine. Write file:///FOLDER/FILE, with three slashes.",
        ),
        (
            "file://net.npz",
            "file://net.npz: is not on this machine. Write file:///FOLDER/FILE, with three slashes.",
        ),
    ],
)
@pytest.mark.parametrize("use", [to_read, to_write])
def test_what_is_refused(use, text, message):
    with pytest.raises(OptionError) as refused:
        use(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("use", [to_read, to_write])
def test_what_a_path_has_spoilt_is_refused_not_guessed(use):
    with pytest.raises(OptionError) as refused:
        use(Path("s3://bucket/net.npz"))
    message = "has one slash where an address has two. Give it as text, not as a Path."
    assert str(refused.value) == f"s3:/bucket/net.npz: {message}"


@pytest.mark.parametrize("use", [to_read, to_write])
def test_paths_stay_what_they_are(use, tmp_path):
    odd = tmp_path / "100% of it.npz"
    for place in ("net.npz", "./a/../net.npz", "timm:resnet18", odd):
        assert use(place) == Path(place)
    assert use(odd.as_uri()) == use(f"file://localhost{odd.as_uri().removeprefix('file://')}") == odd


def test_an_address_can_be_read_off_the_path_of_its_copy(copies):
    address = Address("s3", "bucket", "a/b c.npz")
    path = copies_root() / ("0" * 32) / Path(*address.parts)
    assert address_of(path) == address
    assert redact(f"{path}: is empty") == f"{address}: is empty"
    assert address_of(copies.parent / "net.npz") is None
    assert address_of(copies / "net.npz") is None
    assert address_of(copies / "unsent" / "0" / "net.npz") is None


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.text("./\\a\0 ", max_size=8))
@example("../../x")
@example("/etc/passwd")
@example("a/../../x")
def test_no_key_leads_out_of_its_folder(key):
    try:
        address = Address("s3", "bucket", check_key(key))
    except OptionError:
        return
    path = Path("/copies").joinpath(*address.parts)
    assert Path(os.path.normpath(path)) == path
    assert path.parts[:4] == ("/", "copies", "s3", "bucket")
    assert Address.at(path.relative_to("/copies").parts) == address


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("s3://AKID:se/cr+et@bucket/a.npz", "s3://bucket/a.npz"),
        ("s3://AKID:se/cr+et@bucket/a@b.npz", "s3://b.npz"),  # rather too little than a secret
        ("s3://bucket/a@b.npz", "s3://bucket/a@b.npz"),
        ("gfscore audit 's3://b/k?X-Amz-Credential=A&X-Amz-Signature=B' --out x", "gfscore audit 's3://b/k' --out x"),
        ('Could not connect: "https://u:p@host/b/k?sig=1"', 'Could not connect: "https://host/b/k"'),
        ("timm:resnet18?checkpoint=net.pth", "timm:resnet18?checkpoint=net.pth"),
    ],
)
def test_no_secret_is_shown(text, seen):
    assert redact(text) == seen
