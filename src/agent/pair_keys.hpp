// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/tls.hpp"
#include "file_journal.hpp"
#include "porter/algo/gradients.hpp"
#include "privacy/pair_secret.hpp"

namespace porter {

/// What an agent has in common with one neighbour.
struct PairRecord {
  enum class State : std::uint32_t {
    greeting,  ///< there is a private key
    agreed,    ///< there is a secret of the two
    spent,     ///< all rounds are released, and nothing is secret any more
  };
  std::uint32_t neighbour = 0;
  State state = State::greeting;
  PublicKey own = {}, theirs = {};
  SecretKey private_key = {};
  PairChain chain = PairChain(SecretKey(), 0);
};

struct PairsView {
  FileOwner owner;
  std::vector<PairRecord> records;
};
std::string encode_pairs(const PairsView& view);
/// Error{privacy} names `source` if anything is wrong.
PairsView decode_pairs(std::span<const std::byte> bytes, const std::string& source);

/// The secrets that an agent draws the noise from which it shares with its neighbours, in a file of
/// its folder: without them a restarted agent could not go on. Keys are made, and are on disk,
/// before a neighbour sees them; when all have answered the private keys are erased. From then on
/// the file has the chains as of the newest checkpoint, so whoever takes it learns nothing of
/// rounds before.
class PairKeys final : public KeyExchange, public PairSteps {
 public:
  /// Of an agent with these neighbours. Makes the file, or reads the one that is there;
  /// Error{privacy} if it is another's or damaged. `names` are those of all agents.
  PairKeys(std::filesystem::path path, FileOwner owner, std::vector<std::string> names,
           const std::vector<std::uint32_t>& neighbours);

  Key own(std::uint32_t neighbour) const override;
  void take(std::uint32_t neighbour, const Key& key) override;
  /// All neighbours have been met: the secrets take the place of the private keys, on disk.
  void settle();

  void add(std::size_t agent, std::uint32_t round, const SecureNoise& noise,
           std::span<double> steps) override;

  /// This round is safe in a checkpoint: neither it nor those before are drawn again.
  void forget(std::uint32_t round);
  /// The last round is: all secrets are erased.
  void spend();
  /// Nobody asks for a key any more: the file goes.
  void remove();

 private:
  std::size_t find(std::uint32_t neighbour) const;
  void save();

  std::filesystem::path path_;
  std::vector<std::string> names_;
  mutable std::mutex mutex_;  // links take keys in a thread of theirs
  PairsView view_;
};

}  // namespace porter
