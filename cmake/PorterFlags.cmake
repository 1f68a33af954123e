# SPDX-License-Identifier: Apache-2.0
# Flags of our own targets. They sit on an interface target, so they never reach a user's project.
add_library(porter_flags INTERFACE)

# Same bits everywhere: no contraction into fused multiply-adds, no reordering of sums. Nobody reads
# errno after a root, and loops with roots become vector code. Instruction sets beyond the plain one
# of the architecture are chosen when the program runs (src/shared/core/vectors.hpp).
target_compile_options(porter_flags INTERFACE -ffp-contract=off -fno-math-errno)

# Programs that are hard to bend: canaries on the stack, checked copies where the optimiser knows the
# sizes, code at random addresses, symbols bound at the start and read-only from then on. (-fPIC, as
# the Python module is a shared object; with hidden symbols that costs nothing.)
target_compile_options(porter_flags INTERFACE -fstack-protector-strong -fPIC -fvisibility=hidden)
if(NOT PORTER_SANITIZE)  # which checks more, and not beside it
  set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
  target_compile_options(porter_flags INTERFACE $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=2>)
endif()
target_link_options(porter_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> -Wl,-z,relro,-z,now)

# No name of a build's folder in what is built: the same bytes wherever it is, for a compiler cache, too.
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(porter_flags INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
endif()

# The folders of the libraries we link, in the build as after installation. (CMake fills up a path
# that installation replaces with colons, and an empty element is the current folder.)
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(porter_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
endif()
if(PORTER_WERROR)
  target_compile_options(porter_flags INTERFACE -Werror)
endif()
if(PORTER_SANITIZE)
  add_compile_options(-fsanitize=${PORTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${PORTER_SANITIZE})
  if(PORTER_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
  if(PORTER_SANITIZE MATCHES "address" AND PORTER_SANITIZE MATCHES "undefined")
    # Reading at null, or behind an object, ends in the address sanitizer; a sixth of the code.
    add_compile_options(-fno-sanitize=null,object-size)
  endif()
endif()

find_program(PORTER_CCACHE ccache)
if(PORTER_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PORTER_CCACHE})
endif()
