#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The secret of two agents, slowly: X25519 and HKDF-SHA256 as RFC 7748 and RFC 5869 write them,
for the keys of tests/privacy/pair_secret_test.cpp, which holds what this prints."""
import hashlib
import hmac
import struct

P = 2**255 - 19


def x25519(key, u):
    k = bytearray(key)
    k[0] &= 248
    k[31] = k[31] & 127 | 64
    k, u = int.from_bytes(k, "little"), int.from_bytes(u, "little") & (1 << 255) - 1
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in reversed(range(255)):
        swap = k >> bit & 1
        if swap:
            x2, x3, z2, z3 = x3, x2, z3, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        e = aa - bb
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, e * (aa + 121665 * e) % P
        if swap:
            x2, x3, z2, z3 = x3, x2, z3, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def expand(key, info, size):
    out, block = b"", b""
    for count in range(1, 1 + -(-size // 32)):
        block = hmac.new(key, block + info + bytes([count]), hashlib.sha256).digest()
        out += block
    return out[:size]


def text(value):
    return struct.pack("<I", len(value)) + value


def step(key, purpose, number, size):
    return expand(key, text(PROTOCOL) + text(purpose) + struct.pack("<I", number), size)


NINE = bytes([9]) + bytes(31)
# RFC 7748, section 5.2, after one iteration.
assert x25519(NINE, NINE).hex() == "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
# RFC 5869, test case 3.
assert expand(hmac.new(bytes(32), b"\x0b" * 22, hashlib.sha256).digest(), b"", 42).hex() == (
    "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8")

PROTOCOL = b"porter pair noise 1"
low, high = bytes(range(32)), bytes((37 * i + 11) % 256 for i in range(32))
publics = x25519(low, NINE), x25519(high, NINE)
point = x25519(low, publics[1])
assert point == x25519(high, publics[0])
info = text(PROTOCOL) + text(b"0123456789abcdef0123456789abcdef")
for agent, name, key in (1, b"anna", publics[0]), (4, b"bruno", publics[1]):
    info += struct.pack("<I", agent) + text(name) + key
secret = expand(hmac.new(bytes(32), point, hashlib.sha256).digest(), info, 32)
second = step(secret, b"next", 1, 32)
print("public keys", publics[0].hex(), publics[1].hex())
print("secret     ", secret.hex())
print("round 2    ", second.hex(), "stream", step(second, b"stream", 2, 48).hex())
