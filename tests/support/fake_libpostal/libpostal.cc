// Stands in for libpostal in tests: the same binary interface, and what it does is written in its
// data folder. Each setup of the parser appends a line with the process id to `setups` there.
//
//   address_parser/setup    ok, fail, hang or crash: when the parser is set up
//   numex/setup             the same, of the dictionaries
//   address_parser/answers  lines of a text, a tab, and `label=words|label=words`, or one of
//                           !hang !crash !exit !null !garbage !silent (no parts) !slow:MS and
//                           !crash_once (the next process knows, by the file `crashed`)
//   other texts             a number in front is the house number, the last word the city
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#ifndef FAKE_PARSE_NAME
#define FAKE_PARSE_NAME libpostal_parse_address
#endif

extern "C" {
struct Response {
  std::size_t num_components;
  char** components;
  char** labels;
};
struct Options {
  char* language;
  char* country;
};
bool libpostal_setup_datadir(char* datadir);
bool libpostal_setup_parser_datadir(char* datadir);
Options libpostal_get_address_parser_default_options();
Response* FAKE_PARSE_NAME(char* address, Options options);
void libpostal_address_parser_response_destroy(Response* self);
}

namespace {

using Parts = std::vector<std::pair<std::string, std::string>>;

std::map<std::string, std::string>& answers() {
  static std::map<std::string, std::string> all;
  return all;
}
std::string& data_folder() {
  static std::string folder;
  return folder;
}
char language[] = "xx";  // options that come back as they were given are passed as they should be
char country[] = "yy";

[[noreturn]] void hang() {
  for (;;) ::pause();
}

[[noreturn]] void crash() {
  ::signal(SIGSEGV, SIG_DFL);  // whatever a checked build does with it
  ::raise(SIGSEGV);
  std::abort();
}

void slow(const std::string& deed) {
  std::this_thread::sleep_for(std::chrono::milliseconds(std::stoi(deed.substr(6))));
}

bool set_up(const std::string& file) {
  std::string deed;
  std::ifstream(file) >> deed;
  if (deed == "hang") hang();
  if (deed == "crash") crash();
  if (deed.starts_with("!slow:")) slow(deed);
  return deed != "fail";
}

Response* response_of(const Parts& parts) {
  const auto copy = [](const std::string& text) { return ::strdup(text.c_str()); };
  auto* response = static_cast<Response*>(std::malloc(sizeof(Response)));
  const std::size_t size = (parts.size() + 1) * sizeof(char*);
  *response = {
      parts.size(), static_cast<char**>(std::malloc(size)), static_cast<char**>(std::malloc(size))};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    response->labels[i] = copy(parts[i].first);
    response->components[i] = copy(parts[i].second);
  }
  return response;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Parts guess(const std::string& text) {
  auto words = split(text, ' ');
  Parts parts;
  if (words.empty()) return parts;
  if (words.front().find_first_not_of("0123456789") == std::string::npos) {
    parts.emplace_back("house_number", words.front());
    words.erase(words.begin());
  }
  std::string road;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) road += (i == 0 ? "" : " ") + words[i];
  if (!road.empty()) parts.emplace_back("road", road);
  if (!words.empty()) parts.emplace_back("city", words.back());
  return parts;
}

}  // namespace

bool libpostal_setup_datadir(char* datadir) {
  return set_up(std::string(datadir) + "/numex/setup");
}

bool libpostal_setup_parser_datadir(char* datadir) {
  const std::string data = data_folder() = datadir;
  std::ofstream(data + "/setups", std::ios::app) << ::getpid() << std::endl;
  std::ifstream in(data + "/address_parser/answers");
  for (std::string line; std::getline(in, line);)
    if (const auto tab = line.find('\t'); tab != std::string::npos)
      answers()[line.substr(0, tab)] = line.substr(tab + 1);
  return set_up(data + "/address_parser/setup");
}

Options libpostal_get_address_parser_default_options() { return {language, country}; }

Response* FAKE_PARSE_NAME(char* address, Options options) {
  if (options.language != language || options.country != country) return nullptr;
  const auto found = answers().find(address);
  if (found == answers().end()) return response_of(guess(address));
  const std::string& said = found->second;
  if (said == "!hang") hang();
  if (said == "!crash") crash();
  if (said == "!crash_once") {
    const std::string mark = data_folder() + "/crashed";
    if (std::ifstream(mark)) return response_of(guess(address));
    std::ofstream(mark) << "once" << std::endl;
    crash();
  }
  if (said == "!exit") ::_exit(7);
  if (said == "!null") return nullptr;
  if (said == "!garbage") return response_of({{"house_number", "\xFF\xFE"}, {"road", "\xC3("}});
  if (said == "!silent") return response_of({});
  if (said.starts_with("!slow:")) {
    slow(said);
    return response_of(guess(address));
  }
  Parts parts;
  for (const auto& part : split(said, '|')) {
    const auto equals = part.find('=');
    parts.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return response_of(parts);
}

void libpostal_address_parser_response_destroy(Response* self) {
  for (std::size_t i = 0; i < self->num_components; ++i) {
    std::free(self->labels[i]);
    std::free(self->components[i]);
  }
  std::free(self->labels);
  std::free(self->components);
  std::free(self);
}
