// SPDX-License-Identifier: Apache-2.0
#include "data/text_input.hpp"

#include <algorithm>
#include <span>

namespace porter {

TextInput::TextInput(const std::string& path, std::function<void(double share)> progress)
    : stream_(std::in_place, path), progress_(std::move(progress)), start_(kStart, '\0') {
  name_ = stream_->name();
  start_.resize(stream_->read(start_));
}

TextInput::TextInput(std::string_view text, std::string name)
    : name_(std::move(name)), start_(text.substr(0, kStart)), rest_(text.substr(start_.size())) {}

ReadBytes TextInput::reader() {
  return [this, held = std::string_view(start_)](std::span<char> buffer) mutable {
    const auto take = [&](std::string_view& from, std::size_t at) {
      const auto count = std::min(from.size(), buffer.size() - at);
      std::copy_n(from.begin(), count, buffer.begin() + static_cast<std::ptrdiff_t>(at));
      from.remove_prefix(count);
      return at + count;
    };
    const auto filled = take(held, 0);
    if (!stream_) return take(rest_, filled);
    const auto all = filled + stream_->read(buffer.subspan(filled));
    if (const auto share = stream_->share(); progress_ && share) progress_(*share);
    return all;
  };
}

}  // namespace porter
