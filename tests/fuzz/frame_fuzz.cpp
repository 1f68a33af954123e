// SPDX-License-Identifier: Apache-2.0
// A frame from a stranger: refused, or a view whose vectors lie inside the input. The stream reader
// must agree with the decoder, however the bytes are cut.
#include "comm/frame.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "fuzz.hpp"

namespace {

using namespace porter;

const FrameLimits kLimits = frame_limits(16, 2);

std::string frame_with(std::vector<Payload> vectors) {
  const std::vector<std::span<const std::byte>> views(vectors.begin(), vectors.end());
  Payload frame;
  encode_frame({.sender = 1, .step = 2, .encoding = 3, .digest = 4}, views, frame);
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

// The checksums would keep the fuzzer out.
void mend_checksums(Payload& bytes) {
  if (bytes.size() < kFrameHeaderBytes) return;
  const auto write = [&](std::size_t at, std::uint32_t crc) {
    std::memcpy(bytes.data() + at, &crc, sizeof crc);
  };
  write(kFrameHeaderBytes - 8, crc32(std::span(bytes).subspan(kFrameHeaderBytes)));
  write(kFrameHeaderBytes - 4, crc32(std::span(bytes).first(kFrameHeaderBytes - 4)));
}

bool decode_or_refuse(const Payload& bytes) {
  try {
    const auto frame = decode_frame(bytes, kLimits, "peer");
    std::size_t total = kFrameHeaderBytes;
    for (const auto& vector : frame.vectors) {
      if (!vector.empty() && (vector.data() < bytes.data() ||
                              vector.data() + vector.size() > bytes.data() + bytes.size()))
        std::abort();
      total += 4 + vector.size();
    }
    if (total != bytes.size()) std::abort();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {frame_with({}), frame_with({Payload(20), Payload(7)}), frame_with({Payload(0)})};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* first = reinterpret_cast<const std::byte*>(data);
  Payload bytes(first, first + size);
  for (int pass = 0; pass < 2; ++pass) {
    decode_or_refuse(bytes);
    mend_checksums(bytes);
  }
  return 0;
}
