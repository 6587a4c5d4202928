"""MPQ archives of format version 4, as StarCraft II keeps its maps: read them, and exchange a file in them.

    archive = unpack(map_file.read_bytes())
    edited = pack(archive.with_file("MapScript.galaxy", new_script))

`pack(unpack(raw)) == raw` for the archives that the game's editor writes: every file that is not exchanged stays byte
for byte as it was stored, and so do the format, the tables and their order. All checksums are verified on the way in,
so that a damaged archive is refused, and renewed on the way out.

Why not a library: of the packages on PyPI that write, libmpq rewrites an archive in an older format (whether the game
takes such maps could not be tried) and the others need StormLib compiled. This keeps the format, with the standard
library alone.

The format, in the order in which it lies in a file: a header; the files, each followed by the MD5 of its every 16 kB;
the tables HET and BET (names and files, packed by bits); the older tables of hashes and of blocks, which say the same.
"""

import bz2
import hashlib
import struct
import zlib
from dataclasses import dataclass, replace
from typing import NamedTuple

from wakesleep.errors import UserError
from wakesleep.worlds.starcraft.mpq_crypto import decrypt, encrypt, hash_name

_HEADER = struct.Struct("<4sIIHHIIIIQHHQQQQQQQQI80s16s")
_BET = struct.Struct("<19I")
_EXISTS, _SINGLE_UNIT, _SECTOR_CHECKSUMS, _COMPRESSED = 0x80000000, 0x01000000, 0x04000000, 0x00000200
_READABLE = _EXISTS | _SINGLE_UNIT | _SECTOR_CHECKSUMS | _COMPRESSED
_ZLIB, _BZIP2 = 0x02, 0x10
_ATTRIBUTES = "(attributes)"
_CRC32, _FILE_TIME, _MD5 = 1, 2, 4
_UNUSUAL = "the archive is stored in a way that StarCraft II's own maps are not"
_NO_BLOCK = 0xFFFFFFFE  # block numbers from here on mark hashes that are free or deleted


class Stored(NamedTuple):
    """A file as it is stored in the archive."""

    data: bytes
    """Compressed, without the checksums that follow it."""
    size: int
    """Its length when unpacked."""
    flags: int
    empty_at: int = 0
    """Offset that the tables give for it if it is empty."""


@dataclass(frozen=True)
class Archive:
    """The content of an archive: the files in the order of the block table, and the tables that find them by name."""

    files: tuple[Stored, ...]
    sector_shift: int
    """Longer files are cut into sectors of 512 << this bytes."""
    chunk: int
    """Each so many bytes of a file as it is stored are followed by their MD5."""
    hashes: tuple[tuple[int, int, int, int], ...]
    """The hash table: two hashes of a name, language, number of the file."""
    het: bytes
    """The table HET, as it lies there: it depends on the names alone."""
    bet_head: tuple[int, ...]
    """The header of the table BET."""
    bet_flags: tuple[int, ...]
    """All the flags that occur, in the order in which BET counts them."""
    bet_names: bytes
    """The hashes of the names in BET."""

    def number(self, name: str) -> int | None:
        """Return the number of the file with this name, None if there is none."""
        slot = hash_name(name, "slot") % len(self.hashes)
        wanted = hash_name(name, "first"), hash_name(name, "second")
        for first, second, _, number in self.hashes[slot:] + self.hashes[:slot]:
            if number == 0xFFFFFFFF:
                return None
            if (first, second) == wanted and number < _NO_BLOCK:
                return number
        return None

    def read(self, name: str) -> bytes:
        """Return the content of the named file."""
        number = self.number(name)
        if number is None:
            raise UserError(f"there is no {name} in it")
        return _expand(self.files[number], 512 << self.sector_shift)

    def with_file(self, name: str, content: bytes) -> "Archive":
        """Return the archive with another content of the named file and with its checksums renewed."""
        self.read(name)  # refuses what is not there or stored in a way that we could not write either
        number = self.number(name)
        changed = self._with_content(number, content)
        if self.number(_ATTRIBUTES) is None:
            return changed
        attributes = _attributes_with(self.read(_ATTRIBUTES), len(self.files), number, content)
        return changed._with_content(self.number(_ATTRIBUTES), attributes)

    def _with_content(self, number: int | None, content: bytes) -> "Archive":
        assert number is not None
        files = list(self.files)
        files[number] = _compress(content, files[number].flags, 512 << self.sector_shift)
        return replace(self, files=tuple(files))


