#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "gateway/endpoint.h"

namespace geonce {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Sample {
  std::int64_t value = 0;
  std::string label;  // of the family's label name; empty: none
};

/// The families of one page.
class Page {
 public:
  void counter(std::string name, std::string help, std::int64_t value) {
    add(std::move(name), std::move(help), MetricType::Counter, {}, {{value, {}}});
  }
  void counters(std::string name,
                std::string help,
                const std::string& label,
                std::initializer_list<Sample> samples) {
    add(std::move(name), std::move(help), MetricType::Counter, label, samples);
  }
  void gauge(std::string name, std::string help, std::int64_t value) {
    add(std::move(name), std::move(help), MetricType::Gauge, {}, {{value, {}}});
  }
  [[nodiscard]] std::string text() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  void add(std::string name,
           std::string help,
           MetricType type,
           const std::string& label,
           std::initializer_list<Sample> samples) {
    MetricFamily family;
    family.name = "geonce_" + std::move(name);
    family.help = std::move(help);
    family.type = type;
    for (const Sample& sample : samples) {
      ClientMetric metric;
      if (!sample.label.empty()) metric.label.push_back({label, sample.label});
      const auto value = static_cast<double>(sample.value);
      if (type == MetricType::Counter)
        metric.counter.value = value;
      else
        metric.gauge.value = value;
      family.metric.push_back(std::move(metric));
    }
    families_.push_back(std::move(family));
  }

  std::vector<MetricFamily> families_;
};

void put_resolver(Page& page, const ResolverStats& stats) {
  page.counters("answers_total",
                "Queries by where their answer came from",
                "cache",
                {{stats.l1, "l1"},
                 {stats.redis, "redis"},
                 {stats.db, "db"},
                 {stats.places, "places"},
                 {stats.coalesced, "coalesced"},
                 {stats.paid, "paid"},
                 {stats.negative, "negative"},
                 {stats.stale, "stale"}});
  page.counter("errors_total", "Queries without an answer", stats.errors);
  page.counter("provider_lookups_total", "Look-ups sent to providers", stats.calls);
  page.counter("provider_requests_total", "HTTP requests that carried them", stats.requests);
  page.counter("unknown_total", "Look-ups whose answer was lost", stats.unknown);
  page.counter("redundant_total", "Answers that came to a window that had one", stats.redundant);
  page.counter("cost_microusd_total", "What the look-ups cost", stats.cost.micro_usd);
  page.gauge("flights", "Questions under way", stats.flights);
  page.gauge("provider_requests_in_flight", "HTTP requests under way", stats.calls_in_flight);
}

void put_server(Page& page, const HttpServerStats& stats) {
  page.gauge("http_connections", "Connections of clients", stats.connections);
  page.counter("http_accepted_total", "Connections that were taken", stats.accepted);
  page.counter(
      "http_turned_away_total", "Connections for which there was no room", stats.turned_away);
  page.counter("http_requests_total", "Requests that were answered", stats.requests);
  page.counter("http_faults_total", "Bytes that were no request", stats.faults);
  page.counter("http_too_slow_total", "Connections cut for their slowness", stats.too_slow);
}

}  // namespace

void get_metrics(EndpointContext& context, const ServerRequest& /*request*/, HttpReply reply) {
  Page page;
  put_resolver(page, context.parts.resolver.stats());
  put_server(page, context.parts.server_stats());
  reply.send({200, "text/plain; version=0.0.4", {}, page.text()});
}

}  // namespace geonce
