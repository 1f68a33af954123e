// SPDX-License-Identifier: Apache-2.0
#include "graph/topologies.hpp"

#include "expect_error.hpp"
#include "io/file.hpp"
#include "temp_dir.hpp"

namespace porter {
namespace {

TEST(EdgeList, ReadsEdgesCommentsAndEmptyLines) {
  const auto edges = decode_edges("# a square\n0 1\n\n 2\t1  # tail\r\n2 3\n3 0", "e.txt", 4);
  EXPECT_EQ(edges, (std::vector<Graph::Edge>{{0, 1}, {0, 3}, {1, 2}, {2, 3}}));
  EXPECT_TRUE(decode_edges("", "e.txt", 1).empty());
}

TEST(EdgeList, NamesFileAndLineOfWhatIsWrong) {
  const auto decoding = [](std::string text) { return [=] { decode_edges(text, "e.txt", 4); }; };
  for (const char* line : {"0", "0 x", "0 1 2", "-1 2", "0 1.5", "99999999999999999999999 1"})
    expect_error(ErrorKind::io, {"e.txt:2", "expected two node numbers", line},
                 decoding(std::string("0 1\n") + line));
  expect_error(ErrorKind::usage, {"e.txt:1", "edge 0 4", "nodes are 0 to 3"}, decoding("0 4"));
  expect_error(ErrorKind::usage, {"e.txt:3", "itself"}, decoding("0 1\n1 2\n2 2"));
  expect_error(ErrorKind::usage, {"e.txt:3", "already on line 1"}, decoding("0 1\n1 2\n1 0"));
}

TEST(EdgeList, ArcsHaveADirection) {
  EXPECT_EQ(decode_arcs("2 0\n0 1\n1 0 # back\n", "a.txt", 3),
            (std::vector<Arc>{{0, 1}, {1, 0}, {2, 0}}));
  expect_error(ErrorKind::usage, {"a.txt:2", "arc 1 0", "already on line 1"},
               [] { decode_arcs("1 0\n1 0\n", "a.txt", 3); });
  expect_error(ErrorKind::usage, {"a.txt:1", "arc 1 1", "no arc to itself"},
               [] { decode_arcs("1 1\n", "a.txt", 3); });
}

TEST(EdgeList, BecomesAGraphOrAnErrorThatNamesTheFile) {
  const TempDir dir;
  const auto path = (dir / "edges.txt").string();
  write_file(path, "0 1\n2 1\n");
  EXPECT_EQ(make_graph("file:" + path, 3, 1).edges().size(), 2U);
  expect_error(ErrorKind::usage, {path, "not connected", "node 3"},
               [&] { make_graph("file:" + path, 4, 1); });
  expect_error(ErrorKind::io, {"no-such-file"}, [] { make_graph("file:no-such-file", 4, 1); });
  expect_error(ErrorKind::usage, {"argument is missing", "file:edges.txt"},
               [] { make_graph("file:", 4, 1); });
}

}  // namespace
}  // namespace porter
