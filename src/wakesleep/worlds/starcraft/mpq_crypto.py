"""Hashes of names and encryption of tables in MPQ archives."""

import struct


def _scramble_table() -> tuple[int, ...]:
    """The format's table of pseudo-random numbers, for hashes and for encryption."""
    table, seed = [0] * 1280, 0x00100001
    for low in range(256):
        for place in range(low, 1280, 256):
            first = (seed * 125 + 3) % 0x2AAAAB
            seed = (first * 125 + 3) % 0x2AAAAB
            table[place] = (first & 0xFFFF) << 16 | seed & 0xFFFF
    return tuple(table)


_SCRAMBLE = _scramble_table()


def hash_name(name: str, kind: str) -> int:
    """Return one of the format's four hashes of a name.

    Args:
        name: of a file or a table.
        kind: "slot", "first", "second" or "key".
    """
    which = {"slot": 0, "first": 1, "second": 2, "key": 3}[kind]
    one, two = 0x7FED7FED, 0xEEEEEEEE
    for letter in name.upper().encode():
        one = _SCRAMBLE[which * 256 + letter] ^ (one + two) & 0xFFFFFFFF
        two = letter + one + two + (two << 5) + 3 & 0xFFFFFFFF
    return one


def encrypt(table: bytes, key_name: str) -> bytes:
    """Encrypt a table with the key that a name hashes to."""
    return _crypt(table, hash_name(key_name, "key"), encrypting=True)


def decrypt(table: bytes, key_name: str) -> bytes:
    """Decrypt a table with the key that a name hashes to."""
    return _crypt(table, hash_name(key_name, "key"), encrypting=False)


def _crypt(table: bytes, key: int, *, encrypting: bool) -> bytes:
    """Encrypt or decrypt whole words of four bytes; what is left at the end stays as it is."""
    count, seed, result = len(table) // 4, 0xEEEEEEEE, []
    for word in struct.unpack_from(f"<{count}I", table):
        seed = seed + _SCRAMBLE[0x400 + (key & 0xFF)] & 0xFFFFFFFF
        other = word ^ (key + seed) & 0xFFFFFFFF
        plain = word if encrypting else other
        key = ((~key << 21) + 0x11111111 | key >> 11) & 0xFFFFFFFF
        seed = plain + seed + (seed << 5) + 3 & 0xFFFFFFFF
        result.append(other)
    return struct.pack(f"<{count}I", *result) + table[4 * count :]
