// How fast are rows read, cut into cells and written again, on one thread?
//
//   bench_csv [file] [MB]       without a file: simple rows, quoted rows and accented rows, made up
//
// 2026-11-30, AMD EPYC, one of 2 shared cores, g++ 12.2 -O2, CPU time, 100 MB each:
//
//                     simple               quoted               accented
//   cut into chunks   4366 MB/s  96 M/s    2436 MB/s  41 M/s    2040 MB/s  39 M/s
//   and into cells    1195 MB/s  26 M/s     605 MB/s  10 M/s     976 MB/s  19 M/s
//   and to queries     649 MB/s  14 M/s     454 MB/s 7.6 M/s     598 MB/s  11 M/s
//   and written        108 MB/s 2.4 M/s     125 MB/s 2.1 M/s     120 MB/s 2.3 M/s  (200 bytes a
//   row) SHA-256, judged   1550 MB/s            1582 MB/s            1141 MB/s
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <time.h>

#include "batch/columns.h"
#include "batch/input.h"
#include "batch/writer.h"

namespace {

using namespace geonce;

// Of this thread alone, so that other load on the machine counts only through the caches.
double cpu_now() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double seconds(auto&& deed) {
  const double start = cpu_now();
  deed();
  return cpu_now() - start;
}

enum class Until { cut, parse, fill, write };

void run(const char* name, const std::string& path, std::size_t bytes) {
  for (const auto& [until, word] : {std::pair{Until::cut, "cut into chunks"},
                                    {Until::parse, "and into cells"},
                                    {Until::fill, "and to queries"},
                                    {Until::write, "and written"}}) {
    double best = 1e9;
    std::uint64_t rows = 0;
    std::size_t written = 0;
    for (int round = 0; round < 3; ++round) {
      rows = 0;
      best =
          std::min(best, seconds([&] {
                     InputOptions options;
                     options.path = path;
                     auto input = RowInput::open(options);
                     if (!input)
                       std::exit((std::fprintf(stderr, "%s\n", input.error().message.c_str()), 1));
                     const auto mapping = Mapping::make({}, input->shape().columns);
                     const auto writer = RowWriter::make(input->shape(), {});
                     if (!mapping || !writer) std::exit(1);
                     Answer answer;
                     answer.kind = AnswerKind::match;
                     answer.at = LatLng{41.8781136, -87.6297982};
                     answer.precision = Precision::rooftop;
                     answer.provider = "places";
                     answer.formatted = "10 S Kedzie Ave, Chicago, IL 60612, USA";
                     answer.country = Country('U', 'S');
                     Chunk chunk;
                     std::string scratch;
                     std::string out;
                     QueryView query;
                     while (true) {
                       const auto more = input->next(chunk);
                       if (!more || !*more) break;
                       rows += chunk.row_count;
                       if (until == Until::cut) continue;
                       input->parse(chunk);
                       if (until == Until::parse) continue;
                       out.clear();
                       for (const Record& record : chunk.records) {
                         mapping->fill(chunk, record, scratch, query);
                         if (until == Until::fill) continue;
                         RowResult result = row_result(answer);
                         result.key = Key{};
                         result.cache = "l1";
                         if (!writer->append(chunk, record, result, out)) std::exit(1);
                       }
                       written += out.size();
                     }
                   }));
    }
    std::printf("%-10s %-16s %6.0f MB/s  %6.2f M rows/s\n",
                name,
                word,
                static_cast<double>(bytes) / best / 1e6,
                static_cast<double>(rows) / best / 1e6);
  }
}

std::string made_up(const char* row, std::size_t bytes) {
  std::string text = "id,address,city,state,zip\n";
  for (std::size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i) + row;
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 200) * 1'000'000;
  if (argc > 1 && std::string(argv[1]) != "-") {
    const auto facts = inspect_file(argv[1], {});
    if (!facts) return std::fprintf(stderr, "%s\n", facts.error().message.c_str()), 1;
    run("file", argv[1], facts->size);
    return 0;
  }
  const std::string path = "/tmp/geonce-bench.csv";
  for (const auto& [name, row] :
       {std::pair{"simple", ",1020 W Bryn Mawr Ave,Chicago,IL,60612\n"},
        {"quoted", ",\"1020 W Bryn Mawr Ave, \"\"rear\"\"\",\"Chicago\",IL,60612\n"},
        {"accented", ",14 allée des Érables,Orléans,Centre,45000\n"}}) {
    const std::string text = made_up(row, bytes);
    std::ofstream(path, std::ios::binary) << text;
    run(name, path, text.size());
    Result<FileFacts> facts = inspect_file(path, {});
    const double spent = seconds([&] { facts = inspect_file(path, {}); });
    std::printf("%-10s %-16s %6.0f MB/s\n",
                name,
                "SHA-256, judged",
                static_cast<double>(text.size()) / spent / 1e6);
  }
  std::remove(path.c_str());
  return 0;
}
