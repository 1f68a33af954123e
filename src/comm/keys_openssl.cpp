// SPDX-License-Identifier: Apache-2.0
#include "keys_openssl.hpp"

#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

BioPtr reading(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

std::string content_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

int no_passphrase(char*, int, int, void*) { return 0; }

}  // namespace

void require_openssl(bool condition, const std::string& doing) {
  if (condition) return;
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  fail(ErrorKind::io, doing, ": ", reason ? reason : "OpenSSL gives no reason");
}

void write_secret_file(const fs::path& file, const std::string& content) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  require(fd >= 0, ErrorKind::io, "cannot create ", file.string(), ": ", std::strerror(errno));
  std::size_t written = 0;
  while (written < content.size()) {
    const auto count = ::write(fd, content.data() + written, content.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  const bool synced = written == content.size() && ::fsync(fd) == 0;
  const int error = errno;
  if (::close(fd) == 0 && synced) return;
  ::unlink(file.c_str());
  fail(ErrorKind::io, "cannot write ", file.string(), ": ", std::strerror(error));
}

std::string read_pem_file(const fs::path& file) {
  constexpr std::streamsize kMost = 1 << 20;
  std::ifstream in(file, std::ios::binary);
  require(in.is_open() && !fs::is_directory(file), ErrorKind::io, "cannot read ", file.string(),
          ": ", fs::is_directory(file) ? "it is a folder" : std::strerror(errno));
  std::string content(kMost, '\0');
  in.read(content.data(), kMost);
  require(in.gcount() < kMost, ErrorKind::io, file.string(), " is too long for a PEM file");
  content.resize(static_cast<std::size_t>(in.gcount()));
  return content;
}

std::string to_pem(const EVP_PKEY& key) {
  const BioPtr bio(BIO_new(BIO_s_secmem()));  // cleansed when freed
  require_openssl(
      bio && PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
      "cannot write a key");
  return content_of(bio.get());
}

std::string to_pem(const X509& certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  require_openssl(bio && PEM_write_bio_X509(bio.get(), &certificate) == 1,
                  "cannot write a certificate");
  return content_of(bio.get());
}

KeyPtr parse_key(const std::string& pem, const fs::path& file) {
  const auto bio = reading(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  require_openssl(key != nullptr, file.string() + " holds no usable private key");
  return key;
}

CertificatePtr parse_certificate(const std::string& pem, const fs::path& file) {
  const auto bio = reading(pem);
  CertificatePtr certificate(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
  require_openssl(certificate != nullptr, file.string() + " holds no certificate");
  return certificate;
}

std::int64_t to_seconds(const ASN1_TIME* time) {
  std::tm parts{};
  require_openssl(ASN1_TIME_to_tm(time, &parts) == 1, "a certificate's time is malformed");
  return ::timegm(&parts);
}

}  // namespace porter
