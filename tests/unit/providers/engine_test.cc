#include "providers/engine.h"

#include <map>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "providers/table_text.h"

namespace geonce {
namespace {

namespace json = boost::json;

const Spec& spec(std::string_view name) {
  static const Specs specs = *load_specs({});
  return specs.at(std::string(name));
}

ProviderAsk ask(std::string text, Country country = {}, std::string ref = "1") {
  ProviderAsk made;
  made.ref = std::move(ref);
  made.query.text = std::move(text);
  made.query.country = country;
  return made;
}

ProviderAsk fields(std::string ref,
                   std::string number,
                   std::string road,
                   std::string city,
                   std::string state,
                   std::string postcode) {
  ProviderAsk made;
  made.ref = std::move(ref);
  made.query.house_number = std::move(number);
  made.query.road = std::move(road);
  made.query.city = std::move(city);
  made.query.state = std::move(state);
  made.query.postcode = std::move(postcode);
  return made;
}

HttpRequest request(std::string_view name,
                    const std::vector<ProviderAsk>& asks,
                    bool bulk = false,
                    ProviderSettings settings = {}) {
  if (settings.secret.empty()) settings.secret = "KEY";
  auto built = build_request(spec(name), settings, asks, bulk);
  EXPECT_TRUE(built) << (built ? "" : built.error().message);
  return built ? *built : HttpRequest{};
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
    i += 2;
  }
  return out;
}

/// The parameters behind the `?`, as a server reads them.
std::map<std::string, std::string> parameters(const HttpRequest& built) {
  std::map<std::string, std::string> all;
  const auto start = built.url.find('?');
  std::string_view rest =
      start == std::string::npos ? "" : std::string_view(built.url).substr(start + 1);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('&'), rest.size());
    const auto pair = rest.substr(0, end);
    const auto equal = pair.find('=');
    all[decoded(pair.substr(0, equal))] = decoded(pair.substr(equal + 1));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

constexpr std::string_view kOdd = "Unit#6 - 421 \"Sample\" St & Co; a|b\\c 100% South/West?";

TEST(BuildRequest, odd_characters_arrive_as_they_were_written) {
  for (const auto& [name, parameter] : std::map<std::string, std::string>{{"google", "address"},
                                                                          {"geocodio", "q"},
                                                                          {"nominatim", "q"},
                                                                          {"opencage", "q"},
                                                                          {"census", "address"},
                                                                          {"ban", "q"}}) {
    const auto built = request(name, {ask(std::string(kOdd))});
    EXPECT_EQ(built.method, "GET") << name;
    EXPECT_EQ(parameters(built)[parameter], kOdd) << name;
    EXPECT_EQ(built.url.find_first_of(" \"\\#|;"), std::string::npos) << built.url;
  }
}

TEST(BuildRequest, parameters_with_nothing_to_say_are_left_out) {
  EXPECT_EQ(request("google", {ask("Oak St 1")}).url,
            "https://maps.googleapis.com/maps/api/geocode/json?address=Oak%20St%201&key=KEY");
  auto full = ask("Oak St 1", Country('U', 'S'));
  full.query.language = "fr";
  EXPECT_EQ(request("google", {full}).url,
            "https://maps.googleapis.com/maps/api/geocode/"
            "json?address=Oak%20St%201&components=country%3AUS&"
            "key=KEY&language=fr");
  EXPECT_EQ(parameters(request("geocodio", {full}))["country"], "USA");
}

TEST(BuildRequest, equal_asks_give_equal_bytes) {
  const std::vector<ProviderAsk> asks{fields("a", "12", "Oak St", "Reno", "NV", ""),
                                      fields("b", "", "Elm St", "Reno", "NV", "89501")};
  const auto once = request("census", asks, true), again = request("census", asks, true);
  EXPECT_EQ(once.url, again.url);
  EXPECT_EQ(once.body, again.body);
  EXPECT_EQ(once.headers, again.headers);
}

TEST(BuildRequest, a_base_url_replaces_scheme_host_and_port) {
  ProviderSettings settings;
  settings.base_url = "http://127.0.0.1:8080";
  EXPECT_TRUE(request("nominatim", {ask("x")}, false, settings)
                  .url.starts_with("http://127.0.0.1:8080/search?"));
  settings.base_url = "http://geo.internal/nominatim/";
  EXPECT_TRUE(request("nominatim", {ask("x")}, false, settings)
                  .url.starts_with("http://geo.internal/nominatim/search?"));
}

TEST(BuildRequest, the_operator_introduces_himself) {
  ProviderSettings settings;
  settings.user_agent = "Example Corp (maps@example.com)";
  const auto built = request("nominatim", {ask("x")}, false, settings);
  EXPECT_EQ(built.headers,
            (std::vector<std::pair<std::string, std::string>>{
                {"User-Agent", "Example Corp (maps@example.com)"}}));
}

TEST(BuildRequest, fields_go_as_fields_where_nothing_would_be_left_behind) {
  auto whole = fields("1", "1100", "Congress Ave", "Austin", "TX", "78701");
  auto built = request("census", {whole});
  EXPECT_TRUE(
      built.url.starts_with("https://geocoding.geo.census.gov/geocoder/locations/address?"));
  auto sent = parameters(built);
  EXPECT_EQ(sent["street"], "1100 Congress Ave");
  EXPECT_EQ(sent["city"], "Austin");
  EXPECT_EQ(sent["zip"], "78701");
  EXPECT_EQ(sent["benchmark"], "Public_AR_Current");

  whole.query.unit = "Apt 4";  // the service has no use for it
  EXPECT_EQ(parameters(request("census", {whole}))["street"], "1100 Congress Ave");

  whole.query.po_box = "12";
  built = request("census", {whole});
  EXPECT_TRUE(
      built.url.starts_with("https://geocoding.geo.census.gov/geocoder/locations/onelineaddress?"));
  EXPECT_EQ(parameters(built)["address"], "12, 1100 Congress Ave, Apt 4, Austin, TX 78701");

  const auto half = fields("1", "1100", "Congress Ave", "", "TX", "");
  EXPECT_EQ(parameters(request("census", {half}))["address"], "1100 Congress Ave, TX");
}

TEST(BuildRequest, only_ascii_goes_where_other_letters_blank_the_answer) {
  EXPECT_EQ(parameters(request("census", {ask("7 Peña St, Cañon City")}))["address"],
            "7 Pena St, Canon City");
  EXPECT_EQ(parameters(request("ban", {ask("rue de l'Étang")}))["q"], "rue de l'Étang");
}

TEST(BuildRequest, an_empty_query_is_never_sent) {
  const std::vector<ProviderAsk> empty(1);
  for (const char* name : {"google", "census", "ban"}) {
    ProviderSettings settings;
    settings.secret = "KEY";
    const auto built = build_request(spec(name), settings, empty, false);
    ASSERT_FALSE(built) << name;
    EXPECT_EQ(built.error().code, ErrorCode::invalid_address);
  }
}

TEST(BuildRequest, json_bulk_holds_each_address_under_its_own_key) {
  const auto built = request(
      "geocodio", {ask(std::string(kOdd), {}, "7"), ask("Oak St 1, Reno NV", {}, "8")}, true);
  EXPECT_EQ(built.method, "POST");
  EXPECT_EQ(built.url, "https://api.geocod.io/v1.9/geocode?api_key=KEY");
  EXPECT_EQ(
      built.headers,
      (std::vector<std::pair<std::string, std::string>>{{"Content-Type", "application/json"}}));
  const auto body = json::parse(built.body).as_object();
  ASSERT_EQ(body.size(), 2U);
  EXPECT_EQ(body.at("ref-7"), json::value(json::string(kOdd)));
  EXPECT_EQ(body.at("ref-8"), json::value("Oak St 1, Reno NV"));
}

/// The file part of a multipart body.
std::string file_of(const HttpRequest& built) {
  const auto start = built.body.find("charset=utf-8\r\n\r\n");
  const auto end = built.body.rfind("\r\n--geonce-form-");
  EXPECT_NE(start, std::string::npos);
  return built.body.substr(start + 17, end - start - 17);
}

TEST(BuildRequest, a_csv_file_comes_back_as_it_went_in) {
  const auto built =
      request("ban",
              {ask(std::string(kOdd), {}, "7"), ask("5, rue de l'Étang\n75007 Paris", {}, "8")},
              true);
  EXPECT_TRUE(built.headers.at(0).second.starts_with("multipart/form-data; boundary="));
  EXPECT_NE(built.body.find("name=\"columns\"\r\n\r\nadresse\r\n"), std::string::npos);
  EXPECT_NE(built.body.find("name=\"data\"; filename=\"addresses.csv\""), std::string::npos);
  const auto rows = parse_csv(file_of(built));
  ASSERT_TRUE(rows);
  EXPECT_EQ(
      *rows,
      (std::vector<Cells>{
          {"id", "adresse"}, {"7", std::string(kOdd)}, {"8", "5, rue de l'Étang 75007 Paris"}}));
}

TEST(BuildRequest, a_file_that_is_split_at_commas_has_none_too_many) {
  auto odd = fields("7", "421", "\"Sample\" St, Unit#6", "Reno, Sparks", "NV", "89501");
  const auto built = request("census", {odd, fields("8", "7", "Peña St", "Reno", "NV", "")}, true);
  EXPECT_NE(built.body.find("name=\"benchmark\"\r\n\r\nPublic_AR_Current\r\n"), std::string::npos);
  const std::string file = file_of(built);
  EXPECT_EQ(file, "7,421  Sample  St  Unit#6,Reno  Sparks,NV,89501\r\n8,7 Pena St,Reno,NV,\r\n");
}

TEST(TakesBulk, only_what_the_endpoint_can_do) {
  const auto takes = [](std::string_view name, const ProviderAsk& a) {
    return takes_bulk(spec(name), a.query);
  };
  EXPECT_TRUE(takes("geocodio", ask("12 Oak St, Reno NV")));
  EXPECT_TRUE(takes("geocodio", ask("12 Oak St, Reno NV", Country('U', 'S'))));
  EXPECT_FALSE(takes("geocodio", ask("12 Oak St, Toronto", Country('C', 'A'))))
      << "one country for a whole call";
  EXPECT_FALSE(takes("geocodio", ask("")));
  EXPECT_FALSE(takes("google", ask("12 Oak St")));

  EXPECT_TRUE(takes("ban", ask(std::string(200, 'a'))));
  EXPECT_FALSE(takes("ban", ask(std::string(201, 'a')))) << "one such row fails the whole file";
  std::string accents;
  for (int i = 0; i < 200; ++i) accents += "é";
  EXPECT_TRUE(takes("ban", ask(accents))) << "characters, not bytes";

  EXPECT_TRUE(takes("census", fields("1", "1100", "Congress Ave", "", "", "78701")));
  EXPECT_TRUE(takes("census", fields("1", "1100", "Congress Ave", "Austin", "TX", "")));
  EXPECT_FALSE(takes("census", fields("1", "1100", "Congress Ave", "Austin", "", "")));
  EXPECT_FALSE(takes("census", ask("1100 Congress Ave, Austin, TX 78701")))
      << "free text has no columns";
  auto beside = fields("1", "", "", "Austin", "TX", "78701");
  EXPECT_FALSE(takes("census", beside));
  beside.query.text = "1100 Congress Ave";
  EXPECT_TRUE(takes("census", beside)) << "a text beside its locality is the street";
  beside.query.text = "1100 Congress Ave, Austin";
  EXPECT_FALSE(takes("census", beside));
}

/// Keeps what it was asked to do.
class RecordingClient : public HttpClient {
 public:
  void start(HttpRequest asked,
             std::function<bool()> sending,
             std::function<void(Transfer)> done) override {
    requests.push_back(std::move(asked));
    EXPECT_TRUE(sending());
    done({TransferEnd::lost, {}, "gone"});
  }
  std::vector<HttpRequest> requests;
};

TEST(MakeProvider, wants_the_key_and_the_name_that_the_provider_wants) {
  RecordingClient http;
  auto no_key = make_provider(spec("google"), {}, http);
  ASSERT_FALSE(no_key);
  EXPECT_EQ(no_key.error().code, ErrorCode::invalid_config);
  EXPECT_NE(no_key.error().message.find("providers.google.secret_file"), std::string::npos);
  auto no_name = make_provider(spec("nominatim"), {}, http);
  ASSERT_FALSE(no_name);
  EXPECT_NE(no_name.error().message.find("providers.nominatim.user_agent"), std::string::npos);
  EXPECT_TRUE(make_provider(spec("census"), {}, http));
}

TEST(MakeProvider, the_operator_overrules_the_spec) {
  RecordingClient http;
  ProviderSettings settings;
  settings.secret = "KEY";
  settings.price_single = Money{100};
  settings.concurrency = 3;
  settings.rate_per_s = 2.5;
  settings.terms.emplace();
  settings.terms->reason = "contract 42";
  settings.timeout = std::chrono::milliseconds{1'500};
  settings.bulk = false;
  const auto provider = *make_provider(spec("geocodio"), settings, http);
  EXPECT_EQ(provider->traits().price_single, Money{100});
  EXPECT_EQ(provider->traits().concurrency, 3U);
  EXPECT_EQ(provider->traits().rate_per_s, 2.5);
  EXPECT_EQ(provider->traits().terms.reason, "contract 42");
  EXPECT_EQ(provider->traits().single_timeout, std::chrono::milliseconds{1'500});
  EXPECT_EQ(provider->traits().bulk_max, 0U);
  EXPECT_FALSE(provider->takes_bulk(ask("12 Oak St").query));
  Transfer answer;
  answer.end = TransferEnd::complete;
  answer.response.status = 200;
  answer.response.body = R"({"results":[{"location":{"lat":1,"lng":2}}]})";
  const std::vector<ProviderAsk> asks{ask("12 Oak St")};
  EXPECT_EQ(provider->decode(answer, asks, false).at(0).price, Money{100});
}

TEST(MakeProvider, a_call_ends_at_its_deadline_or_its_timeout) {
  RecordingClient http;
  const auto provider = *make_provider(spec("census"), {}, http);
  const std::vector<ProviderAsk> asks{ask("12 Oak St")};
  int ends = 0;
  const auto done = [&](const Transfer& transfer) {
    EXPECT_EQ(provider->decode(transfer, asks, false).at(0).kind, OutcomeKind::unknown);
    ++ends;
  };
  EXPECT_TRUE(provider->call(
      asks, false, Deadline::never(), [] { return true; }, done));
  EXPECT_TRUE(provider->call(
      asks,
      false,
      Deadline::in(std::chrono::seconds{3}, system_clock()),
      [] { return true; },
      done));
  EXPECT_EQ(ends, 2);
  EXPECT_EQ(http.requests.at(0).total_timeout, provider->traits().single_timeout);
  EXPECT_LE(http.requests.at(1).total_timeout, std::chrono::seconds{3});
  const std::vector<ProviderAsk> empty(1);
  EXPECT_FALSE(provider->call(
      empty, false, Deadline::never(), [] { return true; }, done));
  EXPECT_EQ(http.requests.size(), 2U);
  EXPECT_EQ(ends, 2);
}

}  // namespace
}  // namespace geonce
