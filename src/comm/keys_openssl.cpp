// SPDX-License-Identifier: Apache-2.0
#include "keys_openssl.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

#include "io/file.hpp"
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

std::string read_pem_file(const fs::path& file) { return read_file(file, 1U << 20); }

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

std::string to_text(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::vector<std::string> agent_names(const X509& certificate) {
  const std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>> list(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> names;
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const auto* name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_DNS) names.push_back(to_text(name->d.dNSName));
  }
  return names;
}

std::int64_t to_seconds(const ASN1_TIME* time) {
  std::tm parts{};
  require_openssl(ASN1_TIME_to_tm(time, &parts) == 1, "a certificate's time is malformed");
  return ::timegm(&parts);
}

}  // namespace porter
