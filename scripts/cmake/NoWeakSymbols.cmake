# Fails when one of OBJECTS defines a weak symbol. Usage: cmake -DNM=nm -DOBJECTS=a.o;b.o -P this
if(NOT OBJECTS)
  message(FATAL_ERROR "No object files were given")
endif()
foreach(object IN LISTS OBJECTS)
  execute_process(COMMAND ${NM} --demangle --defined-only ${object}
    OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} can't read ${object}")
  endif()
  string(REGEX MATCHALL "[0-9a-f]+ [WVwv] [^\n]+" weak "${symbols}")
  if(weak)
    string(REPLACE ";" "\n  " weak "${weak}")
    message(FATAL_ERROR "${object} defines weak symbols:\n  ${weak}\n"
      "An inline function or template came into a leaf kernel: put it in an anonymous namespace.")
  endif()
endforeach()
