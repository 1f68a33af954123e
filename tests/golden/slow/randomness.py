# SPDX-License-Identifier: Apache-2.0
"""Counter-based randomness, from docs/randomness.md."""
import math

import numpy as np

START, BATCH, NOISE, COMPRESS_V, COMPRESS_X, TEST, SNAPSHOT, MASK, PAIR = 0, 3, 4, 5, 6, 9, 10, 11, 15
ABSENCE, MEETING = 20, 21
MASK32 = 2**32 - 1


def philox(counter, key):
    """Philox4x32-10 of Salmon et al., SC 2011."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0, c1 = (product1 >> 32) ^ c1 ^ k0, product1 & MASK32
        c2, c3 = (product0 >> 32) ^ c3 ^ k1, product0 & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


F = np.float32  # every operation on two of these is rounded to float


def hex_floats(*texts):
    return [F(float.fromhex(text)) for text in texts]


LOG = hex_floats("-0x1.31e2f2p-1", "-0x1.995ebap-1", "-0x1.55557ap0", "-4")
SIN = hex_floats("-0x1.2d9302p-15", "0x1.465e92p-9", "-0x1.4abbbap-4", "0x1.921fb6p-1")
COS = hex_floats("-0x1.4e844ap-12", "0x1.03b090p-6", "-0x1.3bd39cp-2", "1")
MINUS_2_LOG_2, = hex_floats("-0x1.62e430p0")


def polynomial(coefficients, z):
    value = coefficients[0]
    for c in coefficients[1:]:
        value = value * z + c
    return value


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def turned(word, cosine, sine):
    """The two highest bits of the angle word mirror the cosine and swap the two."""
    if word >> 31:
        cosine = -cosine
    return (sine, cosine) if word >> 30 & 1 else (cosine, sine)


def angle_steps(word):
    return signed((4 * word + 2) & MASK32)


def plain_pair(radius_word, angle_word):
    t = (F(signed(radius_word)) + F(0.5)) * F(2.0**-32)
    b = F(1) if t < 0 else F(0)
    exponent = math.floor((int((b + t).view(np.uint32)) - 0x3F3504F3) / 2**23)
    scale = F(2.0**-exponent)
    y = scale * t + (scale * b - F(1))
    s = y / (y + F(2))
    radius = np.sqrt(F(exponent) * MINUS_2_LOG_2 + s * polynomial(LOG, s * s))
    t = F(angle_steps(angle_word)) * F(2.0**-31)
    z = t * t
    return [radius * x for x in turned(angle_word, polynomial(COS, z), t * polynomial(SIN, z))]


def refined_pair(radius_word, angle_word, more):
    radius = math.sqrt(-2 * math.log((radius_word + (more + 0.5) * 2.0**-64) * 2.0**-32))
    angle = math.pi / 4 * angle_steps(angle_word) * 2.0**-31
    return [F(radius * x) for x in turned(angle_word, math.cos(angle), math.sin(angle))]


class Stream:
    def __init__(self, seed, use, agent, round_):
        self.key = (seed & MASK32, seed >> 32)
        self.address = (round_, agent, use)
        self.next_block = 0
        self.words = []  # of the current block, not yet used

    def block(self, number):
        return philox((number, *self.address), self.key)

    def word(self):
        if not self.words:
            self.words = list(self.block(self.next_block))
            self.next_block += 1
        return self.words.pop(0)

    def bits64(self):
        low = self.word()
        return low + (self.word() << 32)

    def uniform(self):
        return (self.bits64() >> 11) * 2.0**-53

    def below(self, n):
        threshold = (2**64 - n) % n
        while True:
            w = self.bits64()
            if w >= threshold:
                return w % n

    def normals(self, count):
        self.words = []
        out = []
        while len(out) < count:
            number = self.next_block
            self.next_block += 1
            w0, w1, w2, w3 = self.block(number)
            W = w0 + (w1 << 32)
            u = (W + 0.5) * 2.0**-64
            if W < 2**12:
                m0, m1, _, _ = self.block(number + 2**31)
                u = (W + (m0 + (m1 << 32) + 0.5) * 2.0**-64) * 2.0**-64
            r = math.sqrt(-2 * math.log(u))
            a = 2 * math.pi * ((w2 + (w3 << 32)) >> 11) * 2.0**-53
            out += [r * math.cos(a), r * math.sin(a)]
        return np.array(out[:count])

    def below32(self, n):
        while True:
            product = self.word() * n
            if product % 2**32 >= 2**32 % n:
                return product // 2**32

    def noise(self, count):
        """Groups of 64 floats: the cosines of 32 pairs, then their sines; two pairs from each block."""
        out = []
        while len(out) < count:
            pairs = []
            for _ in range(16):
                number = self.next_block
                self.next_block += 1
                if len(out) + len(pairs) >= count:  # neither their cosines nor anybody's sines are asked for
                    continue
                words = self.block(number)
                for at in (0, 2):
                    if words[at] >= 2**20:
                        pairs.append(plain_pair(words[at], words[at + 1]))
                    else:
                        more = self.block(number + 2**31)
                        pairs.append(refined_pair(words[at], words[at + 1], more[at] + (more[at + 1] << 32)))
            out += [pair[0] for pair in pairs] + [pair[1] for pair in pairs]
        return np.array(out[:count], dtype=float)

    def choose(self, k, n):
        taken = set()
        for j in range(n - k, n):
            t = self.below32(j + 1)
            taken.add(j if t in taken else t)
        return sorted(taken)
