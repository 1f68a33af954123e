// SPDX-License-Identifier: Apache-2.0
#include "mpi_session.hpp"
#include "transport_contract.hpp"

namespace porter {
namespace {

// The number of processes is that of the job; a hosting for another number is not run.
std::vector<TransportKind> kinds() {
  TransportKind kind{.name = "Mpi",
                     .process_counts = {mpi_session->size()},
                     .run = [](const Hosting& hosting, const ProcessBody& body) {
                       body(mpi_session->make_transport(hosting, kContractMaxMessage),
                            mpi_session->rank());
                     }};
  return {kind};
}

INSTANTIATE_TEST_SUITE_P(Mpi, TransportContract, testing::ValuesIn(kinds()));

Hosting blocks(std::uint32_t agents) { return host_in_blocks(ring(agents), mpi_session->size()); }

TEST(MpiSession, GathersTheRowsOfAllAgentsAtRankZero) {
  for (const std::uint32_t more : {0U, 1U, 6U}) {
    const auto agents = mpi_session->size() + more;
    const auto hosting = blocks(agents);
    const auto& own = hosting.hosted(mpi_session->rank());
    Rows hosted(own.size(), 7);
    for (std::size_t i = 0; i < own.size(); ++i)
      for (std::size_t j = 0; j < 7; ++j) hosted.row(i)[j] = 10.0 * own[i] + double(j);
    const auto all = mpi_session->gather_rows(hosting, hosted);
    if (mpi_session->rank() != 0) {
      EXPECT_EQ(all.agents(), 0U);
      continue;
    }
    ASSERT_EQ(all.agents(), agents);
    for (std::size_t i = 0; i < agents; ++i)
      for (std::size_t j = 0; j < 7; ++j) EXPECT_EQ(all.row(i)[j], 10.0 * double(i) + double(j));
  }
}

TEST(MpiSession, RefusesRowsThatAreNotThoseOfTheHostedAgents) {
  const auto hosting = blocks(mpi_session->size());
  EXPECT_THROW(mpi_session->gather_rows(hosting, Rows(2, 3)), Error);
}

TEST(MpiSession, GivesEverybodyWhatEachGave) {
  for (const std::size_t size : {0, 1, 100'000}) {
    const auto given = message_of(mpi_session->rank(), 1, size * mpi_session->rank());
    const auto all = mpi_session->all_gather(given);
    ASSERT_EQ(all.size(), mpi_session->size());
    for (std::uint32_t r = 0; r < all.size(); ++r) EXPECT_EQ(all[r], message_of(r, 1, size * r));
  }
}

TEST(MpiSession, RefusesAHostingForAnotherNumberOfRanks) {
  const auto hosting = host_in_blocks(ring(mpi_session->size() + 1), mpi_session->size() + 1);
  EXPECT_THROW(mpi_session->make_transport(hosting, 10), Error);
}

// Ranks that disagree about the limit: the message that does not fit is an error that names its
// sender, not a torn one.
TEST(MpiTransport, RefusesAMessageLongerThanItsLimit) {
  if (mpi_session->size() != 2) return;
  const auto hosting = blocks(2);
  const auto rank = mpi_session->rank();
  const auto end = mpi_session->make_transport(hosting, rank == 0 ? 100 : 1000);
  end->post(1, rank, Payload(rank == 0 ? 10 : 1000));
  try {
    end->collect(1);
    EXPECT_EQ(rank, 1U);
  } catch (const Error& error) {
    if (rank == 0) {
      EXPECT_STREQ(error.what(), "agent 1 in process 1 (agent 1) sent more than 100 bytes");
    }
  }
}

// The ranks of this test are all on one machine. Each writes to the parts of its own agents and
// reads those of its neighbours in the next step, when their messages say that they have written.
TEST(MpiTransport, RanksOfOneMachineReadEachOthersMemory) {
  const auto hosting = blocks(mpi_session->size() + 2);
  const auto rank = mpi_session->rank();
  const auto end = mpi_session->make_transport(hosting, 100);
  const auto memory = end->share(3 * 64);
  ASSERT_EQ(memory == nullptr, mpi_session->size() == 1);  // alone on its machine
  for (std::uint32_t step = 1; memory && step <= 200; ++step) {
    const std::size_t place = 64 * (step % 2);
    for (const auto agent : hosting.hosted(rank)) {
      const auto part = memory->part(agent);
      ASSERT_EQ(part.size(), 192U);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % 64, 0U);
      std::ranges::fill(part.subspan(place, 64), std::byte(step + agent));
      memory->sync();
      end->post(step, agent, {});
    }
    end->collect(step);
    memory->sync();
    for (const auto agent : hosting.sources(rank))
      for (const auto byte : memory->part(agent).subspan(place, 64))
        ASSERT_EQ(byte, std::byte(step + agent)) << "agent " << agent << " step " << step;
  }
  end->finish();
}

}  // namespace
}  // namespace porter
