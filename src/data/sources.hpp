// SPDX-License-Identifier: Apache-2.0
// Where load_data gets its tables from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "data/catalog.hpp"
#include "porter/core/thread_pool.hpp"
#include "porter/data/load.hpp"
#include "table.hpp"

namespace porter {

struct TablePair {
  FileTable train;
  std::optional<FileTable> test;
  std::string source;
};

/// load_data with the folders given instead of taken from the environment.
DataPair load_data_from(const DataOptions& options, const DataFolders& folders,
                        const LoadProgress& progress = {});

/// Binary features in groups with a planted signal; the content is fixed.
TablePair synthetic_tables();

/// Images of digits as IDX stores them: one label and 784 pixels, a byte each.
struct Digits {
  std::string labels, pixels;
};
/// Digits `first` ... `first + count - 1` of the endless sequence; the threads do not matter.
Digits draw_digits(std::size_t first, std::size_t count, ThreadPool& pool);

/// The same as a table, kept in the folder `cache` if there is one.
FileTable digit_table(const std::optional<std::filesystem::path>& cache, std::size_t first,
                      std::size_t count);
TablePair digit_tables(const std::optional<std::filesystem::path>& cache);

}  // namespace porter
