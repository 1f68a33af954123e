// SPDX-License-Identifier: Apache-2.0
#include "porter/comm/keys.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "comm/keys_openssl.hpp"
#include "command.hpp"
#include "io/append_file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

class Keys : public testing::Test {
 protected:
  Keys() {
    init_authority(folder_, "test authority", {.days = 100});
    issue_certificate(folder_, "agent-0", {.days = 30});
    issue_certificate(folder_, "agent-1", {.days = 30});
  }
  template <class Action>
  std::string refusal(const Action& action, ErrorKind kind) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    return "accepted";
  }
  Identity load(const std::string& certificate, const std::string& key,
                const std::string& authority = "ca") {
    return load_identity(folder_ / (authority + ".crt"), folder_ / (certificate + ".crt"),
                         folder_ / (key + ".key"));
  }
  void expect_refused(const std::string& certificate, const std::string& key,
                      const std::string& text) {
    const auto answer = refusal([&] { load(certificate, key); }, ErrorKind::io);
    EXPECT_NE(answer.find(text), std::string::npos) << answer;
  }
  // The agent's certificate with other times, signed by the same authority.
  void resign(const std::string& agent, long not_before, long not_after) {
    const auto file = folder_ / (agent + ".crt");
    const auto certificate = parse_certificate(read_pem_file(file), file);
    const auto ca_key = parse_key(read_pem_file(folder_ / "ca.key"), "ca.key");
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), not_before);
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), not_after);
    ASSERT_GT(X509_sign(certificate.get(), ca_key.get(), EVP_sha256()), 0);
    fs::remove(file);
    AppendFile::create(file, to_pem(*certificate), {});
  }

  TempDir dir_;
  const fs::path folder_ = dir_ / "keys";
};

TEST_F(Keys, AreReadableByTheOwnerOnly) {
  const auto mode_of = [](const fs::path& path) {
    struct stat info {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 0777;
  };
  EXPECT_EQ(mode_of(folder_), 0700U);
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 6U);
}

TEST_F(Keys, ShowNamesTimesAndFingerprints) {
  const auto list = inspect_keys(folder_);
  ASSERT_EQ(list.size(), 3U);
  EXPECT_TRUE(list[0].authority);
  EXPECT_EQ(list[0].name, "test authority");
  EXPECT_EQ(list[1].name, "agent-0");
  EXPECT_EQ(list[2].file, "agent-1.crt");
  const auto now = std::time(nullptr);
  for (const auto& info : list) {
    EXPECT_TRUE(info.has_key);
    EXPECT_EQ(info.problems, std::vector<std::string>{}) << info.name;
    EXPECT_LT(info.not_before, now);
    EXPECT_NEAR(double(info.not_after - now), (info.authority ? 100 : 30) * 86400.0, 60.0);
    EXPECT_EQ(info.fingerprint.size(), 95U);
  }
  EXPECT_NE(list[1].fingerprint, list[2].fingerprint);
}