def unpack(raw: bytes) -> Archive:
    """Read an archive from the bytes of its file. One that is damaged or of another format is refused."""
    if raw[:4] != b"MPQ\x1a":
        raise UserError("it is no MPQ archive")
    if len(raw) < _HEADER.size or struct.unpack_from("<H", raw, 12)[0] != 3:
        raise UserError("it is not an MPQ archive of format version 4, as the maps that Blizzard published are")
    try:
        return _unpack(raw)
    except UserError:
        raise
    except (struct.error, ValueError, OverflowError) as error:  # a table that makes no sense
        raise UserError(f"the archive is damaged ({error})") from error


def _unpack(raw: bytes) -> Archive:
    (
        _, header_size, _, _, sector_shift, hash_at, block_at, hash_count, block_count, high_at, _, _, size, bet_at,
        het_at, _, _, _, het_size, bet_size, chunk, sums, own_sum,
    ) = _HEADER.unpack_from(raw)  # fmt: skip
    _verify("header", raw[: _HEADER.size - 16], own_sum)
    if size != len(raw) or header_size != _HEADER.size:
        raise UserError(f"the archive is damaged (it has {len(raw)} bytes instead of {size})")
    hash_table, block_table = raw[hash_at : hash_at + 16 * hash_count], raw[block_at : block_at + 16 * block_count]
    het, bet = raw[het_at : het_at + het_size], raw[bet_at : bet_at + bet_size]
    named = {"block table": block_table, "hash table": hash_table, "": b"", "table BET": bet, "table HET": het}
    for place, (what, table) in enumerate(named.items()):
        if what:  # the nameless one, for archives over 4 GB, is not there
            _verify(what, table, sums[16 * place : 16 * place + 16])
    if high_at or not hash_count or not chunk or het[:4] != b"HET\x1a" or bet[:4] != b"BET\x1a":
        raise UserError(_UNUSUAL)
    files = []
    for at, stored_size, full_size, flags in struct.iter_unpack("<4I", decrypt(block_table, "(block table)")):
        data, checksums = raw[at : at + stored_size], raw[at + stored_size :]
        for part in range(0, stored_size, chunk):
            _verify("files", data[part : part + chunk], checksums[part // chunk * 16 :][:16])
        files.append(Stored(data, full_size, flags, 0 if stored_size else at))
    hashes = tuple(struct.iter_unpack("<4I", decrypt(hash_table, "(hash table)")))
    table = decrypt(bet[12:], "(block table)")
    head = _BET.unpack_from(table)
    flag_count, names_size = head[18], head[17]
    bet_flags = struct.unpack_from(f"<{flag_count}I", table, _BET.size)
    archive = Archive(tuple(files), sector_shift, chunk, hashes, het, head, bet_flags, table[len(table) - names_size :])
    if pack(archive) != raw:  # then we would not write it as the game's editor does, either
        raise UserError(_UNUSUAL)
    return archive


def pack(archive: Archive) -> bytes:
    """Return an archive as bytes of a file."""
    body, blocks = bytearray(_HEADER.size), []
    for data, size, flags, empty_at in archive.files:
        blocks.append((len(body) if data else empty_at, len(data), size, flags))
        body += data
        for part in range(0, len(data), archive.chunk):
            body += hashlib.md5(data[part : part + archive.chunk]).digest()
    bet = _pack_bet(archive, blocks)
    block_table = encrypt(b"".join(struct.pack("<4I", *block) for block in blocks), "(block table)")
    hash_table = encrypt(b"".join(struct.pack("<4I", *row) for row in archive.hashes), "(hash table)")
    het_at = len(body)
    body += archive.het + hashlib.md5(archive.het).digest()
    bet_at = len(body)
    body += bet + hashlib.md5(bet).digest()
    hash_at, block_at = len(body), len(body) + len(hash_table)
    body += hash_table + block_table
    tables = (block_table, hash_table, b"", bet, archive.het)
    sums = b"".join(hashlib.md5(table).digest() if table else bytes(16) for table in tables)
    header = _HEADER.pack(
        b"MPQ\x1a", _HEADER.size, len(body), 3, archive.sector_shift, hash_at, block_at, len(archive.hashes),
        len(blocks), 0, 0, 0, len(body), bet_at, het_at, len(hash_table), len(block_table), 0, len(archive.het),
        len(bet), archive.chunk, sums, bytes(16),
    )[:-16]  # fmt: skip
    body[: _HEADER.size] = header + hashlib.md5(header).digest()
    return bytes(body)


def _pack_bet(archive: Archive, blocks: list[tuple[int, int, int, int]]) -> bytes:
    """The table BET: for each file place, length, stored length and number of its flags, in as few bits as it takes."""
    rows = [(at, size, stored, archive.bet_flags.index(flags)) for at, stored, size, flags in blocks]
    head = list(archive.bet_head)
    widths = [max(int(value).bit_length() for value in column) for column in zip(*rows, strict=True)]
    widths[3] = max(widths[3], head[12])
    starts = [sum(widths[:place]) for place in range(5)]
    head[3:14] = [starts[4], *starts, *widths, 0]
    bits = 0
    for number, row in enumerate(rows):
        for start, value in zip(starts, row, strict=False):
            bits |= value << (number * starts[4] + start)
    entries = bits.to_bytes((len(rows) * starts[4] + 7) // 8, "little")
    rest = struct.pack(f"<{len(archive.bet_flags)}I", *archive.bet_flags) + entries + archive.bet_names
    head[0], head[1], head[18] = _BET.size + len(rest), len(rows), len(archive.bet_flags)
    content = _BET.pack(*head) + rest
    return struct.pack("<4sII", b"BET\x1a", 1, len(content)) + encrypt(content, "(block table)")


def _expand(stored: Stored, sector: int) -> bytes:
    """The content of a file."""
    data, size, flags, _ = stored
    if flags & ~_READABLE or not flags & _COMPRESSED:
        raise UserError(f"{_UNUSUAL} (flags {flags:#x})")
    if not size:
        return b""
    if flags & _SINGLE_UNIT:
        parts, limits = [data], [size]
    else:
        limits = [min(sector, size - start) for start in range(0, size, sector)]
        offsets = struct.unpack_from(f"<{len(limits) + 1}I", data)
        parts = [data[offsets[place] : offsets[place + 1]] for place in range(len(limits))]
    content = b"".join(_inflate(part, limit) for part, limit in zip(parts, limits, strict=True))
    if len(content) != size:
        raise UserError("the archive is damaged (a file has not the length that it should have)")
    return content


def _inflate(part: bytes, size: int) -> bytes:
    if len(part) == size:
        return part
    try:
        if part[0] == _ZLIB:
            return zlib.decompress(part[1:])
        if part[0] == _BZIP2:
            return bz2.decompress(part[1:])
    except (zlib.error, OSError, ValueError) as error:
        raise UserError(f"the archive is damaged ({error})") from error
    raise UserError(f"{_UNUSUAL} (compression {part[0]:#x})")


def _compress(content: bytes, flags: int, sector: int) -> Stored:
    """A file as the game's editor stores it: at once, or in sectors behind a list of where they begin."""
    if not content:
        return Stored(b"", 0, flags)
    if flags & _SINGLE_UNIT:
        return Stored(_deflate(content), len(content), flags)
    sectors = [_deflate(content[start : start + sector]) for start in range(0, len(content), sector)]
    offsets = [4 * (len(sectors) + 1 + bool(flags & _SECTOR_CHECKSUMS))]
    for part in sectors:
        offsets.append(offsets[-1] + len(part))
    if flags & _SECTOR_CHECKSUMS:  # the editor leaves the room for them empty: the MD5s do that work
        offsets.append(offsets[-1])
    return Stored(struct.pack(f"<{len(offsets)}I", *offsets) + b"".join(sectors), len(content), flags)


def _deflate(part: bytes) -> bytes:
    smaller = bytes([_ZLIB]) + zlib.compress(part, 6)
    return smaller if len(smaller) < len(part) else part


def _attributes_with(attributes: bytes, count: int, number: int | None, content: bytes) -> bytes:
    """The list of all files' checksums with those of one file renewed."""
    assert number is not None
    changed, kinds, at = bytearray(attributes), struct.unpack_from("<II", attributes)[1], 8
    if kinds & _CRC32:
        struct.pack_into("<I", changed, at + 4 * number, zlib.crc32(content))
        at += 4 * count
    if kinds & _FILE_TIME:
        at += 8 * count
    if kinds & _MD5:
        struct.pack_into("<16s", changed, at + 16 * number, hashlib.md5(content).digest())
    return bytes(changed)


def _verify(what: str, data: bytes, checksum: bytes) -> None:
    if hashlib.md5(data).digest() != checksum:
        raise UserError(f"the archive is damaged (the checksum of its {what} is wrong)")
