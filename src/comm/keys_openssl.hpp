// SPDX-License-Identifier: Apache-2.0
// Owners of OpenSSL's objects, and the PEM files they live in.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace porter {

template <auto Free>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, OpensslFree<X509_free>>;

/// Error{io} with OpenSSL's reason unless the condition holds.
void require_openssl(bool condition, const std::string& doing);

std::string read_pem_file(const std::filesystem::path& file);

std::string to_pem(const EVP_PKEY& key);
std::string to_pem(const X509& certificate);
/// Error{io} naming the file. There is no question for a passphrase: an encrypted key is an error.
KeyPtr parse_key(const std::string& pem, const std::filesystem::path& file);
CertificatePtr parse_certificate(const std::string& pem, const std::filesystem::path& file);

std::string to_text(const ASN1_STRING* text);
/// The DNS subjectAltNames.
std::vector<std::string> agent_names(const X509& certificate);
/// Seconds since 1970.
std::int64_t to_seconds(const ASN1_TIME* time);

}  // namespace porter
