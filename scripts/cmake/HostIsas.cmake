# Sets INGLENOOK_HOST_ISAS to the instruction sets that this machine can run, so that tests of the
# others are not registered (a test that can't run here would only look as if it had).
# The names and what each needs are those of kernels/isa.cc.
set(INGLENOOK_HOST_ISAS scalar)
file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
function(inglenook_note_isa name)
  foreach(flag IN LISTS ARGN)
    if(NOT " ${cpu_flags} " MATCHES " ${flag} ")
      return()
    endif()
  endforeach()
  set(INGLENOOK_HOST_ISAS ${INGLENOOK_HOST_ISAS} ${name} PARENT_SCOPE)
endfunction()
inglenook_note_isa(avx2 avx2 fma f16c)
inglenook_note_isa(avxvnni avx2 fma f16c avx_vnni)
inglenook_note_isa(avx512 avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni)
message(STATUS "Instruction sets that tests run under: ${INGLENOOK_HOST_ISAS}")
