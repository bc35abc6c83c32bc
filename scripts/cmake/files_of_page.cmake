# Writes the files that a Markdown page shows: every fenced block whose first line has file=NAME becomes FOLDER/NAME.
#   cmake -D PAGE=docs/x.md -D FOLDER=out -P files_of_page.cmake
file(READ ${PAGE} text)
# Lists and brackets mean something to CMake; they are taken out while the text is cut up.
string(REPLACE "[" "<open-bracket>" text "${text}")
string(REPLACE "]" "<close-bracket>" text "${text}")
string(REPLACE ";" "<semicolon>" text "${text}")
string(REGEX MATCHALL "\n```[a-z]+ file=[^\n]+\n[^`]*\n```" blocks "${text}")
foreach(block IN LISTS blocks)
  string(REGEX REPLACE "^\n```[a-z]+ file=([^\n]+)\n.*" "\\1" name "${block}")
  string(REGEX REPLACE "^\n```[^\n]*\n(.*)\n```$" "\\1\n" content "${block}")
  string(REPLACE "<open-bracket>" "[" content "${content}")
  string(REPLACE "<close-bracket>" "]" content "${content}")
  string(REPLACE "<semicolon>" ";" content "${content}")
  file(CONFIGURE OUTPUT ${FOLDER}/${name} CONTENT "${content}" @ONLY)
endforeach()
if(NOT blocks)
  message(FATAL_ERROR "${PAGE} shows no file")
endif()
