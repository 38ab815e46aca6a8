// Throughput of the Matrix Market reader on files of about 100 MB, from opening a file in the page
// cache to the finished CSR matrix. The files are written when first needed and removed at the end;
// with RESIDENT_PARSER_FOLDER set they are kept there, for other readers to be timed on.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <resident/matrix_market.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>

namespace {

// The lower triangle by columns: what collections of matrices hold. Integers as values.
std::string poisson() {
  constexpr int side = 1380, rows = side * side;
  std::string body;
  for (int row = 1; row <= rows; ++row) {
    fmt::format_to(std::back_inserter(body), "{} {} 4\n", row, row);
    if (row % side != 0) fmt::format_to(std::back_inserter(body), "{} {} -1\n", row + 1, row);
    if (row + side <= rows) fmt::format_to(std::back_inserter(body), "{} {} -1\n", row + side, row);
  }
  const int entries = rows + 2 * side * (side - 1);
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{} {} {}\n", rows, rows,
                     entries) +
         body;
}

// Fifteen random entries a column near the diagonal, values with 17 digits.
std::string random_band(bool symmetric) {
  constexpr int per_column = 15, rows = 204'000, longest_step = 600;
  std::mt19937_64 random(1);
  std::normal_distribution<double> values;
  std::string body;
  std::int64_t entries = 0;
  for (int column = 1; column <= rows; ++column) {
    int row = symmetric ? column : std::max(1, column - per_column * longest_step / 4);
    for (int k = 0; k < per_column && row <= rows; ++k, ++entries) {
      fmt::format_to(std::back_inserter(body), "{} {} {:.17g}\n", row, column, values(random));
      row += 1 + static_cast<int>(random() % longest_step);
    }
  }
  return fmt::format("%%MatrixMarket matrix coordinate real {}\n{} {} {}\n",
                     symmetric ? "symmetric" : "general", rows, rows, entries) +
         body;
}

class ParserFiles {
 public:
  ParserFiles() {
    if (const char* kept = std::getenv("RESIDENT_PARSER_FOLDER")) {
      folder_ = kept;
      keep_ = true;
    } else {
      folder_ = std::filesystem::temp_directory_path() /
                fmt::format("resident-parser-{:08x}", std::random_device()());
    }
  }
  ParserFiles(const ParserFiles&) = delete;
  ParserFiles& operator=(const ParserFiles&) = delete;
  ~ParserFiles() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(folder_, ignored);
  }

  template <class MakeText>
  std::filesystem::path get(const std::string& name, MakeText make_text) {
    const std::filesystem::path file = folder_ / name;
    if (std::filesystem::exists(file)) return file;
    std::filesystem::create_directories(folder_);
    std::ofstream(file, std::ios::binary) << make_text();
    return file;
  }

 private:
  std::filesystem::path folder_;
  bool keep_ = false;
};

template <class MakeText>
void read_file(benchmark::State& state, const std::string& name, MakeText make_text) {
  static ParserFiles files;
  const std::filesystem::path file = files.get(name, make_text);
  std::int64_t nonzeros = 0;
  for (auto _ : state) {
    const auto a = resident::read_matrix_market<double>(file);
    nonzeros = a.nonzeros();
    benchmark::DoNotOptimize(a.values.data());
  }
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["file_MB"] = static_cast<double>(bytes) / 1e6;
  state.counters["nonzeros"] = static_cast<double>(nonzeros);
}

void read_poisson_symmetric(benchmark::State& state) {
  read_file(state, "poisson-symmetric.mtx", poisson);
}

void read_17_digits_general(benchmark::State& state) {
  read_file(state, "17-digits-general.mtx", [] { return random_band(false); });
}

void read_17_digits_symmetric(benchmark::State& state) {
  read_file(state, "17-digits-symmetric.mtx", [] { return random_band(true); });
}

// The CPU column is the time of all threads together.
void options(benchmark::internal::Benchmark* reading) {
  reading->MeasureProcessCPUTime()->UseRealTime()->Unit(benchmark::kMillisecond);
}

BENCHMARK(read_poisson_symmetric)->Apply(options);
BENCHMARK(read_17_digits_general)->Apply(options);
BENCHMARK(read_17_digits_symmetric)->Apply(options);

}  // namespace
