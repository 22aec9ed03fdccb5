"""Check digits that distinguish a card, account, identity number or wallet from any other run of digits. Pure."""

from __future__ import annotations

import hashlib

_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_BECH32_GENERATORS = (0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)
_BECH32_RESIDUES = (1, 0x2BC830A3)  # bech32 (BIP 173) and bech32m (BIP 350)
_WALLET_BYTES = 25  # 1 for the version, 20 for the hash, 4 for the checksum


def luhn(digits: str) -> bool:
    """Check a payment card or provider number (ISO/IEC 7812)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def iban(code: str) -> bool:
    """Check an IBAN (ISO 13616, modulo 97): country, two check digits, account; upper case and without spaces."""
    rotated = code[4:] + code[:4]
    return code.isascii() and code.isalnum() and int("".join(str(int(c, 36)) for c in rotated)) % 97 == 1


def routing(digits: str) -> bool:
    """Check a US bank routing number (ABA)."""
    return len(digits) == 9 and sum(int(d) * (3, 7, 1)[at % 3] for at, d in enumerate(digits)) % 10 == 0


def health_service(digits: str) -> bool:
    """Check an NHS number: ten digits, modulo 11."""
    if len(digits) != 10:
        return False
    check = 11 - sum(int(d) * (10 - at) for at, d in enumerate(digits[:9])) % 11
    return check != 10 and check % 11 == int(digits[9])


def resident(code: str) -> bool:
    """Check the number of a Chinese identity card: 17 digits and a check digit, X for ten (ISO 7064, MOD 11-2)."""
    return len(code) == 18 and sum((10 if c in "Xx" else int(c)) * pow(2, 17 - at, 11) for at, c in enumerate(code)) % 11 == 1


def taxpayer(digits: str) -> bool:
    """Check a German tax number: ten digits with one or two repetitions, and a check digit (ISO 7064, MOD 11,10)."""
    rest = 10
    for digit in digits[:10]:
        rest = ((int(digit) + rest) % 10 or 10) * 2 % 11
    return len(digits) == 11 and digits[0] != "0" and len(set(digits[:10])) in (8, 9) and (11 - rest) % 10 == int(digits[10])


def base58check(code: str) -> bool:
    """Check a Bitcoin-style wallet address: its last four bytes start the double SHA-256 of the rest."""
    number = 0
    for letter in code:
        value = _BASE58.find(letter)
        if value < 0:
            return False
        number = number * 58 + value
    try:
        raw = number.to_bytes(_WALLET_BYTES)
    except OverflowError:
        return False
    return hashlib.sha256(hashlib.sha256(raw[:-4]).digest()).digest()[:4] == raw[-4:]


def bech32(code: str) -> bool:
    """Check a segwit wallet address: a readable prefix, a 1, and data with a checksum (BIP 173, BIP 350)."""
    if code != code.lower() and code != code.upper():
        return False
    prefix, _, data = code.lower().rpartition("1")
    if not prefix or len(data) < 6 or any(letter not in _BECH32 for letter in data):
        return False
    values = [ord(c) >> 5 for c in prefix] + [0] + [ord(c) & 31 for c in prefix] + [_BECH32.index(c) for c in data]
    checksum = 1
    for value in values:
        top = checksum >> 25
        checksum = (checksum & 0x1FFFFFF) << 5 ^ value
        for bit, generator in enumerate(_BECH32_GENERATORS):
            if top >> bit & 1:
                checksum ^= generator
    return checksum in _BECH32_RESIDUES
