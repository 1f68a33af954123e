// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace porter {

/// Objects that are lent to one user at a time and kept for the next one. There are as many as were
/// out at once: one per thread, however many pieces of work the threads take.
template <class T>
class Lender {
 public:
  /// Gives its object back when it ends.
  class Loan {
   public:
    Loan(Lender& lender, std::unique_ptr<T> object) : lender_(lender), object_(std::move(object)) {}
    ~Loan() { lender_.give_back(std::move(object_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    T& operator*() const { return *object_; }
    T* operator->() const { return object_.get(); }

   private:
    Lender& lender_;
    std::unique_ptr<T> object_;
  };

  /// The object as its last user left it, or a new one. From any thread.
  Loan take() { return {*this, take_free()}; }

 private:
  std::unique_ptr<T> take_free() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto object = std::move(free_.back());
        free_.pop_back();
        return object;
      }
    }
    return std::make_unique<T>();
  }

  void give_back(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(object));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace porter
