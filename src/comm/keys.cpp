// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/keys.hpp"

#include <openssl/rand.h>
#include <sys/stat.h>

#include <array>
#include <ctime>
#include <optional>

#include "io/append_file.hpp"
#include "keys_openssl.hpp"
#include "porter/core/error.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDay = 24 * 3600;
constexpr std::int64_t kClockSlack = 300;  // seconds a peer's clock may be behind ours
constexpr const char* kAuthority = "ca";

fs::path certificate_file(const fs::path& folder, const std::string& name) {
  return folder / (name + ".crt");
}
fs::path key_file(const fs::path& folder, const std::string& name) {
  return folder / (name + ".key");
}

void require_name(const std::string& name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  bool good = !name.empty() && name.size() <= 63 && name != kAuthority && plain(name.front()) &&
              plain(name.back());
  for (const char c : name) good = good && (plain(c) || c == '-' || c == '.');
  require(good, ErrorKind::usage,
          "an agent's name has 1 to 63 of the characters a-z, 0-9, '-' and "
          "'.', begins and ends with a letter or digit, and is not \"ca\"; found \"",
          name, "\"");
}

void require_days(int days) {
  require(days >= 1 && days <= 36500, ErrorKind::usage, "days: expected 1 to 36500, found ", days);
}

void prepare_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return;
  struct stat info {};
  require(errno == EEXIST && ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode),
          ErrorKind::io, "cannot make the folder ", folder.string());
  require((info.st_mode & 022) == 0, ErrorKind::io, "others may write to ", folder.string(),
          ", so they could replace the keys in it; call chmod 700 on it first");
}

void make_room(const fs::path& folder, const std::string& name, bool force, const char* loss) {
  for (const auto& file : {key_file(folder, name), certificate_file(folder, name)}) {
    if (!fs::exists(file)) continue;
    require(force, ErrorKind::usage, file.string(), " exists (", loss, ")");
    fs::remove(file);
  }
}

// A positive number of 126 random bits: no two certificates of an authority share one.
void set_serial(X509& certificate) {
  std::array<unsigned char, 16> bytes;
  require_openssl(RAND_bytes(bytes.data(), bytes.size()) == 1, "no random serial number");
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x3f) | 0x40);
  const std::unique_ptr<BIGNUM, OpensslFree<BN_free>> number(
      BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  require_openssl(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr,
                  "cannot set a serial number");
}

void add_extension(X509& certificate, X509& issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  require_openssl(extension && X509_add_ext(&certificate, extension.get(), -1) == 1,
                  "cannot add " + value + " to a certificate");
}

// Version 3, with name, key, serial number and time, not yet signed.
CertificatePtr new_certificate(const std::string& name, EVP_PKEY& key, int days) {
  CertificatePtr certificate(X509_new());
  auto* subject = certificate ? X509_get_subject_name(certificate.get()) : nullptr;
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  require_openssl(
      subject && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
          X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, -1, -1, 0) == 1 &&
          X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kClockSlack) != nullptr &&
          X509_gmtime_adj(X509_getm_notAfter(certificate.get()), days * kDay) != nullptr &&
          X509_set_pubkey(certificate.get(), &key) == 1,
      "cannot make a certificate for \"" + name + "\"");
  set_serial(*certificate);
  return certificate;
}

struct Issuer {
  X509& certificate;
  EVP_PKEY& key;
};

// Makes NAME.key and NAME.crt. Without an issuer the certificate is signed by its own key.
void make_files(const fs::path& folder, const std::string& name, const std::string& subject,
                int days, std::optional<Issuer> issuer,
                std::initializer_list<std::pair<int, std::string>> extensions) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  require_openssl(key != nullptr, "cannot make a P-256 key");
  const auto certificate = new_certificate(subject, *key, days);
  const auto [signer, signing_key] = issuer.value_or(Issuer{*certificate, *key});
  for (const auto& [id, value] : extensions) add_extension(*certificate, signer, id, value);
  require_openssl(X509_set_issuer_name(certificate.get(), X509_get_subject_name(&signer)) == 1 &&
                      X509_sign(certificate.get(), &signing_key, EVP_sha256()) > 0,
                  "cannot sign a certificate");
  AppendFile::create(key_file(folder, name), to_pem(*key), {});
  AppendFile::create(certificate_file(folder, name), to_pem(*certificate), {});
}

}  // namespace

void init_authority(const fs::path& folder, const std::string& name, const KeyOptions& options) {
  require(!name.empty() && name.size() <= 64, ErrorKind::usage,
          "an authority's name has 1 to 64 bytes, found ", name.size());
  require_days(options.days);
  prepare_folder(folder);
  make_room(folder, kAuthority, options.force,
            "every certificate that it signed becomes worthless");
  make_files(folder, kAuthority, name, options.days, std::nullopt,
             {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
              {NID_key_usage, "critical,keyCertSign,cRLSign"},
              {NID_subject_key_identifier, "hash"}});
}

void issue_certificate(const fs::path& folder, const std::string& agent,
                       const KeyOptions& options) {
  require_name(agent);
  require_days(options.days);
  const auto ca_file = certificate_file(folder, kAuthority);
  const auto ca_key_file = key_file(folder, kAuthority);
  require(fs::exists(ca_file) && fs::exists(ca_key_file), ErrorKind::usage, folder.string(),
          " holds no authority (ca.crt and ca.key)");
  const auto ca = parse_certificate(read_pem_file(ca_file), ca_file);
  const auto ca_key = parse_key(read_pem_file(ca_key_file), ca_key_file);
  require(X509_check_private_key(ca.get(), ca_key.get()) == 1, ErrorKind::io, ca_key_file.string(),
          " is not the key of ", ca_file.string());
  const auto left = (to_seconds(X509_get0_notAfter(ca.get())) - std::time(nullptr)) / kDay;
  require(options.days <= left, ErrorKind::usage, "a certificate for ", options.days,
          " days would outlive its authority, which has ", left,
          " days left; choose fewer days, or make a new authority");
  make_room(folder, agent, options.force, "the agent must get the new files");
  make_files(folder, agent, agent, options.days, Issuer{*ca, *ca_key},
             {{NID_basic_constraints, "critical,CA:FALSE"},
              {NID_key_usage, "critical,digitalSignature"},
              {NID_ext_key_usage, "serverAuth,clientAuth"},
              {NID_subject_alt_name, "DNS:" + agent},
              {NID_subject_key_identifier, "hash"},
              {NID_authority_key_identifier, "keyid"}});
}

}  // namespace porter
