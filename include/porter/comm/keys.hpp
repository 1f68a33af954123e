// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace porter {

/// The keys by which agents know each other: one authority, and a certificate for each agent that
/// carries the agent's name (as a DNS subjectAltName) and serves it as server and as client. Keys
/// are ECDSA on P-256. A folder holds ca.crt and ca.key, and NAME.crt and NAME.key per agent; all
/// files have mode 0600, a folder that is made has 0700.

struct KeyOptions {
  int days = 365;      ///< validity from now on, 1 to 36500
  bool force = false;  ///< replace what is there
};

/// Makes the authority. Error{usage} if there is one already, Error{io} if others may write to the
/// folder.
void init_authority(const std::filesystem::path& folder, const std::string& name,
                    const KeyOptions& options);

/// Makes an agent's key and certificate. A name has 1 to 63 of the characters a-z, 0-9, '-' and
/// '.', begins and ends with a letter or digit, and is not "ca". Error{usage} if the agent has one
/// already, or if the certificate would outlive the authority.
void issue_certificate(const std::filesystem::path& folder, const std::string& agent,
                       const KeyOptions& options);

struct CertificateInfo {
  std::string file;  ///< "hospital-a.crt"
  std::string name;  ///< of the agent, or of the authority
  bool authority = false;
  std::int64_t not_before = 0, not_after = 0;  ///< seconds since 1970
  std::string fingerprint;                     ///< SHA-256, "AB:CD:…"
  bool has_key = false;
  std::vector<std::string> problems;  ///< empty: all is well
};

/// Every certificate of a folder, the authority first: who, how long, and whether it is within its
/// time, signed by the authority, and fitted by its key (which may be elsewhere).
std::vector<CertificateInfo> inspect_keys(const std::filesystem::path& folder);

/// What an agent needs to prove who it is, and to check the others.
struct Identity {
  std::string name;
  std::string authority_pem, certificate_pem, key_pem;
};

/// Reads and checks the three files. Error{io} names the file and what is wrong with it:
/// unreadable, expired, not signed by the authority, a key that does not fit or that others may
/// read.
Identity load_identity(const std::filesystem::path& authority_file,
                       const std::filesystem::path& certificate_file,
                       const std::filesystem::path& key_file);

}  // namespace porter
