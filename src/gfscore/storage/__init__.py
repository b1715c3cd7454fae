"""Where bytes live: files written whole, files held by one process, copies of what stands in an object store.

What is kept between runs has modules of its own, as it needs safetensors: :mod:`~gfscore.storage.store` for rows,
:mod:`~gfscore.storage.journals` for scores, :mod:`~gfscore.measures.summary_files` for sums.
"""

from gfscore.storage.addresses import address_of, is_address, local_folder, redact
from gfscore.storage.copies import all_to_read, expand_pattern, report, to_read, with_beside
from gfscore.storage.files import (
    FULL,
    Watched,
    atomic_file,
    changed_file,
    hold_file,
    is_text,
    refuse_changed,
    refuse_unreadable,
    sha256,
    sweep,
    write_text,
)
from gfscore.storage.object_stores import to_write

__all__ = [
    "FULL",
    "Watched",
    "address_of",
    "all_to_read",
    "atomic_file",
    "changed_file",
    "expand_pattern",
    "hold_file",
    "is_address",
    "is_text",
    "local_folder",
    "redact",
    "refuse_changed",
    "refuse_unreadable",
    "report",
    "sha256",
    "sweep",
    "to_read",
    "to_write",
    "with_beside",
    "write_text",
]
