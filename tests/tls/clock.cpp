// SPDX-License-Identifier: Apache-2.0
// A wall clock that a test can set: preloaded, it adds the seconds in the file PORTER_TEST_CLOCK to
// the time of day. The steady clock stays as it is, as on a machine whose clock is set.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

long offset() {
  const char* path = std::getenv("PORTER_TEST_CLOCK");
  long seconds = 0;
  if (std::FILE* file = path ? std::fopen(path, "re") : nullptr) {
    if (std::fscanf(file, "%ld", &seconds) != 1) seconds = 0;
    std::fclose(file);
  }
  return seconds;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real = next<int(clockid_t, timespec*)>("clock_gettime");
  const int code = real(clock, now);
  if (code == 0 && clock == CLOCK_REALTIME) now->tv_sec += offset();
  return code;
}

int gettimeofday(timeval* now, void* zone) noexcept {
  static const auto real = next<int(timeval*, void*)>("gettimeofday");
  const int code = real(now, zone);
  if (code == 0) now->tv_sec += offset();
  return code;
}

time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}
}
