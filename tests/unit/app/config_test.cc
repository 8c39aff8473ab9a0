#include "app/config.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace geonce {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

/// A folder of its own per test, and sources that see nothing of the machine's own configuration.
class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::string pattern = (fs::temp_directory_path() / "geonce-config-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    sources_.environment = {{"HOME", folder_ / "home"}, {"XDG_CONFIG_HOME", folder_ / "xdg"}};
  }
  ~ConfigTest() override { fs::remove_all(folder_); }
  ConfigTest(const ConfigTest&) = delete;
  ConfigTest& operator=(const ConfigTest&) = delete;

  fs::path write(const fs::path& name, const std::string& text) {
    const auto path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  void use(const std::string& text) { sources_.file = write("geonce.toml", text); }
  std::string error() {
    const auto loaded = load_config(sources_);
    return loaded ? "no error" : loaded.error().message;
  }

  fs::path folder_;
  ConfigSources sources_;
};

TEST_F(ConfigTest, defaults_hold_where_nobody_says_anything) {
  const auto loaded = load_config(sources_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.store, folder_ / "home/.local/share/geonce/geonce.db");
  EXPECT_EQ(loaded->config.life.rooftop, hours(24 * 180));
  EXPECT_EQ(loaded->config.memory.max_mib, 32);
  EXPECT_THAT(loaded->config.chain.standard, ElementsAre("places"));
  EXPECT_EQ(loaded->config.resolver.claim_life(), milliseconds(14'000));
  EXPECT_TRUE(loaded->origins.empty());
}

TEST_F(ConfigTest, the_default_store_follows_the_xdg_data_folder) {
  sources_.environment["XDG_DATA_HOME"] = "/data";
  EXPECT_EQ(load_config(sources_)->config.store, "/data/geonce/geonce.db");
  sources_.environment = {};
  EXPECT_THAT(error(), HasSubstr("--store"));
}

TEST_F(ConfigTest, a_spool_belongs_to_a_machine_and_to_a_store) {
  use("store = \"here.db\"");
  EXPECT_EQ(load_config(sources_)->config.spool.folder, folder_ / "here.db.spool");
  use("store = \"postgres://app@db1,db2/geonce\"");
  const auto spool = load_config(sources_)->config.spool.folder;
  EXPECT_EQ(spool.parent_path(), folder_ / "home/.local/state/geonce");
  use("store = \"postgres://app:password@db1,db2/geonce?sslmode=require\"");
  EXPECT_EQ(load_config(sources_)->config.spool.folder, spool) << "how it is reached is no matter";
  use("store = \"postgres://app@db1,db2/other\"");
  EXPECT_NE(load_config(sources_)->config.spool.folder, spool);
  sources_.environment["XDG_STATE_HOME"] = "/state";
  EXPECT_EQ(load_config(sources_)->config.spool.folder.parent_path(), "/state/geonce");
  use("store = \"postgres://db/geonce\"\n[spool]\nfolder = \"journal\"");
  EXPECT_EQ(load_config(sources_)->config.spool.folder, folder_ / "journal");
}

TEST_F(ConfigTest, the_password_of_a_store_is_not_shown_and_not_taken_from_a_flag) {
  use("store = \"postgres://app:geheim@db/geonce?sslpassword=geheim\"");
  const auto loaded = load_config(sources_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.store, "postgres://app:geheim@db/geonce?sslpassword=geheim");
  EXPECT_THAT(print_config(*loaded), Not(HasSubstr("geheim")));
  sources_.flags = {{"store", "postgres://app:geheim@db/geonce"}};
  EXPECT_THAT(error(), HasSubstr("postgres.password_file"));
  EXPECT_THAT(error(), Not(HasSubstr("geheim")));
  sources_.flags = {{"store", "postgres://app@db/geonce"}};
  EXPECT_EQ(error(), "no error");
}

TEST_F(ConfigTest, every_kind_of_value_is_read_from_a_file) {
  use(R"(store = "data/geonce.db"
specs = "~/specs"

[life]
rooftop = "90d"
no_match_first = "30m"
jitter = 0

[accept]
floor = "street"
allow_zero_zero = true

[chain]
default = ["geocodio", "google"]
countries = { FR = ["ban"], GB = ["places"] }

[resolver]
send_window = "1s500ms"
takeover = "never"

[spool]
sync = "always"

[batch]
default_country = "US"

[providers.google]
secret_file = "google.key"
rate_per_s = 50
price_single_microusd = 5000
bulk = false
timeout = "3s"
bulk_timeout = "90s"
terms = { persist_days = 30, reason = "contract of 2026-01-01" }
)");
  const auto loaded = load_config(sources_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& config = loaded->config;
  EXPECT_EQ(config.store, folder_ / "data/geonce.db");
  EXPECT_EQ(config.specs, folder_ / "home/specs");
  EXPECT_EQ(config.life.rooftop, hours(24 * 90));
  EXPECT_EQ(config.life.no_match_first, std::chrono::minutes(30));
  EXPECT_EQ(config.life.jitter, 0);
  EXPECT_EQ(config.accept.floor, Precision::street);
  EXPECT_TRUE(config.accept.allow_zero_zero);
  EXPECT_THAT(config.chain.of(Country('U', 'S')), ElementsAre("geocodio", "google"));
  EXPECT_THAT(config.chain.of(Country('F', 'R')), ElementsAre("ban"));
  EXPECT_EQ(config.resolver.send_window, milliseconds(1'500));
  EXPECT_EQ(config.resolver.takeover, Takeover::never);
  EXPECT_EQ(config.spool.sync, SpoolSync::always);
  EXPECT_EQ(config.batch.default_country, Country('U', 'S'));
  const auto& google = config.providers.at("google");
  EXPECT_EQ(google.secret_file, folder_ / "google.key");
  EXPECT_EQ(google.rate_per_s, 50);
  EXPECT_EQ(google.price_single, Money{5000});
  EXPECT_FALSE(google.concurrency);
  EXPECT_EQ(google.bulk, false);
  EXPECT_EQ(google.timeout, milliseconds(3'000));
  EXPECT_EQ(google.bulk_timeout, milliseconds(90'000));
  ASSERT_TRUE(google.terms());
  EXPECT_EQ(google.terms()->keep, Terms::Keep::limited);
  EXPECT_EQ(google.terms()->keep_for, hours(24 * 30));
  EXPECT_EQ(google.terms()->reason, "contract of 2026-01-01");
}

TEST_F(ConfigTest, a_flag_beats_the_environment_and_that_the_file) {
  use("[life]\nrooftop = \"1d\"\nstreet = \"1d\"\nparcel = \"1d\"\n");
  sources_.environment["GEONCE_LIFE_ROOFTOP"] = "2d";
  sources_.environment["GEONCE_LIFE_STREET"] = "2d";
  sources_.flags = {{"life.rooftop", "3d"}, {"store", "here.db"}};
  const auto loaded = load_config(sources_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.life.parcel, hours(24));
  EXPECT_EQ(loaded->config.life.street, hours(48));
  EXPECT_EQ(loaded->config.life.rooftop, hours(72));
  EXPECT_EQ(loaded->config.store, "here.db");
  EXPECT_EQ(loaded->origins.at("life.parcel"), (folder_ / "geonce.toml").string() + ":4");
  EXPECT_EQ(loaded->origins.at("life.street"), "GEONCE_LIFE_STREET");
  EXPECT_EQ(loaded->origins.at("life.rooftop"), "flag");
}

TEST_F(ConfigTest, names_of_providers_and_countries_work_in_every_source) {
  sources_.environment["GEONCE_PROVIDERS_CSV2GEO_SECRET_FILE"] = "/run/key";
  sources_.environment["GEONCE_PROVIDERS_MY_OWN_TERMS_PERSIST_DAYS"] = "7";
  sources_.environment["GEONCE_PROVIDERS_MY_OWN_TERMS_REASON"] = "our own data";
  sources_.environment["GEONCE_PROVIDERS_CENSUS_TIMEOUT"] = "5s";
  sources_.environment["GEONCE_PROVIDERS_CENSUS_BULK_TIMEOUT"] =
      "9m";  // of no provider census_bulk
  sources_.environment["GEONCE_CHAIN_COUNTRIES_NO"] = "places, nominatim";
  sources_.flags = {{"providers.my_own.base_url", "http://localhost:8080"}};
  const auto loaded = load_config(sources_);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->config.providers.at("csv2geo").secret_file, "/run/key");
  EXPECT_EQ(loaded->config.providers.at("census").timeout, milliseconds(5'000));
  EXPECT_EQ(loaded->config.providers.at("census").bulk_timeout, milliseconds(540'000));
  EXPECT_EQ(loaded->config.providers.at("my_own").persist_days, PersistDays{7});
  EXPECT_EQ(loaded->config.providers.at("my_own").base_url, "http://localhost:8080");
  EXPECT_THAT(loaded->config.chain.of(Country('N', 'O')), ElementsAre("places", "nominatim"));
}

TEST_F(ConfigTest, the_first_file_of_the_search_order_counts) {
  write("xdg/geonce/geonce.toml", "[memory]\nmax_mib = 2\n");
  EXPECT_EQ(load_config(sources_)->config.memory.max_mib, 2);
  sources_.environment["GEONCE_CONFIG"] = write("variable.toml", "[memory]\nmax_mib = 3\n");
  EXPECT_EQ(load_config(sources_)->config.memory.max_mib, 3);
  use("[memory]\nmax_mib = 4\n");
  EXPECT_EQ(load_config(sources_)->config.memory.max_mib, 4);
}

TEST_F(ConfigTest, a_file_that_was_asked_for_has_to_be_there) {
  sources_.file = folder_ / "absent.toml";
  EXPECT_EQ(load_config(sources_).error().code, ErrorCode::not_found);
  EXPECT_THAT(error(), HasSubstr("absent.toml"));
  sources_.file = folder_;
  EXPECT_THAT(error(), HasSubstr("folder"));
}

TEST_F(ConfigTest, an_empty_file_says_nothing_and_is_no_error) {
  use("");
  EXPECT_EQ(error(), "no error");
  sources_.file = "/dev/null";
  EXPECT_EQ(error(), "no error");
}

TEST_F(ConfigTest, what_is_wrong_in_a_file_is_told_with_line_and_what_is_allowed) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const auto& [text, message] : {
           Case{"\nstoer = \"x\"", ":2: unknown key stoer (did you mean \"store\"?)"},
           Case{"[life]\nrooftp = \"1d\"",
                ":2: unknown key life.rooftp (did you mean \"life.rooftop\"?)"},
           Case{"[lfe]\nrooftop = \"1d\"", ":1: unknown key lfe"},
           Case{"[providers.google]\nsecretfile = \"x\"",
                ":2: unknown key providers.google.secretfile (did you mean "
                "\"providers.google.secret_file\"?)"},
           Case{"life = 3", ":1: life must be a table"},
           Case{"[store]\npath = \"x\"", ":1: store must be a path"},
           Case{"[life]\nrooftop = 90",
                ":2: life.rooftop must be a duration in whole hours such as \"180d\""},
           Case{"[life]\nrooftop = \"90m\"", ":2: life.rooftop must be a duration in whole hours"},
           Case{"[life]\njitter = 1.5", ":2: life.jitter must be a number from 0 to 0.9"},
           Case{"[life]\njitter = nan", ":2: life.jitter must be a number"},
           Case{"[memory]\nmax_mib = 0", ":2: memory.max_mib must be a whole number from 1 to"},
           Case{"[memory]\nmax_mib = \"32\"", ":2: memory.max_mib must be a whole number"},
           Case{"[batch]\nmax_errors = -1",
                ":2: batch.max_errors must be a whole number, not negative"},
           Case{"[accept]\nfloor = \"house\"",
                ":2: accept.floor must be one of \"rooftop\", \"parcel\""},
           Case{"[accept]\nallow_zero_zero = 1",
                ":2: accept.allow_zero_zero must be true or false"},
           Case{"[batch]\ncolumns = \"all\"",
                ":2: batch.columns must be one of \"short\", \"full\""},
           Case{"[chain]\ndefault = \"places\"", ":2: chain.default must be a list"},
           Case{"[chain]\ndefault = [1]", ":2: chain.default must be a list"},
           Case{"[chain]\ndefault = []", ":2: chain.default: names no provider"},
           Case{"[chain.countries]\nFrance = [\"ban\"]",
                "\"France\" is no ISO 3166-1 alpha-2 code"},
           Case{"[providers.Google]\nbulk = true", "a-z, 0-9 and _ only"},
           Case{"[providers.google]\nterms = { persist_days = 30 }",
                ":2: providers.google.terms.persist_days: say in"},
           Case{"[providers.google]\nsecret_env = \"A\"\nsecret_file = \"b\"",
                ":2: providers.google.secret_env: secret_file"},
           Case{"store = \"mysql://db/geonce\"", ":1: store: mysql stores are not known"},
           Case{"store = \"postgres://[::1/geonce\"", ":1: store: it is not of the form"},
           Case{"[postgres]\nconnections = 0", ":2: postgres.connections must be"},
           Case{"[life]\nno_match_first = \"31d\"", ":2: life.no_match_first: must not be longer"},
           Case{"[resolver]\ntotal_deadline = \"0s\"",
                ":2: resolver.total_deadline: must be longer"},
           Case{"store = \"a\"\nstore = \"b\"", ":2: "},
           Case{"store = ", ":1: "},
       }) {
    use(text);
    const auto loaded = load_config(sources_);
    ASSERT_FALSE(loaded) << text;
    EXPECT_EQ(loaded.error().code, ErrorCode::invalid_config);
    EXPECT_THAT(loaded.error().message, HasSubstr(message)) << text;
  }
}

TEST_F(ConfigTest, all_findings_are_told_at_once_in_the_order_of_the_file) {
  use("zzz = 1\nstore = 2\n[life]\nrooftop = 3\n");
  const auto message = error();
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2) << message;
  EXPECT_LT(message.find("zzz"), message.find("store"));
  EXPECT_LT(message.find("store"), message.find("rooftop"));
}

TEST_F(ConfigTest, what_is_wrong_outside_the_file_is_told_with_the_variable_or_the_flag) {
  sources_.environment["GEONCE_MEMORY_MAX_MIB"] = "much";
  EXPECT_THAT(error(), HasSubstr("GEONCE_MEMORY_MAX_MIB: memory.max_mib must be a whole number"));
  sources_.environment.erase("GEONCE_MEMORY_MAX_MIB");
  sources_.flags = {{"memory.maxmib", "3"}};
  EXPECT_THAT(error(),
              HasSubstr("--set memory.maxmib: no such setting (did you mean \"memory.max_mib\"?)"));
}

TEST_F(ConfigTest, a_misspelt_variable_stops_the_program_and_a_foreign_one_does_not) {
  sources_.environment["GEONCE_STOER"] = "x";
  EXPECT_THAT(error(), HasSubstr("GEONCE_STOER: no such setting (did you mean \"GEONCE_STORE\"?)"));
  sources_.environment.erase("GEONCE_STOER");
  sources_.environment["GEONCE_KEY_OF_GOOGLE"] = "x";
  EXPECT_EQ(error(), "no error");
}

TEST_F(ConfigTest, the_printed_values_read_back_to_the_same) {
  use(R"([life]
rooftop = "90d"
[chain.countries]
FR = ["ban", "places"]
[providers.google]
secret_env = "GOOGLE \"KEY\""
price_single_microusd = 5000
terms = { persist_days = 30, reason = "contract" }
)");
  sources_.flags = {{"batch.default_country", "CA"}, {"resolver.cool_down", "90s"}};
  const auto first = print_config(*load_config(sources_));
  EXPECT_THAT(first,
              HasSubstr("rooftop = \"90d\"  # " + (folder_ / "geonce.toml").string() + ":2\n"));
  EXPECT_THAT(first, HasSubstr("street = \"30d\"  # default\n"));
  EXPECT_THAT(first, HasSubstr("default_country = \"CA\"  # flag\n"));

  ConfigSources again;
  again.environment = sources_.environment;
  again.file = write("again.toml", first);
  const auto loaded = load_config(again);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto values = [](const std::string& text) {
    std::string out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out += line.substr(0, line.find("  #")) + "\n";
    return out.substr(out.find('\n'));
  };
  EXPECT_EQ(values(print_config(*loaded)), values(first));
}

TEST_F(ConfigTest, an_operators_contract_replaces_the_terms_of_the_spec) {
  EXPECT_FALSE(ProviderConfig{}.terms());
  sources_.flags = {{"providers.own.terms.persist_days", "unlimited"},
                    {"providers.own.terms.reason", "ours"}};
  EXPECT_EQ(load_config(sources_)->config.providers.at("own").terms()->keep,
            Terms::Keep::unlimited);
  EXPECT_THAT(print_config(*load_config(sources_)), HasSubstr("persist_days = \"unlimited\""));
  sources_.flags[0].second = "0";
  EXPECT_EQ(load_config(sources_)->config.providers.at("own").terms()->keep, Terms::Keep::nothing);
  sources_.flags[0].second = "for ever";
  EXPECT_THAT(error(), HasSubstr("a whole number from 0 to 36525, or \"unlimited\""));
}

TEST_F(ConfigTest, passwords_in_addresses_are_masked) {
  sources_.flags = {
      {"providers.own.base_url", "https://user:pw@example.com/geo?key=hush&country=de"}};
  const auto printed = print_config(*load_config(sources_));
  EXPECT_THAT(printed, HasSubstr("https://***@example.com/geo?key=***&country=***"));
  EXPECT_THAT(printed, Not(HasSubstr("hush")));
}

TEST(Settings, a_flag_splits_at_its_first_equals_sign) {
  EXPECT_EQ(parse_setting("a.b=c=d"), (std::pair<std::string, std::string>("a.b", "c=d")));
  EXPECT_EQ(parse_setting("a.b=")->second, "");
  for (const char* text : {"", "a.b", "=x"})
    EXPECT_EQ(parse_setting(text).error().code, ErrorCode::usage);
}

TEST(Reference, the_table_in_the_docs_is_the_table_of_the_program) {
  const std::string path = GEONCE_SOURCE_DIR "/docs/reference/config.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const auto table = config_reference();
  const auto text = page.str();
  const auto begin = text.find("| key |");
  ASSERT_NE(begin, std::string::npos) << path;
  const auto end = std::min(text.find("\n\n", begin), text.size() - 1) + 1;
  if (std::getenv("GEONCE_BLESS") != nullptr) {
    std::ofstream(path) << text.substr(0, begin) << table << text.substr(end);
    return;
  }
  EXPECT_EQ(text.substr(begin, end - begin), table)
      << "renew it: GEONCE_BLESS=1 ctest -R Reference";
}

}  // namespace
}  // namespace geonce
