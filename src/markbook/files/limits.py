"""Every limit that a file of a user's meets, in one place."""

from __future__ import annotations

MAX_VALUE = 64 << 20
"""The longest line, row, span or element that is read: bytes of it, or characters where it is decoded as it comes."""
MAX_DOCUMENT = 256 << 20
"""The largest file, or member of an archive, that is held in memory as one value, in bytes."""
MAX_UNPACKED = 64 << 30
"""The most that a compressed file may unpack to, in bytes."""
MAX_RATIO = 200
"""How much larger than its compressed form a file may be, beyond `FREE_BYTES`; text stays under 100."""
FREE_BYTES = 8 << 20
"""So much may come out of any compressed file."""
MAX_MEMBERS = 200_000
"""The most files in one archive."""
