// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "keys_openssl.hpp"
#include "porter/comm/keys.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

std::string common_name(const X509& certificate) {
  auto* subject = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  return at < 0 ? "" : to_text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

std::string fingerprint_of(const X509& certificate) {
  unsigned char bytes[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  require_openssl(X509_digest(&certificate, EVP_sha256(), bytes, &size) == 1,
                  "cannot take a fingerprint");
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, i + 1 < size ? "%02X:" : "%02X", bytes[i]);
    text += digits;
  }
  return text;
}

// Why the authority does not vouch for the certificate; empty if it does. Times are looked at
// apart.
std::string chain_problem(X509& certificate, X509& authority) {
  const std::unique_ptr<X509_STORE, OpensslFree<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, OpensslFree<X509_STORE_CTX_free>> context(
      X509_STORE_CTX_new());
  require_openssl(store && context && X509_STORE_add_cert(store.get(), &authority) == 1 &&
                      X509_STORE_set_flags(
                          store.get(), X509_V_FLAG_NO_CHECK_TIME | X509_V_FLAG_X509_STRICT) == 1 &&
                      X509_STORE_CTX_init(context.get(), store.get(), &certificate, nullptr) == 1,
                  "cannot check a certificate");
  if (X509_verify_cert(context.get()) == 1) return {};
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

void add_time_problems(const CertificateInfo& info, std::vector<std::string>& problems) {
  const auto now = std::time(nullptr);
  if (now < info.not_before) problems.push_back("not valid yet");
  if (now > info.not_after) problems.push_back("expired");
}

void add_key_problems(X509& certificate, const fs::path& key_file,
                      std::vector<std::string>& problems) {
  struct stat mode {};
  if (::stat(key_file.c_str(), &mode) == 0 && (mode.st_mode & 077) != 0)
    problems.push_back(key_file.string() + " can be used by others; call chmod 600 on it");
  const auto key = parse_key(read_pem_file(key_file), key_file);
  if (X509_check_private_key(&certificate, key.get()) != 1)
    problems.push_back("the key " + key_file.string() + " does not fit");
}

// Everything but the key. The authority vouches for itself.
CertificateInfo inspect(X509& certificate, X509& authority, const fs::path& file) {
  CertificateInfo info;
  info.file = file.filename().string();
  info.authority = X509_cmp(&certificate, &authority) == 0;
  info.not_before = to_seconds(X509_get0_notBefore(&certificate));
  info.not_after = to_seconds(X509_get0_notAfter(&certificate));
  info.fingerprint = fingerprint_of(certificate);
  add_time_problems(info, info.problems);
  const auto names = agent_names(certificate);
  info.name = info.authority || names.empty() ? common_name(certificate) : names.front();
  if (!info.authority && names.size() != 1)
    info.problems.push_back(concat("one agent's name expected, ", names.size(), " found"));
  if (const auto problem = chain_problem(certificate, authority); !problem.empty())
    info.problems.push_back("the authority does not vouch for it: " + problem);
  return info;
}

}  // namespace

std::vector<CertificateInfo> inspect_keys(const fs::path& folder) {
  const auto ca_file = folder / "ca.crt";
  require(fs::exists(ca_file), ErrorKind::usage, folder.string(),
          " holds no authority (ca.crt); porter keys init makes one");
  const auto ca = parse_certificate(read_pem_file(ca_file), ca_file);
  std::vector<CertificateInfo> list;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto& file = entry.path();
    if (file.extension() != ".crt") continue;
    const auto certificate = parse_certificate(read_pem_file(file), file);
    auto info = inspect(*certificate, *ca, file);
    const auto key_file = fs::path(file).replace_extension(".key");
    info.has_key = fs::exists(key_file);
    if (info.has_key) add_key_problems(*certificate, key_file, info.problems);
    list.push_back(std::move(info));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::pair(!a.authority, a.file) < std::pair(!b.authority, b.file);
  });
  return list;
}

Identity load_identity(const fs::path& authority_file, const fs::path& certificate_file,
                       const fs::path& key_file) {
  Identity identity{.name = {},
                    .authority_pem = read_pem_file(authority_file),
                    .certificate_pem = read_pem_file(certificate_file),
                    .key_pem = read_pem_file(key_file)};
  const auto ca = parse_certificate(identity.authority_pem, authority_file);
  const auto certificate = parse_certificate(identity.certificate_pem, certificate_file);
  auto info = inspect(*certificate, *ca, certificate_file);
  add_key_problems(*certificate, key_file, info.problems);
  require(!info.authority, ErrorKind::io, certificate_file.string(),
          " is the authority's certificate, not an agent's");
  require(info.problems.empty(), ErrorKind::io, certificate_file.string(), ": ",
          info.problems.empty() ? "" : info.problems.front());
  identity.name = info.name;
  return identity;
}

}  // namespace porter
