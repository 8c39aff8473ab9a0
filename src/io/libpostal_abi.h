#pragma once

#include <cstddef>

// What geonce uses of libpostal's binary interface, version 1 (SONAME libpostal.so.1), as its
// documentation describes it. The library is opened at run time, so its own header is not needed.
// Structures go by value, so their layout is part of the interface.
extern "C" {

struct libpostal_address_parser_response_t {
  std::size_t num_components;
  char** components;
  char** labels;
};

struct libpostal_address_parser_options_t {
  char* language;
  char* country;
};

using libpostal_setup_datadir_t = bool(char* datadir);
using libpostal_setup_parser_datadir_t = bool(char* datadir);
using libpostal_get_address_parser_default_options_t = libpostal_address_parser_options_t();
using libpostal_parse_address_t =
    libpostal_address_parser_response_t*(char* address, libpostal_address_parser_options_t options);
using libpostal_address_parser_response_destroy_t = void(libpostal_address_parser_response_t* self);
}
