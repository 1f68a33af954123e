# SPDX-License-Identifier: Apache-2.0
# porter::grpc, networked agents. It is always there; in a build without gRPC it only says so.
if(PORTER_GRPC STREQUAL "AUTO")
  find_package(Protobuf QUIET)
  find_package(gRPC QUIET CONFIG)
elseif(PORTER_GRPC)
  find_package(Protobuf REQUIRED)
  find_package(gRPC REQUIRED CONFIG)
endif()
find_program(PORTER_GRPC_PLUGIN grpc_cpp_plugin)
if(PORTER_GRPC AND Protobuf_FOUND AND gRPC_FOUND AND PORTER_GRPC_PLUGIN)
  set(porter_has_grpc ON)
else()
  set(porter_has_grpc OFF)
endif()

if(porter_has_grpc)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/src/comm/grpc)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated})
  set(sources ${generated}/link.pb.cc ${generated}/link.grpc.pb.cc)
  add_custom_command(
    OUTPUT ${sources} ${generated}/link.pb.h ${generated}/link.grpc.pb.h
    COMMAND protobuf::protoc --proto_path=${folder} --cpp_out=${generated} --grpc_out=${generated}
            --plugin=protoc-gen-grpc=${PORTER_GRPC_PLUGIN} link.proto
    DEPENDS ${folder}/link.proto)
  add_library(porter_grpc STATIC ${folder}/doorkeeper.cpp ${folder}/grpc_transport.cpp
              ${folder}/hello.cpp ${sources})
  target_include_directories(porter_grpc SYSTEM PRIVATE ${generated})
  target_link_libraries(porter_grpc PRIVATE gRPC::grpc++ protobuf::libprotobuf absl::synchronization)
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-w")  # not ours
else()
  add_library(porter_grpc STATIC ${CMAKE_CURRENT_SOURCE_DIR}/src/comm/grpc/absent.cpp)
endif()
message(STATUS "gRPC engine: ${porter_has_grpc}")
add_library(porter::grpc ALIAS porter_grpc)
set_target_properties(porter_grpc PROPERTIES EXPORT_NAME grpc)
target_link_libraries(porter_grpc PUBLIC porter_lib PRIVATE $<BUILD_INTERFACE:porter_flags>)
