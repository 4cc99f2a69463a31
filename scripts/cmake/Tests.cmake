# Functions that register tests. Every test runs with the workers' OpenMP settings, which must exist
# before the OpenMP runtime loads.
include(GoogleTest)
include(HostIsas)

set(INGLENOOK_TEST_ENVIRONMENT
  OMP_PROC_BIND=true OMP_WAIT_POLICY=passive OMP_DYNAMIC=false GOMP_SPINCOUNT=0
  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1
  ASAN_OPTIONS=detect_stack_use_after_return=1)

# Registers each TEST of an executable. PREFIX goes before the names, ENVIRONMENT adds variables.
function(inglenook_discover name)
  cmake_parse_arguments(ARG "" "TIMEOUT;PREFIX" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  string(MAKE_C_IDENTIFIER "${name}_${ARG_PREFIX}" list)
  gtest_discover_tests(${name}
    TEST_PREFIX "${ARG_PREFIX}"
    TEST_LIST ${list}
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  # gtest_discover_tests takes lists in PROPERTIES apart, so those are set when CTest starts.
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${list}_properties.cmake)
  file(WRITE ${file} "foreach(test IN LISTS ${list})
  set_tests_properties(\"\${test}\" PROPERTIES
    ENVIRONMENT \"${INGLENOOK_TEST_ENVIRONMENT};${ARG_ENVIRONMENT}\" LABELS \"${ARG_LABELS}\")
endforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${file})
endfunction()

# inglenook_add_tests(name SOURCES file... LIBRARIES target... [LABELS label...] [TIMEOUT seconds]
#                     [PER_ISA])
# Labels: unit (the default), per_isa (set by PER_ISA: each test once per instruction set of this
# machine, named isa/Suite.Test), flow (a real broker on the loopback address), real_model (needs
# scripts/get-model; not in the dev preset), tidy, fuzz_replay, slow (only with scripts/test --slow).
function(inglenook_add_tests name)
  cmake_parse_arguments(ARG "PER_ISA" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE
    ${ARG_LIBRARIES} test_support inglenook_flags inglenook_sanitize GTest::gtest_main GTest::gmock)
  if(ARG_PER_ISA)
    list(REMOVE_ITEM ARG_LABELS unit)
    foreach(isa IN LISTS INGLENOOK_HOST_ISAS)
      inglenook_discover(${name} PREFIX "${isa}/" TIMEOUT "${ARG_TIMEOUT}"
        LABELS per_isa ${ARG_LABELS} ENVIRONMENT INGLENOOK_ISA=${isa})
    endforeach()
  else()
    inglenook_discover(${name} TIMEOUT "${ARG_TIMEOUT}" LABELS ${ARG_LABELS})
  endif()
endfunction()

# inglenook_add_fuzz_target(name LIBRARIES target...)
# Builds tests/fuzz/<name>_fuzz.cc. With INGLENOOK_FUZZ it is a libFuzzer program; otherwise it
# replays tests/data/fuzz/<name>/ and some thousand mutations of it as the test fuzz.<name>.
function(inglenook_add_fuzz_target name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  add_executable(fuzz_${name} fuzz/${name}_fuzz.cc)
  target_link_libraries(fuzz_${name} PRIVATE
    ${ARG_LIBRARIES} inglenook_flags inglenook_sanitize)
  set(corpus ${PROJECT_SOURCE_DIR}/tests/data/fuzz/${name})
  if(INGLENOOK_FUZZ)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} -runs=20000 -max_total_time=60 ${corpus})
  else()
    target_sources(fuzz_${name} PRIVATE fuzz/replay_main.cc)
    add_test(NAME fuzz.${name} COMMAND fuzz_${name} ${corpus})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES
    ENVIRONMENT "${INGLENOOK_TEST_ENVIRONMENT}" LABELS fuzz_replay TIMEOUT 300)
endfunction()

# inglenook_add_leaf_symbol_test(target...)
# No object of a leaf kernel target may define a weak symbol: that is an inline function compiled
# for one instruction set, which the linker could keep for the whole program.
function(inglenook_add_leaf_symbol_test)
  foreach(target IN LISTS ARGN)
    add_test(NAME leaf_symbols.${target}
      COMMAND ${CMAKE_COMMAND} "-DNM=${CMAKE_NM}" "-DOBJECTS=$<TARGET_OBJECTS:${target}>"
        -P ${PROJECT_SOURCE_DIR}/scripts/cmake/NoWeakSymbols.cmake)
    set_tests_properties(leaf_symbols.${target} PROPERTIES LABELS tidy)
  endforeach()
endfunction()
