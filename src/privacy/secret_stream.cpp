// SPDX-License-Identifier: Apache-2.0
#include "privacy/secret_stream.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "porter/core/error.hpp"

namespace porter {
namespace {

constexpr std::size_t kKeyBytes = 32, kCounterBytes = 16;

void require_cipher(bool done) {
  require(done, ErrorKind::privacy, "OpenSSL refused AES-256-CTR: no secret random numbers");
}

}  // namespace

bool system_entropy(std::span<std::byte> out) {
  while (!out.empty()) {
    const auto count = ::getrandom(out.data(), out.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

void erase_bytes(std::span<std::byte> bytes) { OPENSSL_cleanse(bytes.data(), bytes.size()); }

struct SecretWords::Cipher {
  Cipher() : context(EVP_CIPHER_CTX_new()) {
    require_cipher(context != nullptr &&
                   EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), nullptr, nullptr, nullptr) == 1);
  }
  ~Cipher() { EVP_CIPHER_CTX_free(context); }  // cleanses the key
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  // Takes a key and a counter from the bytes and erases them.
  void set_key(std::span<std::byte, kKeyBytes + kCounterBytes> secret) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(secret.data());
    const bool done = EVP_EncryptInit_ex(context, nullptr, nullptr, bytes, bytes + kKeyBytes) == 1;
    OPENSSL_cleanse(secret.data(), secret.size());
    require_cipher(done);
  }
  // The key stream is what zeros are encrypted to.
  void write_key_stream(std::span<std::byte> out) {
    std::memset(out.data(), 0, out.size());
    auto* bytes = reinterpret_cast<unsigned char*>(out.data());
    int written = 0;
    const int size = static_cast<int>(out.size());
    require_cipher(EVP_EncryptUpdate(context, bytes, &written, bytes, size) == 1 &&
                   written == size);
  }

  EVP_CIPHER_CTX* context;
};

void SecretWords::UnmapBlock::operator()(Block* block) const {
  OPENSSL_cleanse(block, sizeof(Block));
  ::munmap(block, sizeof(Block));
}

SecretWords::SecretWords(EntropySource entropy)
    : entropy_(entropy), cipher_(std::make_unique<Cipher>()), block_(map_block()) {
  refill();
}

SecretWords::SecretWords(StreamKey key)
    : entropy_(nullptr), cipher_(std::make_unique<Cipher>()), block_(map_block()) {
  cipher_->set_key(key.bytes());
  block_->keyed = 1;
  refill();
}

SecretWords::Block* SecretWords::map_block() {
  void* page =
      ::mmap(nullptr, sizeof(Block), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(page != MAP_FAILED, ErrorKind::privacy,
          "no memory for secret random numbers: ", std::strerror(errno));
  std::unique_ptr<Block, UnmapBlock> block(::new (page) Block{});
  require(::madvise(page, sizeof(Block), MADV_WIPEONFORK) == 0, ErrorKind::privacy,
          "this system cannot keep secret random numbers from a forked process (madvise with "
          "MADV_WIPEONFORK, Linux 4.14 or later): ",
          std::strerror(errno));
  ::madvise(page, sizeof(Block), MADV_DONTDUMP);  // not in core files, where that is possible
  return block.release();
}

SecretWords::~SecretWords() = default;
SecretWords::SecretWords(SecretWords&&) noexcept = default;
SecretWords& SecretWords::operator=(SecretWords&&) noexcept = default;

void SecretWords::fill(std::span<std::uint64_t> out) {
  while (!out.empty()) {
    if (block_->left == 0) refill();
    const auto part = std::min<std::size_t>(out.size(), block_->left);
    const auto words = block_->words.end() - kKeyWords - block_->left;
    std::copy_n(words, part, out.begin());
    std::fill_n(words, part, 0);
    block_->left -= part;
    out = out.subspan(part);
  }
}

void SecretWords::refill() {
  auto& words = block_->words;
  const auto key = std::as_writable_bytes(std::span(words).last<kKeyWords>());
  if (block_->keyed == 0) {
    require(entropy_ != nullptr, ErrorKind::privacy,
            "a forked process has no part in the secrets that agents share");
    require(entropy_(key), ErrorKind::privacy,
            "no entropy from the operating system: ", std::strerror(errno),
            "; no secret random number was drawn");
    cipher_->set_key(key);
    block_->keyed = 1;
  }
  cipher_->write_key_stream(std::as_writable_bytes(std::span(words)));
  cipher_->set_key(key);
  block_->left = kWords;
}

}  // namespace porter