TEST_F(Keys, SatisfyTheOpensslCommand) {
  if (run_command("openssl version").exit_code != 0) GTEST_SKIP() << "no openssl command";
  const auto at = [&](const char* name) { return (folder_ / name).string(); };
  for (const auto* purpose : {"sslserver", "sslclient"}) {
    const auto result =
        run_command(std::string("openssl verify -x509_strict -purpose ") + purpose +
                    " -verify_hostname agent-0 -CAfile " + at("ca.crt") + " " + at("agent-0.crt"));
    EXPECT_EQ(result.exit_code, 0) << result.output;
  }
  EXPECT_NE(run_command("openssl verify -verify_hostname agent-1 -CAfile " + at("ca.crt") + " " +
                        at("agent-0.crt"))
                .exit_code,
            0);
  const auto text = run_command("openssl x509 -noout -text -in " + at("agent-0.crt")).output;
  for (const auto* part : {"DNS:agent-0", "CA:FALSE", "prime256v1", "ecdsa-with-SHA256",
                           "TLS Web Server Authentication, TLS Web Client Authentication"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  const auto printed =
      run_command("openssl x509 -noout -fingerprint -sha256 -in " + at("agent-0.crt")).output;
  EXPECT_NE(printed.find(inspect_keys(folder_)[1].fingerprint), std::string::npos) << printed;
}

TEST_F(Keys, LoadAsAnIdentity) {
  const auto identity = load("agent-0", "agent-0");
  EXPECT_EQ(identity.name, "agent-0");
  EXPECT_NE(identity.key_pem.find("PRIVATE KEY"), std::string::npos);
}

TEST_F(Keys, AreNotReplacedUnlessForced) {
  const auto before = read_pem_file(folder_ / "agent-0.key");
  const auto again = [&](bool force) {
    issue_certificate(folder_, "agent-0", {.days = 30, .force = force});
  };
  const auto answer = refusal([&] { again(false); }, ErrorKind::usage);
  EXPECT_NE(answer.find("agent-0.key exists (the agent must get the new files)"), std::string::npos)
      << answer;
  EXPECT_NE(refusal([&] { init_authority(folder_, "x", {}); }, ErrorKind::usage).find("ca.key"),
            std::string::npos);
  EXPECT_EQ(read_pem_file(folder_ / "agent-0.key"), before);
  again(true);
  EXPECT_NE(read_pem_file(folder_ / "agent-0.key"), before);
  EXPECT_NO_THROW(load("agent-0", "agent-0"));
}

TEST_F(Keys, RefuseNamesAndDaysThatCannotBe) {
  for (const auto* name : {"", "ca", "-a", "a-", "A", "a b", "*.a", "a/b", "../a", "a,DNS:b"})
    EXPECT_NE(refusal([&] { issue_certificate(folder_, name, {}); }, ErrorKind::usage)
                  .find("an agent's name has 1 to 63"),
              std::string::npos)
        << name;
  EXPECT_THROW(issue_certificate(folder_, std::string(64, 'a'), {}), Error);
  for (const int days : {0, -1, 36501})
    EXPECT_THROW(issue_certificate(folder_, "b", {.days = days}), Error) << days;
  const auto answer =
      refusal([&] { issue_certificate(folder_, "b", {.days = 101}); }, ErrorKind::usage);
  EXPECT_NE(answer.find("for 101 days would outlive its authority"), std::string::npos) << answer;
  EXPECT_FALSE(fs::exists(folder_ / "b.key"));
}

TEST_F(Keys, RefuseAFolderThatOthersMayWrite) {
  const auto open = dir_ / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  EXPECT_NE(refusal([&] { init_authority(open, "x", {}); }, ErrorKind::io).find("chmod 700"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(open));
  EXPECT_THROW(init_authority(dir_ / "no" / "such", "x", {}), Error);
  EXPECT_NE(refusal([&] { issue_certificate(dir_ / "empty", "a", {}); }, ErrorKind::usage)
                .find("holds no authority"),
            std::string::npos);
}

TEST_F(Keys, KnowAKeyThatDoesNotFit) {
  expect_refused("agent-0", "agent-1", "does not fit");
  fs::copy_file(folder_ / "agent-1.key", folder_ / "agent-0.key",
                fs::copy_options::overwrite_existing);
  const auto info = inspect_keys(folder_)[1];
  ASSERT_EQ(info.problems.size(), 1U);
  EXPECT_NE(info.problems[0].find("does not fit"), std::string::npos);
}

TEST_F(Keys, KnowACertificateOfAForeignAuthority) {
  // The foreign authority even has the same name.
  init_authority(dir_ / "other", "test authority", {.days = 100});
  issue_certificate(dir_ / "other", "agent-0", {.days = 30});
  for (const auto* end : {".crt", ".key"})
    fs::copy_file(dir_ / "other" / (std::string("agent-0") + end),
                  folder_ / (std::string("stranger") + end));
  expect_refused("stranger", "stranger", "the authority does not vouch for it");
}

TEST_F(Keys, KnowExpiredAndFutureCertificates) {
  resign("agent-0", -1000, -10);
  expect_refused("agent-0", "agent-0", "expired");
  resign("agent-1", 1000, 2000);
  expect_refused("agent-1", "agent-1", "not valid yet");
}

TEST_F(Keys, KnowAKeyThatOthersMayRead) {
  fs::permissions(folder_ / "agent-0.key", fs::perms::group_read, fs::perm_options::add);
  expect_refused("agent-0", "agent-0", "can be used by others");
}

TEST_F(Keys, KnowTheAuthorityFromAnAgent) {
  expect_refused("ca", "ca", "is the authority's certificate");
  // An agent's certificate does not make others: it is no authority.
  EXPECT_NE(refusal([&] { load("agent-1", "agent-1", "agent-0"); }, ErrorKind::io), "accepted");
}

TEST_F(Keys, NameTheFileThatCannotBeRead) {
  std::ofstream(folder_ / "junk.crt") << "no certificate";
  std::ofstream(folder_ / "junk.key") << "no key";
  expect_refused("junk", "agent-0", "junk.crt holds no certificate");
  expect_refused("agent-0", "junk", "junk.key");
  expect_refused("missing", "agent-0", "missing.crt");
}

TEST_F(Keys, NeedNotLieBesideTheCertificates) {
  fs::remove(folder_ / "agent-0.key");
  const auto info = inspect_keys(folder_)[1];
  EXPECT_FALSE(info.has_key);
  EXPECT_TRUE(info.problems.empty());
}

}  // namespace
}  // namespace porter
