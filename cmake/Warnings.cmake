# One interface target carries the warnings and what every folder shares.
add_library(geonce_flags INTERFACE)
target_compile_options(geonce_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(GEONCE_WERROR)
  target_compile_options(geonce_flags INTERFACE -Werror)
endif()
if(GEONCE_SANITIZE)
  target_compile_options(geonce_flags INTERFACE -fsanitize=${GEONCE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)
  target_link_options(geonce_flags INTERFACE -fsanitize=${GEONCE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)  # 14 cannot put this check into a coroutine
    target_compile_options(geonce_flags INTERFACE -fno-sanitize=function)
  endif()
  if(GEONCE_SANITIZE STREQUAL thread)  # which knows no fences; the locks around Asio's handlers suffice
    target_compile_definitions(geonce_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
