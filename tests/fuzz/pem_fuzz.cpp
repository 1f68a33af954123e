// SPDX-License-Identifier: Apache-2.0
// Keys and certificates as files hold them: refused, or such as can be written again.
#include "fuzz.hpp"

#include "comm/keys_openssl.hpp"
#include "porter/core/error.hpp"

std::vector<std::string> fuzz_seeds() { return {}; }  // the corpus has some

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    porter::to_pem(*porter::parse_key(text, "input.key"));
  } catch (const porter::Error&) {
  }
  try {
    const auto certificate = porter::parse_certificate(text, "input.crt");
    porter::to_pem(*certificate);
    porter::to_seconds(X509_get0_notAfter(certificate.get()));
  } catch (const porter::Error&) {
  }
  return 0;
}
