// SPDX-License-Identifier: Apache-2.0
#include "data/catalog.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "io/file.hpp"
#include "porter/core/error.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

namespace fs = std::filesystem;

const std::string kContent = "-1 1:1\n+1 2:1\n-1 3:1\n";

// A home with one file, fetched by file:// URLs: no network needed.
class Fetch : public testing::Test {
 protected:
  Fetch() {
    if (std::system("curl --version > /dev/null 2>&1") != 0) have_curl_ = false;
    write_file(home_ / "set", kContent);
    fs::create_directory(home_ / "mirror");
  }
  void SetUp() override {
    if (!have_curl_) GTEST_SKIP() << "no curl on this machine";
  }
  std::string url(const std::string& name) const { return "file://" + (home_ / name).string(); }
  KnownFile file(std::vector<std::string> urls, const std::string& content = kContent) const {
    return {.name = "sub/set",
            .urls = std::move(urls),
            .sha256 = content_sha256(content, true),
            .text = true};
  }
  // The error, after which nothing may be left under the file's name.
  Error error_of(const KnownFile& wanted) const {
    try {
      fetch_file(wanted, into_.path());
    } catch (const Error& error) {
      EXPECT_FALSE(fs::exists(into_ / "sub/set"));
      return error;
    }
    ADD_FAILURE() << "no error";
    return {ErrorKind::usage, ""};
  }

  TempDir home_, into_;
  bool have_curl_ = true;
};

TEST_F(Fetch, DownloadsOnceAndChecks) {
  EXPECT_TRUE(fetch_file(file({url("set")}), into_.path()));
  EXPECT_EQ(read_file(into_ / "sub/set"), kContent);
  EXPECT_FALSE(fs::exists(into_ / "sub/set.part"));
  EXPECT_FALSE(fetch_file(file({url("set")}), into_.path()));
}

TEST_F(Fetch, ReplacesADamagedFile) {
  fs::create_directory(into_ / "sub");
  write_file(into_ / "sub/set", "damaged");
  EXPECT_TRUE(fetch_file(file({url("set")}), into_.path()));
  EXPECT_EQ(read_file(into_ / "sub/set"), kContent);
}

TEST_F(Fetch, RefusesAndRemovesAWrongChecksum) {
  const auto error = error_of(file({url("set")}, "something else"));
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_NE(std::string(error.what()).find("found " + content_sha256(kContent, true)),
            std::string::npos)
      << error.what();
  EXPECT_FALSE(fs::exists(into_ / "sub/set.part"));
}

TEST_F(Fetch, GoesOnWhereAPartEnds) {
  // A part that differs from the home's file shows that only the rest was read.
  const auto half = kContent.size() / 2;
  const auto mixed = std::string(half, '#') + kContent.substr(half);
  fs::create_directory(into_ / "sub");
  write_file(into_ / "sub/set.part", mixed.substr(0, half));
  EXPECT_TRUE(fetch_file(file({url("set")}, mixed), into_.path()));
  EXPECT_EQ(read_file(into_ / "sub/set"), mixed);
}

TEST_F(Fetch, TakesAPartThatIsWhole) {
  fs::create_directory(into_ / "sub");
  write_file(into_ / "sub/set.part", kContent);
  EXPECT_TRUE(fetch_file(file({url("missing")}), into_.path()));
  EXPECT_EQ(read_file(into_ / "sub/set"), kContent);
}

TEST_F(Fetch, StartsAgainWhenThePartDoesNotFit) {
  fs::create_directory(into_ / "sub");
  for (const auto& part : {std::string("garbage"), std::string(100, 'x')}) {
    fs::remove(into_ / "sub/set");
    write_file(into_ / "sub/set.part", part);
    EXPECT_TRUE(fetch_file(file({url("set")}), into_.path())) << part;
    EXPECT_EQ(read_file(into_ / "sub/set"), kContent) << part;
  }
}

TEST_F(Fetch, TriesTheMirrors) {
  write_file(home_ / "mirror/set", "wrong content\n");
  EXPECT_TRUE(fetch_file(file({url("missing"), url("mirror/set"), url("set")}), into_.path()));
  EXPECT_EQ(read_file(into_ / "sub/set"), kContent);
}

TEST_F(Fetch, NamesUrlFolderAndVariableWhenNothingCanBeReached) {
  const auto error = error_of(file({url("missing")}));
  EXPECT_EQ(error.kind(), ErrorKind::network);
  for (const auto& part : {url("missing"), into_.path().string(), std::string("PORTER_DATA")})
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
}

TEST(ContentSha256, ForgivesLineEndsOfTextOnly) {
  const auto plain = content_sha256("1 1:1\n2 2:1\n", true);
  EXPECT_EQ(plain, sha256_hex("1 1:1\n2 2:1\n"));
  EXPECT_EQ(plain, content_sha256("1 1:1\r\n2 2:1", true));
  EXPECT_EQ(plain, content_sha256("1 1:1 \n2 2:1 \n", true));
  EXPECT_NE(plain, content_sha256("1  1:1\n2 2:1\n", true));
  EXPECT_NE(plain, content_sha256("1 1:1\r\n2 2:1", false));
}

// Sets an environment variable until the end of the test.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    set(value);
  }
  ~Environment() { set(old_ ? old_->c_str() : nullptr); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  void set(const char* value) {
    if (value != nullptr)
      setenv(name_, value, 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DataFolders, FollowTheEnvironment) {
  const Environment home("HOME", "/home/ann");
  {
    const Environment data("PORTER_DATA", "/data"), cache("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(describe(data_folders()), "PORTER_DATA (/data) or /cache/porter/data");
  }
  {
    const Environment data("PORTER_DATA", nullptr), cache("XDG_CACHE_HOME", "relative");
    EXPECT_EQ(describe(data_folders()), "PORTER_DATA (unset) or /home/ann/.cache/porter/data");
  }
  const Environment homeless("HOME", nullptr), cache("XDG_CACHE_HOME", nullptr);
  EXPECT_FALSE(data_folders().cache.has_value());
}

}  // namespace
}  // namespace porter
