"""Ways to damage a file: bytes anywhere, and what a format's own structure invites. All take a ``random.Random``."""

import io
import json
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from random import Random

NUMBERS = (
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    2**15,
    2**16 - 1,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
WORDS = (
    b"NaN",
    b"Infinity",
    b"-1",
    b"1e400",
    b"null",
    b"true",
    b'""',
    b"[]",
    b"{}",
    b"9" * 400,
    b"\xff\xfe",
    b"\0",
    b"\xed\xa0\x80",
)
NAMES = (
    "../../x.npy",
    "/etc/x.npy",
    "logits.npy",
    "labels.npy",
    "logits",
    "a/b.npy",
    ".npy",
    "LOGITS.npy",
    "x" * 300 + ".npy",
)

Mutation = Callable[[bytes, Random], bytes]


def flip(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, random: Random) -> bytes:
    """A number that readers may trust, somewhere."""
    size = random.choice((1, 2, 4, 8))
    number = (random.choice(NUMBERS) % 2 ** (8 * size)).to_bytes(size, random.choice(("little", "big")))
    start = random.randrange(len(content) + 1)
    return content[:start] + number + content[start + size :]


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def remove(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content) + 1)
    return content[:start] + content[start + random.choice((1, 2, 4, 16, 100)) :]


def repeat(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content) + 1)
    piece = content[start : start + random.choice((1, 4, 16, 64))]
    return content[:start] + piece * random.choice((2, 3, 50)) + content[start:]


def insert(content: bytes, random: Random) -> bytes:
    start = random.randrange(len(content) + 1)
    return content[:start] + random.choice(WORDS) + content[start:]


def word(content: bytes, random: Random) -> bytes:
    """Another value in the place of a number or a string of a text."""
    places = list(re.finditer(rb'-?\d[\d.e+-]*|"[^"]*"', content))
    if not places:
        return insert(content, random)
    place = random.choice(places)
    return content[: place.start()] + random.choice(WORDS) + content[place.end() :]


def nest(content: bytes, random: Random) -> bytes:
    depth = random.choice((100, 2000, 100_000))
    opening, closing = random.choice(((b"[", b"]"), (b'{"a":', b"}")))
    middle = random.choice((b"1", content[:100]))
    start = random.choice((0, random.randrange(len(content) + 1)))
    return content[:start] + opening * depth + middle + closing * depth + content[start:]


def members(content: bytes, random: Random) -> bytes:
    """A zip archive with members that are renamed, doubled, left out, stored otherwise, or with another header."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            found = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # damaged already: leave it
        return content
    if not found:
        return content
    index = random.randrange(len(found))
    name, data = found[index]
    match random.randrange(5):
        case 0:
            found[index] = (random.choice(NAMES), data)
        case 1:
            found.append((name, random.choice(found)[1]))
        case 2:
            del found[index]
        case 3:
            found[index] = (name, npy_header(data, random))
        case _:
            found[index] = (name, data + b"\0" * random.choice((1, 1000, 20_000_000)))
    buffer, kind = io.BytesIO(), random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", kind) as archive:
        warnings.simplefilter("ignore")  # a name may stand there twice: that is meant
        for name, data in found:
            archive.writestr(name, data)
    return buffer.getvalue()


def npy_header(data: bytes, random: Random) -> bytes:
    shape = random.choice(
        ("(2**62,)", "(4, 3)", "(-4, -3)", "(0, 3)", "()", "(1,)*40", "(4611686018427387904, 4)", "(True,)")
    )
    kind = random.choice(
        ("<f4", "<f8", "|O", "<U2000000000", "<i8", "|V8", "<M8[s]", "|S0", ">f2", "[('a','<f4')]", "nonsense")
    )
    text = f"{{'descr': {kind!r}, 'fortran_order': {random.random() < 0.5}, 'shape': {shape}, }}".encode()
    text = random.choice((text, text.replace(b"{", b"{" * 200), text[:20], b"(" * 9000))
    return (
        b"\x93NUMPY"
        + random.choice((b"\1\0", b"\2\0", b"\3\0", b"\7\7"))
        + struct.pack("<H", len(text) % 65536)
        + text
        + data[-48:]
    )


def tensors(content: bytes, random: Random) -> bytes:
    """A safetensors file whose header says something else."""
    try:
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        entries = [name for name in header if name != "__metadata__"]
        chosen = random.choice(entries)
        match random.randrange(5):
            case 0:
                header[chosen]["shape"] = random.choice(
                    ([2**62], [4, 3, 0], [], [4, 3, 1], [12], [-1], ["4"], [2**33, 2**33])
                )
            case 1:
                header[chosen]["dtype"] = random.choice(("F64", "BF16", "BOOL", "F8_E4M3", "I8", "X", 3, None))
            case 2:
                header[chosen]["data_offsets"] = random.choice(([0, 2**62], [0, 0], [4, 0], [0], [-8, 0], ["0", "1"]))
            case 3:
                header["__metadata__"] = random.choice(
                    ({"groups": "[" * 5000}, {"class_names": "1"}, {"about": "{}"}, [], 1)
                )
            case _:
                header[random.choice(("labels", "logits", "x", "__metadata__"))] = header.pop(chosen)
        text = json.dumps(header).encode()
    except Exception:  # damaged already: leave it
        return content
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


MUTATIONS: tuple[Mutation, ...] = (flip, overwrite, cut, remove, repeat, insert, word, nest, members, tensors)


def mutated(content: bytes, random: Random) -> bytes:
    """The file after one to four of these."""
    for _ in range(random.choice((1, 1, 2, 4))):
        content = random.choice(MUTATIONS)(content, random)
    return content
