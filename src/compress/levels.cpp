// SPDX-License-Identifier: Apache-2.0
#include "levels.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compress/entries.hpp"
#include "compressors.hpp"
#include "core/vectors.hpp"
#include "floats.hpp"
#include "packing.hpp"

namespace porter {
namespace {

// |x| as the smallest float that is not below it. A double holds the squares of all floats.
float norm_rounded_up(std::span<const float> x) {
  const double norm = std::sqrt(sum_of_squares(x));
  const float rounded = to_float(norm);
  return rounded < norm ? std::nextafter(rounded, std::numeric_limits<float>::infinity()) : rounded;
}

// codes[i] = sign * (top + 1) + level of x[i], with the uniform of its two words. norm > 0.
void quantise(std::span<const float> x, double norm, std::int32_t top, const std::uint32_t* words,
              std::uint32_t* codes) {
  with_vectors([=]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < x.size(); ++i)
      codes[i] = level_code(x[i], norm, top, words[2 * i], words[2 * i + 1]);
  });
}

void restore(std::span<float> out, double norm, std::int32_t top, double divisor,
             const std::uint32_t* codes) {
  with_vectors([=]<Width>() PORTER_INLINE {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = level_value(codes[i], norm, top, divisor);
  });
}

}  // namespace

double Levels::omega(std::size_t dim) const { return level_omega(top_, static_cast<double>(dim)); }

void Levels::encode(RngStream rng, double divisor, Decoded& x, Payload& payload) const {
  const auto dim = x.values.size();
  const float norm = norm_rounded_up(x.values);
  const auto top = static_cast<std::int32_t>(top_);
  const auto body = sizeof norm + packed_bytes(dim, bits_);
  payload.resize(body + kPackSlack);
  std::memcpy(payload.data(), &norm, sizeof norm);
  BitPacker packer(payload.data() + sizeof norm, bits_);
  std::array<std::uint32_t, 2 * kPiece> words;
  std::array<std::uint32_t, kPiece> codes;
  for (std::size_t at = 0; at < dim; at += kPiece) {
    const auto piece = std::span(x.values).subspan(at, std::min(kPiece, dim - at));
    codes.fill(0);
    rng.fill_words(std::span(words).first(2 * piece.size()));
    if (norm > 0) quantise(piece, norm, top, words.data(), codes.data());
    packer.put(std::span(codes).first((piece.size() + 7) / 8 * 8));
    restore(piece, norm, top, divisor, codes.data());
  }
  payload.resize(body);
}

void Levels::decode(ByteReader& body, std::size_t dim, double divisor, Decoded& out) const {
  out.dense = true;
  const double norm = get_scale(body);
  BitReader codes(body, dim, bits_);
  out.values.resize(dim);
  for (auto& value : out.values) {
    const auto code = codes.get();
    const auto level = code & top_;
    const bool negative = code > top_;
    require(level > 0 ? norm > 0 : !negative, ErrorKind::protocol,
            "a compressed vector holds a non-canonical zero");
    const auto magnitude = static_cast<float>(norm * level / (top_ * divisor));
    value = negative ? -magnitude : magnitude;
  }
  codes.finish();
}

}  // namespace porter
