// SPDX-License-Identifier: Apache-2.0
// Memory of a device, and launches: of CUDA where nvcc compiles, else of the host that stands for
// it in tests. Work is done in the order in which it was asked for.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "block.hpp"
#include "porter/core/error.hpp"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#endif

namespace porter::cuda {

struct Grid {
  std::size_t x = 1, y = 1;
};
template <class Kernel>
struct Part;

/// The device is full.
class NoRoom : public Error {
 public:
  explicit NoRoom(const std::string& text)
      : Error(ErrorKind::io, "run.engine = \"cuda\": out of memory on the device: " + text) {}
};
/// Keeps what is lent to a device as long as the device is there.
class LeaseHolder {
 public:
  void hold(std::shared_ptr<void> lease) { lease_ = std::move(lease); }

 private:
  std::shared_ptr<void> lease_;
};

#if defined(__CUDACC__)

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // so that it is not seen again
  fail(ErrorKind::io, "the CUDA device failed: ", what, ": ", cudaGetErrorString(error));
}

/// A kernel that has kBlocks of a multiprocessor in mind is compiled for so many, and one that
/// kStartsEarly waits for the one before it by itself.
template <class Kernel>
consteval int blocks_of() {
  if constexpr (requires { Kernel::kBlocks; }) return Kernel::kBlocks;
  return 1;
}
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, blocks_of<Kernel>())
    run_kernel(const __grid_constant__ Kernel kernel) {
  extern __shared__ __align__(16) unsigned char memory[];
  const Block block{blockIdx.x, blockIdx.y, memory};
  if constexpr (!requires { Kernel::kStartsEarly; }) {
    block.await_previous();
    block.let_next_start();
  }
  kernel(block);
}

class Device : public LeaseHolder {
 public:
  explicit Device(Order = Order::forward) {
    int count = 0;
    const auto error = cudaGetDeviceCount(&count);
    require(error == cudaSuccess && count > 0, ErrorKind::io,
            "run.engine = \"cuda\": no CUDA device was found (",
            error == cudaSuccess ? "none is there" : cudaGetErrorString(error), ")");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "asking for its properties");
    name_ = properties.name;
    block_memory_ = properties.sharedMemPerBlockOptin;
    multiprocessors_ = static_cast<std::size_t>(properties.multiProcessorCount);
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "making an event");
  }
  ~Device() {
    cudaEventDestroy(event_);
    cudaStreamDestroy(stream_);
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return name_; }
  std::size_t free_bytes() const {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all), "asking for its memory");
    return free;
  }
  /// The memory that a block may have.
  std::size_t block_memory() const { return block_memory_; }
  /// So many blocks run side by side.
  std::size_t multiprocessors() const { return multiprocessors_; }

  void* allocate(std::size_t bytes) const {
    void* memory = nullptr;
    const auto error = cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw NoRoom(concat("no room for ", static_cast<double>(bytes) / 1e9, " GB more"));
    }
    check(error, "allocating memory");
    check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
    return memory;
  }
  static void free(void* memory) { cudaFree(memory); }
  void upload(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copying to it");
    check(cudaStreamSynchronize(stream_), "copying to it");
  }
  void download(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from it");
    check(cudaStreamSynchronize(stream_), "computing, or copying from it");
  }
  /// Rows of `bytes`, which lie so many bytes apart on either side.
  struct Pitch {
    std::size_t device, host;
  };
  void upload_rows(void* to, const void* from, Pitch pitch, std::size_t bytes,
                   std::size_t rows) const {
    copy_rows(to, pitch.device, from, pitch.host, bytes, rows, cudaMemcpyHostToDevice);
  }
  void download_rows(void* to, const void* from, Pitch pitch, std::size_t bytes,
                     std::size_t rows) const {
    copy_rows(to, pitch.host, from, pitch.device, bytes, rows, cudaMemcpyDeviceToHost);
  }
  /// Memory of the host that kernels write to.
  void* allocate_on_host(std::size_t bytes) const {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "allocating host memory");
    std::memset(memory, 0, bytes);
    return memory;
  }
  static void free_on_host(void* memory) { cudaFreeHost(memory); }
  /// wait() waits for what was asked for up to here.
  void mark() const { check(cudaEventRecord(event_, stream_), "recording an event"); }
  void wait() const { check(cudaEventSynchronize(event_), "computing"); }

  template <class Kernel>
  void launch(const Part<Kernel>& part) const {
    launch(part.grid, part.memory, part.kernel);
  }
  template <class Kernel>
  void launch(Grid grid, std::size_t memory, const Kernel& kernel) const {
    constexpr std::size_t kPlain = 48 * 1024;  // what needs no permission
    if (memory > kPlain)
      check(cudaFuncSetAttribute(run_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 static_cast<int>(memory)),
            "asking for the memory of a block");
    cudaLaunchAttribute early{};  // see await_previous
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y));
    config.blockDim = dim3(Kernel::kThreads);
    config.dynamicSmemBytes = memory;
    config.stream = stream_;
    config.attrs = &early;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(&config, run_kernel<Kernel>, kernel), "starting a kernel");
  }

 private:
  void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                 std::size_t bytes, std::size_t rows, cudaMemcpyKind kind) const {
    check(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, bytes, rows, kind, stream_),
          "copying rows");
    check(cudaStreamSynchronize(stream_), "computing, or copying rows");
  }

  std::string name_;
  std::size_t block_memory_ = 0, multiprocessors_ = 1;
  cudaStream_t stream_{};
  cudaEvent_t event_{};
};

