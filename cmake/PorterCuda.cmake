# SPDX-License-Identifier: Apache-2.0
# porter::cuda, the CUDA engine. It is always there; in a build without CUDA it only says so. The kernels
# (src/cuda) are compiled by nvcc alone, for a minute or more: the tests have them compiled for the host.
set(porter_has_cuda OFF)
set(wanted ${PORTER_CUDA})
if(PORTER_CUDA STREQUAL "AUTO" AND NOT EXISTS /dev/nvidiactl AND NOT EXISTS /dev/dxg)
  set(wanted OFF)  # no driver has a device here, on Linux or below Windows
endif()
if(wanted AND NOT PORTER_SANITIZE)  # whose runtime and CUDA's do not go together
  find_package(CUDAToolkit QUIET)  # asks nvcc, which may be a script, where the rest is
  if(CUDAToolkit_NVCC_EXECUTABLE AND TARGET CUDA::cudart_static)
    set(porter_has_cuda ON)
  elseif(NOT PORTER_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "PORTER_CUDA is ON: expected nvcc and libcudart_static.a of the CUDA toolkit, "
                        "found \"${CUDAToolkit_NVCC_EXECUTABLE}\" and \"${CUDA_cudart_static_LIBRARY}\"")
  endif()
endif()
set(PORTER_CUDA_ARCH "sm_90" CACHE STRING "The GPUs that porter::cuda is for, as nvcc -arch names them")

set(folder ${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/device)
if(porter_has_cuda)
  # Same bits: no fused multiply-adds on either side, and no fast math.
  set(object ${CMAKE_CURRENT_BINARY_DIR}/cuda_engine.o)
  add_custom_command(OUTPUT ${object} DEPFILE ${object}.d
    COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -ccbin ${CMAKE_CXX_COMPILER} -std=c++20 -O3 -arch=${PORTER_CUDA_ARCH} -fmad=false
            --expt-relaxed-constexpr -Xcompiler -ffp-contract=off,-fPIC,-fvisibility=hidden
            -I${CMAKE_CURRENT_SOURCE_DIR}/include -I${CMAKE_CURRENT_SOURCE_DIR}/src/shared
            -MD -MF ${object}.d -c ${folder}/engine.cu -o ${object}
    DEPENDS ${folder}/engine.cu VERBATIM COMMENT "Compiling the kernels of the CUDA engine")
  add_library(porter_cuda_engine STATIC ${object})
  target_link_libraries(porter_cuda_engine PRIVATE ${CUDA_cudart_static_LIBRARY} ${CMAKE_DL_LIBS} rt)
else()
  add_library(porter_cuda_engine STATIC ${folder}/absent.cpp)
endif()
message(STATUS "CUDA engine: ${porter_has_cuda}")
add_library(porter::cuda ALIAS porter_cuda_engine)
set_target_properties(porter_cuda_engine PROPERTIES EXPORT_NAME cuda LINKER_LANGUAGE CXX)
target_link_libraries(porter_cuda_engine PUBLIC porter_lib PRIVATE $<BUILD_INTERFACE:porter_flags>)
target_include_directories(porter_cuda_engine PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src/shared)
