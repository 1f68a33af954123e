// SPDX-License-Identifier: Apache-2.0
#include "privacy/pair_secret.hpp"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "porter/core/bytes.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::string_view kProtocol = "porter pair noise 1";

template <class T>
using Owner = std::unique_ptr<T, void (*)(T*)>;

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw_out(std::span<std::byte> bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

void require_openssl(bool done, const char* what) {
  if (!done) ERR_clear_error();
  require(done, ErrorKind::privacy, "OpenSSL refused ", what, ": no secret that agents share");
}

Owner<EVP_PKEY> private_key(const SecretKey& key) {
  Owner<EVP_PKEY> loaded(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, raw(key.bytes()), key.bytes().size()),
      EVP_PKEY_free);
  require_openssl(loaded != nullptr, "a key of X25519");
  return loaded;
}

void put_sized(Payload& bytes, std::string_view text) {
  put(bytes, static_cast<std::uint32_t>(text.size()));
  for (const char c : text) put(bytes, c);
}

void put_end(Payload& bytes, const PairEnd& end) {
  put(bytes, end.agent);
  put_sized(bytes, end.name);
  bytes.insert(bytes.end(), end.key.begin(), end.key.end());
}

// HKDF-SHA256, both its steps or the second alone.
void derive(int mode, std::span<const std::byte> key, std::span<const std::byte> info,
            std::span<std::byte> out) {
  static const Owner<EVP_KDF> kHkdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  require_openssl(kHkdf != nullptr, "HKDF");
  const Owner<EVP_KDF_CTX> context(EVP_KDF_CTX_new(kHkdf.get()), EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const auto octets = [](const char* name, std::span<const std::byte> bytes) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<std::byte*>(bytes.data()),
                                             bytes.size());
  };
  const OSSL_PARAM settings[] = {OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
                                 OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                                 octets(OSSL_KDF_PARAM_KEY, key), octets(OSSL_KDF_PARAM_INFO, info),
                                 OSSL_PARAM_construct_end()};
  require_openssl(context && EVP_KDF_derive(context.get(), raw_out(out), out.size(), settings) == 1,
                  "HKDF");
}

template <std::size_t Size>
SecretBytes<Size> expanded(const SecretKey& key, const char* purpose, std::uint32_t round) {
  Payload info;
  put_sized(info, kProtocol);
  put_sized(info, purpose);
  put(info, round);
  SecretBytes<Size> out;
  derive(EVP_KDF_HKDF_MODE_EXPAND_ONLY, key.bytes(), info, out.bytes());
  return out;
}

// What X25519 makes of both keys. A point of low order makes zeros of every key.
SecretKey shared_point(const SecretKey& key, const PairEnd& there) {
  const auto own = private_key(key);
  const Owner<EVP_PKEY> other(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, raw(there.key), there.key.size()),
      EVP_PKEY_free);
  const Owner<EVP_PKEY_CTX> context(EVP_PKEY_CTX_new(own.get(), nullptr), EVP_PKEY_CTX_free);
  SecretKey point;
  std::size_t size = point.bytes().size();
  const bool done = other && context && EVP_PKEY_derive_init(context.get()) == 1 &&
                    EVP_PKEY_derive_set_peer(context.get(), other.get()) == 1 &&
                    EVP_PKEY_derive(context.get(), raw_out(point.bytes()), &size) == 1 &&
                    size == point.bytes().size();
  ERR_clear_error();
  const bool zeros =
      std::ranges::all_of(point.bytes(), [](std::byte b) { return b == std::byte{0}; });
  require(done && !zeros, ErrorKind::protocol, "the key of ", there.name,
          " makes no secret: it is a point of low order");
  return point;
}

}  // namespace

SecretKey make_private_key(EntropySource entropy) {
  SecretKey key;
  require(entropy(key.bytes()), ErrorKind::privacy,
          "no entropy from the operating system: ", std::strerror(errno),
          "; no key was made for noise that agents share");
  return key;
}

PublicKey public_key(const SecretKey& key) {
  PublicKey out;
  std::size_t size = out.size();
  require_openssl(EVP_PKEY_get_raw_public_key(private_key(key).get(), raw_out(out), &size) == 1 &&
                      size == out.size(),
                  "a key of X25519");
  return out;
}

SecretKey agree(const SecretKey& key, const std::string& run, const PairEnd& here,
                const PairEnd& there) {
  require(here.agent != there.agent && here.key != there.key, ErrorKind::protocol, there.name,
          " shows the key of ", here.name, " as its own");
  const auto point = shared_point(key, there);
  Payload info;
  put_sized(info, kProtocol);
  put_sized(info, run);
  put_end(info, here.agent < there.agent ? here : there);
  put_end(info, here.agent < there.agent ? there : here);
  SecretKey secret;
  derive(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND, point.bytes(), info, secret.bytes());
  return secret;
}

NoiseStream PairChain::draw(std::uint32_t round) {
  require(round >= round_ && round + 1 != 0, ErrorKind::privacy,
          "the noise that agents share in round ", round, " was drawn before: expected round ",
          round_, " or a later one. Two releases with the same noise would tell their difference");
  skip_to(round);
  auto key = expanded<48>(key_, "stream", round);
  skip_to(round + 1);
  return NoiseStream(std::move(key));
}

void PairChain::skip_to(std::uint32_t round) {
  for (; round_ < round; ++round_) key_ = expanded<32>(key_, "next", round_);
}

}  // namespace porter