#else

/// The host in the place of a device. Counts launches, so that tests see what was run.
class Device : public LeaseHolder {
 public:
  explicit Device(Order order = Order::forward, std::size_t free_bytes = std::size_t{1} << 33,
                  std::size_t block_memory = 200 * 1024)
      : order_(order), free_bytes_(free_bytes), block_memory_(block_memory) {}

  std::string name() const { return "the host"; }
  std::size_t free_bytes() const { return free_bytes_; }
  std::size_t block_memory() const { return block_memory_; }
  /// Few, so that a block has work for several turns.
  static std::size_t multiprocessors() { return 4; }
  std::size_t launches() const { return launches_; }

  static void* allocate(std::size_t bytes) { return allocate_on_host(bytes); }
  static void free(void* memory) { free_on_host(memory); }
  static void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  static void download(void* to, const void* from, std::size_t bytes) { upload(to, from, bytes); }
  struct Pitch {
    std::size_t device, host;
  };
  static void upload_rows(void* to, const void* from, Pitch pitch, std::size_t bytes,
                          std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i)
      std::memcpy(static_cast<char*>(to) + i * pitch.device,
                  static_cast<const char*>(from) + i * pitch.host, bytes);
  }
  static void download_rows(void* to, const void* from, Pitch pitch, std::size_t bytes,
                            std::size_t rows) {
    upload_rows(to, from, {pitch.host, pitch.device}, bytes, rows);
  }
  static void* allocate_on_host(std::size_t bytes) {
    auto* memory = ::operator new(bytes);
    return std::memset(memory, 0, bytes);
  }
  static void free_on_host(void* memory) { ::operator delete(memory); }
  static void mark() {}
  static void wait() {}

  template <class Kernel>
  void launch(const Part<Kernel>& part) const {
    launch(part.grid, part.memory, part.kernel);
  }
  template <class Kernel>
  void launch(Grid grid, std::size_t memory, const Kernel& kernel) const {
    ++launches_;
    std::vector<double> room(memory / sizeof(double) + 1);
    auto* const bytes = reinterpret_cast<unsigned char*>(room.data());
    for (std::uint32_t y = 0; y < grid.y; ++y)
      for (std::uint32_t x = 0; x < grid.x; ++x) {
        std::memset(bytes, 0x7f, memory);  // nobody may rely on zeros
        kernel(Block{x, y, bytes, order_});
      }
  }

 private:
  Order order_;
  std::size_t free_bytes_, block_memory_;
  mutable std::size_t launches_ = 0;
};

#endif

/// A kernel and its grid.
template <class Kernel>
struct Part {
  Kernel kernel;
  Grid grid;
  std::size_t memory = 0;
};
/// Two kernels side by side in one launch, in blocks of one row.
template <class First, class Second>
struct Beside {
  static constexpr int kThreads =
      First::kThreads < Second::kThreads ? Second::kThreads : First::kThreads;
  static constexpr int kBlocks = 2;

  First first;
  Second second;
  std::uint32_t width, count, second_width;  ///< of the grids; blocks of the first

  PORTER_DEVICE void operator()(const Block& block) const {
    Block own = block;
    if (block.x < count) {
      own.x = block.x % width;
      own.y = block.x / width;
      first(own);
    } else {
      own.x = (block.x - count) % second_width;
      own.y = (block.x - count) / second_width;
      second(own);
    }
  }
};
template <class First, class Second>
Part<Beside<First, Second>> beside(const Part<First>& a, const Part<Second>& b) {
  const auto count = a.grid.x * a.grid.y;
  return {{a.kernel, b.kernel, static_cast<std::uint32_t>(a.grid.x),
           static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(b.grid.x)},
          {count + b.grid.x * b.grid.y, 1},
          a.memory < b.memory ? b.memory : a.memory};
}

/// An array in the memory of the device; zeros at the start.
template <class T>
class Array {
 public:
  Array() = default;
  Array(const Device& device, std::size_t size)
      : memory_(size == 0 ? nullptr : device.allocate(size * sizeof(T))), size_(size) {}
  Array(const Device& device, std::span<const T> from) : Array(device, from.size()) {
    device.upload(data(), from.data(), from.size_bytes());
  }

  T* data() const { return static_cast<T*>(memory_.get()); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(void* memory) const { Device::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace porter::cuda
