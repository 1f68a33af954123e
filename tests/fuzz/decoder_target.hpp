// SPDX-License-Identifier: Apache-2.0
// The fuzz target of every compressor: its decoder must refuse or give a well-formed vector.
#pragma once

#include <cmath>
#include <cstdlib>

#include "fuzz.hpp"
#include "porter/compress/compressor.hpp"
#include "porter/core/error.hpp"

namespace porter {

inline constexpr std::size_t kFuzzDims[] = {1, 9, 300};
inline const RngStream kFuzzStream(1, Draw::compress_x, 0, 0);

/// The bodies, without checksum, of one vector of each length.
inline std::vector<std::string> decoder_seeds(const std::vector<std::string>& specs) {
  std::vector<std::string> seeds;
  for (const auto& spec : specs)
    for (const auto dim : kFuzzDims) {
      std::vector<float> x(dim, 0.0F);
      for (std::size_t i = 0; i < dim; i += 2) x[i] = 1.5F - static_cast<float>(i);
      Payload payload;
      make_compressor(spec)->encode(x, kFuzzStream, payload);
      seeds.emplace_back(reinterpret_cast<const char*>(payload.data()), payload.size() - 4);
    }
  return seeds;
}

inline bool well_formed(const Decoded& decoded, std::size_t dim) {
  if (decoded.values.size() != (decoded.dense ? dim : decoded.indices.size())) return false;
  if (decoded.dense && !decoded.indices.empty()) return false;
  for (std::size_t i = 0; i < decoded.indices.size(); ++i)
    if (decoded.indices[i] >= dim || (i > 0 && decoded.indices[i] <= decoded.indices[i - 1]))
      return false;
  for (const float value : decoded.values)
    if (!std::isfinite(value)) return false;
  return true;
}

inline void decode_or_refuse(const Compressor& compressor, const Payload& payload,
                             std::size_t dim) {
  try {
    Decoded decoded;
    compressor.decode(payload, dim, kFuzzStream, decoded);
    if (!well_formed(decoded, dim)) std::abort();
  } catch (const Error&) {
  }
}

/// The input is tried as it is and as a body with the right checksum, so that the checksum does not
/// keep the fuzzer out.
inline int fuzz_decoder(const std::vector<std::string>& specs, const std::uint8_t* data,
                        std::size_t size) {
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const Payload raw(bytes, bytes + size);
  Payload checked = raw;
  put(checked, crc32(raw));
  for (const auto& spec : specs) {
    const auto compressor = make_compressor(spec);
    for (const auto dim : kFuzzDims) {
      decode_or_refuse(*compressor, raw, dim);
      decode_or_refuse(*compressor, checked, dim);
    }
  }
  return 0;
}

}  // namespace porter
