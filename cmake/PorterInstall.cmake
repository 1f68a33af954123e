# SPDX-License-Identifier: Apache-2.0
# `cmake --install` and find_package(porter).
include(CMakePackageConfigHelpers)
install(TARGETS porter_lib porter_mpi porter_cuda_engine EXPORT porterTargets)
install(DIRECTORY include/porter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/include/porter/version.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/porter)
install(EXPORT porterTargets NAMESPACE porter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/porter)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/porterConfig.cmake
  "include(CMakeFindDependencyMacro)\nfind_dependency(Threads)\nfind_dependency(ZLIB)\n"
  "find_dependency(OpenSSL 3 COMPONENTS Crypto SSL)\nfind_dependency(fmt)\nfind_dependency(tomlplusplus)\n"
  "if(${porter_has_mpi})\n  find_package(MPI QUIET COMPONENTS CXX)  # for porter::mpi\nendif()\n"
  "include(\${CMAKE_CURRENT_LIST_DIR}/porterTargets.cmake)\n")
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/porterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/porterConfig.cmake
        ${CMAKE_CURRENT_BINARY_DIR}/porterConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/porter)
# pkg-config --cflags --libs --static porter, for those who do not use CMake. The prefix follows the file.
file(RELATIVE_PATH porter_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/porter.pc
  "prefix=\${pcfiledir}/${porter_up}\n"
  "Name: porter\nDescription: ${PROJECT_DESCRIPTION}\nVersion: ${PROJECT_VERSION}\n"
  "Cflags: -I\${prefix}/${CMAKE_INSTALL_INCLUDEDIR} -std=c++20 -pthread\n"
  "Libs: -L\${prefix}/${CMAKE_INSTALL_LIBDIR} -lporter -pthread\n"
  "Requires.private: zlib libzstd openssl fmt\nLibs.private: -ltomlplusplus\n")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/porter.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(PORTER_TOOLS)
  install(TARGETS porter_cli)
endif()
