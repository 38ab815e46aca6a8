// The subcommands that solve nothing: generate, info, devices, --help, --version.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "../matrix_path.hpp"
#include "process.hpp"
#include "systems.hpp"

namespace {

using Json = nlohmann::json;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Generate, WritesTheLowerTriangle) {
  const Result result = run({"generate", "poisson2d:2:1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(result.out.starts_with("%%MatrixMarket matrix coordinate real symmetric\n"))
      << result.out;
  EXPECT_TRUE(contains(result.out, "\n2 2 3\n1 1 4\n2 1 -1\n2 2 4\n")) << result.out;
}

TEST(Generate, FileHoldsTheFamily) {
  TemporaryFolder folder;
  for (const char* name : {"a.mtx", "a.mtx.gz"}) {
    const std::string file = folder.file(name);
    EXPECT_EQ(run({"generate", "trefethen:50", "-o", file}).exit_code, 0);
    Json from_file = Json::parse(run({"info", file, "--json"}).out);
    Json from_family = Json::parse(run({"info", "trefethen:50", "--json"}).out);
    from_file.erase("matrix");
    from_family.erase("matrix");
    EXPECT_EQ(from_file, from_family);
  }
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.mtx", "a.mtx.gz"}));
}

TEST(Generate, FloatNeedsFewerDigits) {
  const std::string family = "mass3d:2:2:2";
  const std::string doubles = run({"generate", family}).out;
  const std::string floats = run({"generate", family, "--precision", "float"}).out;
  EXPECT_LT(floats.size(), doubles.size());
  EXPECT_GT(floats.size(), 0u);
}

TEST(Info, TextOfATinyMatrix) {
  TemporaryFolder folder;
  const Result result = run({"info", folder.write("a.mtx", tiny_matrix)});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* line :
       {"rows        3\n", "columns     3\n", "nonzeros    5\n", "symmetric   yes\n",
        "diagonal    2 to 4, 0 not positive, 3 rows diagonally dominant\n", "bandwidth   1\n",
        "finite      yes\n", "row length  1 to 2, mean 1.67, standard deviation 0.47\n"}) {
    EXPECT_TRUE(contains(result.out, line)) << line << '\n' << result.out;
  }
  const std::string bars = " 1  ####################\n";
  const std::string widest = " 2  ########################################\n";
  EXPECT_TRUE(contains(result.out, bars)) << result.out;
  EXPECT_TRUE(contains(result.out, widest)) << result.out;
}

TEST(Info, JsonOfARealMatrix) {
  const Result result = run({"info", matrix_path("bcsstk14.mtx.gz").string(), "--json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json info = Json::parse(result.out);
  EXPECT_EQ(info["rows"], 1806);
  EXPECT_EQ(info["columns"], 1806);
  EXPECT_EQ(info["nonzeros"], 63454);
  EXPECT_EQ(info["square"], true);
  EXPECT_EQ(info["structurally_symmetric"], true);
  EXPECT_EQ(info["numerically_symmetric"], true);
  EXPECT_EQ(info["nonpositive_diagonals"], 0);
  EXPECT_EQ(info["finite"], true);
  EXPECT_NEAR(info["row_length_mean"].get<double>(), 63454.0 / 1806, 1e-9);
  for (const char* key :
       {"matrix", "largest_asymmetry", "diagonal_min", "diagonal_max", "diagonally_dominant_rows",
        "bandwidth", "row_length_min", "row_length_max", "row_length_deviation", "version"}) {
    EXPECT_TRUE(info.contains(key)) << key;
  }
  int rows = 0;
  for (const Json& bin : info["row_length_histogram"]) rows += bin["rows"].get<int>();
  EXPECT_EQ(rows, 1806);
}

TEST(Info, MatricesThatCannotBeSolved) {
  TemporaryFolder folder;
  const std::string nonsymmetric = folder.write("n.mtx", nonsymmetric_matrix);
  EXPECT_TRUE(contains(run({"info", nonsymmetric}).out, "no, the pattern is not symmetric"));
  const std::string rectangular = folder.write("r.mtx", rectangular_matrix);
  EXPECT_TRUE(contains(run({"info", rectangular}).out, "no, the matrix is not square"));
  const std::string negative = folder.write("d.mtx", negative_diagonal_matrix);
  EXPECT_TRUE(contains(run({"info", negative}).out, "1 not positive"));
  const std::string skew = folder.write(
      "s.mtx",
      "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 2\n1 2 1\n2 1 -1\n2 2 2\n");
  EXPECT_TRUE(contains(run({"info", skew}).out, "pattern yes, values no"));
}

TEST(Info, StandardInput) {
  TemporaryFolder folder;
  Launch launch;
  launch.input = folder.write("a.mtx", tiny_matrix);
  launch.arguments = {"info", "-", "--json"};
  EXPECT_EQ(Json::parse(Process(launch).wait().out)["nonzeros"], 5);
}

TEST(Devices, TextAndJson) {
  const Result text = run({"devices"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(contains(text.out, "GPU ")) << text.out;
  EXPECT_TRUE(contains(text.out, "CPU ")) << text.out;
  const Result result = run({"devices", "--json"});
  const Json devices = Json::parse(result.out);
  EXPECT_GE(devices["cpu_threads"], 1);
  ASSERT_TRUE(devices["gpus"].is_array());
  EXPECT_EQ(devices["gpus"].empty(), !devices["why_no_gpu"].get<std::string>().empty());
  for (const Json& gpu : devices["gpus"]) {
    EXPECT_GT(gpu["multiprocessors"], 0);
    EXPECT_GT(gpu["memory_bytes"], 0);
    EXPECT_EQ(gpu["usable"].get<bool>(), gpu["why_not"].get<std::string>().empty());
  }
}

// A GPU that is asked for is used, or its absence is said with exit code 4.
TEST(Devices, GpuSolveAgreesWithTheList) {
  const Json devices = Json::parse(run({"devices", "--json"}).out);
  bool usable = false;
  if (!devices["gpus"].empty()) usable = devices["gpus"][0]["usable"].get<bool>();
  const Result result = run({"solve", "poisson2d:20:20", "--device", "gpu", "--json"});
  EXPECT_EQ(result.exit_code, usable ? 0 : 4) << result.err;
  if (usable) {
    EXPECT_EQ(Json::parse(result.out)["device_kind"], "gpu");
  } else {
    EXPECT_TRUE(contains(result.err, "GPU")) << result.err;
  }
}

TEST(Help, OfEverySubcommand) {
  const Result all = run({"--help"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(all.err, "");
  for (const char* command : {"solve", "generate", "info", "devices"}) {
    EXPECT_TRUE(contains(all.out, command)) << all.out;
    const Result one = run({command, "--help"});
    EXPECT_EQ(one.exit_code, 0) << one.err;
    EXPECT_TRUE(contains(one.out, "Usage: ")) << one.out;
    EXPECT_EQ(one.err, "");
  }
}

TEST(Help, OfSolveNamesEveryOptionAndExitCode) {
  const std::string help = run({"solve", "--help"}).out;
  for (const char* word : {"A.mtx",
                           "b.mtx",
                           "--rhs",
                           "ones|random:SEED|FILE",
                           "--x0",
                           "-o,--output",
                           "--history",
                           "--precision",
                           "--tolerance",
                           "--absolute-tolerance",
                           "--max-iterations",
                           "--time-limit",
                           "--device",
                           "auto|gpu|cpu",
                           "--gpu",
                           "--threads",
                           "--preconditioner",
                           "--recurrence",
                           "--cache",
                           "--json",
                           "--quiet",
                           "0  converged",
                           "4  device or memory",
                           "poisson3d:"}) {
    EXPECT_TRUE(contains(help, word)) << word << '\n' << help;
  }
}

TEST(Version, IsPrinted) {
  const Result result = run({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(result.out.starts_with("resident ")) << result.out;
  EXPECT_EQ(Json::parse(run({"devices", "--json"}).out)["version"],
            result.out.substr(9, result.out.size() - 10));
}

}  // namespace
