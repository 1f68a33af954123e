# SPDX-License-Identifier: Apache-2.0
# For ARM64 from another machine, with Debian's cross compiler and arm64 packages; programs run under
# qemu:  cmake --preset arm64
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(PKG_CONFIG_EXECUTABLE "" CACHE FILEPATH "none: it answers for the machine that builds")
