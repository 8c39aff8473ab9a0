#include "io/libpostal_helper.h"

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include <dlfcn.h>
#include <link.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/result.h"
#include "io/child.h"
#include "io/libpostal_abi.h"
#include "io/libpostal_talk.h"

namespace geonce {
namespace {

using Kind = PostalMessage::Kind;
constexpr std::string_view kSoname = "libpostal.so.1";

/// Ends the process by SIGALRM when it takes longer, even where the library never returns.
class TimeLimit {
 public:
  explicit TimeLimit(int ms) { set(ms); }
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
  ~TimeLimit() { set(0); }

 private:
  static void set(int ms) {
    itimerval span{};
    span.it_value.tv_sec = ms / 1000;
    span.it_value.tv_usec = ms % 1000 * 1000;
    ::setitimer(ITIMER_REAL, &span, nullptr);
  }
};

/// The name that the library gives itself, in its dynamic section.
std::string soname_of(const link_map& library) {
  const char* names = nullptr;
  std::optional<std::size_t> at;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME) at = entry->d_un.d_val;
    // The loader has made it an address already.
    if (entry->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
  }
  return names != nullptr && at ? std::string(names + *at) : std::string();
}

/// libpostal, opened. Never closed: the process ends with it.
class Library {
 public:
  static Result<Library> open(const std::string& name) {
    void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* why = ::dlerror();
      return fail(ErrorCode::invalid_config, "{}", why == nullptr ? "it cannot be opened" : why);
    }
    link_map* map = nullptr;
    if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) != 0 || map == nullptr)
      return fail(ErrorCode::invalid_config, "it cannot be found after it was opened");
    if (const auto soname = soname_of(*map); soname != kSoname)
      return fail(ErrorCode::invalid_config,
                  "it calls itself {}, and only {} is known to geonce",
                  soname.empty() ? "nothing" : soname,
                  kSoname);
    Library library;
    char* path = ::realpath(map->l_name, nullptr);
    library.path_ = path == nullptr ? map->l_name : path;
    std::free(path);
    const bool whole =
        library.find(handle, "libpostal_setup_datadir", library.setup_) &&
        library.find(handle, "libpostal_setup_parser_datadir", library.setup_parser_) &&
        library.find(
            handle, "libpostal_get_address_parser_default_options", library.default_options_) &&
        library.find(handle, "libpostal_parse_address", library.parse_) &&
        library.find(handle, "libpostal_address_parser_response_destroy", library.destroy_);
    if (!whole) return fail(ErrorCode::invalid_config, "it has no function {}", library.missing_);
    return library;
  }

  [[nodiscard]] const std::string& path() const { return path_; }

  Result<void> load(std::string data) const {
    if (!setup_(data.data()))
      return fail(ErrorCode::invalid_config, "its dictionaries in {} cannot be read", data);
    if (!setup_parser_(data.data()))
      return fail(ErrorCode::invalid_config, "its model in {}/address_parser cannot be read", data);
    return {};
  }

  /// nullopt: no answer.
  [[nodiscard]] std::optional<std::vector<TextPart>> parse(std::string text) const {
    auto* response = parse_(text.data(), default_options_());
    if (response == nullptr) return std::nullopt;
    std::vector<TextPart> parts;
    for (std::size_t i = 0; i < response->num_components; ++i)
      parts.push_back({response->labels[i], response->components[i]});
    destroy_(response);
    return parts;
  }

 private:
  template <class Function>
  bool find(void* handle, const char* name, Function*& at) {
    at = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (at == nullptr) missing_ = name;
    return at != nullptr;
  }

  std::string path_, missing_;
  libpostal_setup_datadir_t* setup_ = nullptr;
  libpostal_setup_parser_datadir_t* setup_parser_ = nullptr;
  libpostal_get_address_parser_default_options_t* default_options_ = nullptr;
  libpostal_parse_address_t* parse_ = nullptr;
  libpostal_address_parser_response_destroy_t* destroy_ = nullptr;
};

/// false: the other side is gone.
bool say(Kind kind, std::string_view body) {
  std::string bytes;
  append_message(kind, body, bytes);
  for (std::string_view left = bytes; !left.empty();) {
    const auto sent = ::send(Child::kSocket, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// nullopt: the other side is gone, or says what nobody says.
std::optional<PostalMessage> hear(std::string& heard) {
  for (;;) {
    auto message = take_message(heard);
    if (!message) return std::nullopt;
    if (*message) return std::move(*message);
    std::array<char, 65'536> bytes{};
    const auto got = ::recv(Child::kSocket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    heard.append(bytes.data(), static_cast<std::size_t>(got));
  }
}

bool serve(const Library& library, const LibpostalHelperOptions& options) {
  std::string heard;
  while (auto message = hear(heard)) {
    if (message->kind == Kind::load) {
      Result<void> loaded;
      {
        const TimeLimit limit(options.load_ms);
        loaded = library.load(options.data);
      }
      if (!say(loaded ? Kind::loaded : Kind::failed, loaded ? "" : loaded.error().message))
        return false;
      continue;
    }
    std::optional<std::vector<TextPart>> parts;
    {
      const TimeLimit limit(options.question_ms);
      parts = library.parse(std::move(message->body));
    }
    if (!say(parts ? Kind::parsed : Kind::unread, parts ? encode_parts(*parts) : "")) return false;
  }
  return true;
}

}  // namespace

std::vector<std::string> words_of(const LibpostalHelperOptions& options) {
  return {std::string(kLibpostalHelper),
          options.library,
          options.data,
          std::to_string(options.question_ms),
          std::to_string(options.load_ms),
          std::to_string(options.parent)};
}

int serve_libpostal(std::span<char* const> words) {
  constexpr std::size_t kWords = 5;
  constexpr int kMisused = 2;
  LibpostalHelperOptions options;
  if (words.size() != kWords) return kMisused;
  options.library = words[0];
  options.data = words[1];
  const auto number = [&words](std::size_t at, int& value) {
    const std::string_view text = words[at];
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
  };
  if (!number(2, options.question_ms) || !number(3, options.load_ms) || !number(4, options.parent))
    return kMisused;
  if (!live_with_parent(options.parent)) return 1;
  const auto library = Library::open(options.library);
  if (!library) {
    say(Kind::failed, library.error().message);
    return 1;
  }
  if (say(Kind::hello, library->path())) serve(*library, options);
  // Taking the model apart would only cost time.
  ::_exit(0);
}

}  // namespace geonce
