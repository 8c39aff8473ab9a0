// Makes the keys of a list again and compares. scripts/same-keys builds this with several
// compilers.
//   same_keys n1_many.tsv
#include <clocale>
#include <cstdio>
#include <fstream>
#include <string>

#include "core/normalize.h"

int main(int argc, char** argv) {
  using namespace geonce;
  if (argc != 2) return 2;
  const char* locale = std::setlocale(LC_ALL, "");
  std::ifstream file(argv[1]);
  Normalizer normalizer;
  int rows = 0;
  int wrong = 0;
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find('\t');
    const auto last = line.rfind('\t');
    if (line.starts_with('#') || first != 2 || first == last) continue;
    const std::string text = line.substr(first + 1, last - first - 1);
    QueryView query;
    query.text = text;
    query.country = Country(line[0], line[1]);
    const auto keyed = normalizer.key(query);
    ++rows;
    if (!keyed || to_text(keyed->key) != line.substr(last + 1)) ++wrong;
  }
  std::printf("%d keys, %d of them other than given, locale %s\n",
              rows,
              wrong,
              locale == nullptr ? "unknown" : locale);
  return rows >= 10'000 && wrong == 0 && locale != nullptr ? 0 : 1;
}
