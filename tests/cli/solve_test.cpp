// `resident solve`: solutions, right-hand sides, reports, and the options that reach the solver.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "../matrix_path.hpp"
#include "process.hpp"
#include "systems.hpp"

namespace {

using Json = nlohmann::json;

class Solve : public testing::Test {
 protected:
  // Solves with --json and other arguments, and returns the report.
  Json solve(std::vector<std::string> arguments, int exit_code = 0) {
    arguments.insert(arguments.begin(), {"solve", "--json"});
    const Result result = run(arguments);
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    return Json::parse(result.out, nullptr, false);
  }

  void expect_solution(const std::string& file, const std::vector<double>& expected,
                       double tolerance = 1e-7) {
    const std::vector<double> found = parse_vector(read_file(file));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance);
  }

  TemporaryFolder folder;
  std::string a = folder.write("a.mtx", tiny_matrix);
  std::string b = folder.write("b.mtx", tiny_rhs);
  std::string x = folder.file("x.mtx");
};

TEST_F(Solve, TinySystem) {
  EXPECT_EQ(run({"solve", a, b, "-o", x}).exit_code, 0);
  expect_solution(x, tiny_solution);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"a.mtx", "b.mtx", "x.mtx"}));
}

TEST_F(Solve, RhsOptionIsThePositionalFile) {
  EXPECT_EQ(run({"solve", a, "--rhs", b, "-o", x}).exit_code, 0);
  expect_solution(x, tiny_solution);
}

TEST_F(Solve, DefaultRhsHasTheSolutionOne) {
  EXPECT_EQ(run({"solve", a, "-o", x}).exit_code, 0);
  expect_solution(x, {1, 1, 1});
}

TEST_F(Solve, RhsOnesIsTheVectorOfOnes) {
  EXPECT_EQ(run({"solve", a, "--rhs", "ones", "-o", x}).exit_code, 0);
  expect_solution(x, {2.0 / 11, 3.0 / 11, 0.5});
}

TEST_F(Solve, RandomRhsDependsOnTheSeedAlone) {
  const double one = solve({a, "--rhs", "random:1"})["rhs_norm"];
  EXPECT_EQ(solve({a, "--rhs", "random:1"})["rhs_norm"], one);
  EXPECT_NE(solve({a, "--rhs", "random:2"})["rhs_norm"], one);
  EXPECT_GT(one, 0);
  EXPECT_LT(one, std::sqrt(3.0));
}

TEST_F(Solve, FileCalledLikeAKeywordIsAFileAsArgument) {
  std::filesystem::copy_file(b, folder.file("ones"));
  const Result result =
      run_shell("cd '" + folder.path().string() + "' && \"$RESIDENT\" solve a.mtx ones -o x.mtx");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  expect_solution(x, tiny_solution);
}

TEST_F(Solve, ExactInitialGuessNeedsNoIteration) {
  ASSERT_EQ(run({"solve", a, b, "-o", x, "--tolerance", "1e-14"}).exit_code, 0);
  const Json report = solve({a, b, "--x0", x});
  EXPECT_EQ(report["iterations"], 0);
  EXPECT_EQ(report["reason"], "converged");
}

TEST_F(Solve, SolutionOnStandardOutput) {
  const Result result = run({"solve", a, b, "-o", "-"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<double> printed = parse_vector(result.out);
  ASSERT_EQ(printed.size(), 3u) << result.out;
  EXPECT_NEAR(printed[2], 3, 1e-7);
}

TEST_F(Solve, ReplacesAnOlderSolution) {
  folder.write("x.mtx", "old");
  EXPECT_EQ(run({"solve", a, b, "-o", x}).exit_code, 0);
  expect_solution(x, tiny_solution);
}

TEST_F(Solve, ADeviceFileStaysOne) {
  EXPECT_EQ(run({"solve", a, b, "-o", "/dev/null", "--history", "/dev/null"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST_F(Solve, JsonHasTheDocumentedKeys) {
  const Json report = solve({a, b, "-o", x});
  const std::vector<std::string> keys = {"reason",
                                         "converged",
                                         "iterations",
                                         "restarts",
                                         "residual_norm",
                                         "rhs_norm",
                                         "relative_residual",
                                         "read_seconds",
                                         "setup_seconds",
                                         "solve_seconds",
                                         "iteration_seconds",
                                         "device",
                                         "plan",
                                         "detail",
                                         "matrix",
                                         "rows",
                                         "nonzeros",
                                         "precision",
                                         "device_kind",
                                         "recurrence",
                                         "preconditioner",
                                         "cache",
                                         "tolerance",
                                         "absolute_tolerance",
                                         "max_iterations",
                                         "time_limit",
                                         "solution",
                                         "version"};
  for (const std::string& key : keys) EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report.size(), keys.size());
  EXPECT_EQ(report["reason"], "converged");
  EXPECT_EQ(report["converged"], true);
  EXPECT_EQ(report["rows"], 3);
  EXPECT_EQ(report["nonzeros"], 5);
  EXPECT_EQ(report["matrix"], a);
  EXPECT_EQ(report["solution"], x);
  EXPECT_NEAR(report["rhs_norm"].get<double>(), std::sqrt(41.0), 1e-12);
  EXPECT_LE(report["relative_residual"].get<double>(), 1e-8);
  EXPECT_GT(report["solve_seconds"].get<double>(), 0);
  EXPECT_TRUE(report["time_limit"].is_null());  // infinite
  EXPECT_FALSE(report["device"].get<std::string>().empty());
}

TEST_F(Solve, JsonHasNullForWhatIsNotFinite) {
  const std::string overflow = folder.write("overflow.mtx", overflowing_matrix);
  const Json report = solve({overflow, "-o", x}, 3);
  EXPECT_EQ(report["reason"], "not_finite");
  EXPECT_EQ(report["converged"], false);
  EXPECT_TRUE(report["rhs_norm"].is_null());
  EXPECT_TRUE(report["solution"].is_null());
  EXPECT_FALSE(std::filesystem::exists(x));
}

TEST_F(Solve, JsonOfAFileNameThatIsNotUtf8) {
  const std::string odd = folder.file("\xff.mtx");
  std::filesystem::copy_file(a, odd);
  EXPECT_EQ(solve({odd})["reason"], "converged");
}

TEST_F(Solve, HistoryHasARowForEveryIteration) {
  const std::string history = folder.file("history.csv");
  const Json report = solve({"poisson2d:30:30", "--history", history});
  std::istringstream lines(read_file(history));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "iteration,residual_norm");
  std::vector<double> norms;
  while (std::getline(lines, line)) {
    const auto comma = line.find(',');
    ASSERT_NE(comma, std::string::npos) << line;
    EXPECT_EQ(line.substr(0, comma), std::to_string(norms.size()));
    norms.push_back(std::stod(line.substr(comma + 1)));
  }
  ASSERT_EQ(norms.size(), report["iterations"].get<std::size_t>() + 1);
  EXPECT_DOUBLE_EQ(norms.front(), report["rhs_norm"].get<double>());
  EXPECT_LE(norms.back(), 1.01e-8 * norms.front());
  EXPECT_EQ(folder.names().size(), 3u);  // no temporary file is left
}

TEST_F(Solve, HistoryIsWrittenAfterABreakdown) {
  const std::string indefinite = folder.write("indefinite.mtx", indefinite_matrix);
  const std::string direction = folder.write("direction.mtx", indefinite_direction);
  EXPECT_EQ(run({"solve", indefinite, direction, "--history", "-"}).out.substr(0, 24),
            "iteration,residual_norm\n");
}

TEST_F(Solve, IterationLimit) {
  const Json report = solve({"poisson2d:50:50", "--max-iterations", "3", "-o", x}, 2);
  EXPECT_EQ(report["reason"], "iteration_limit");
  EXPECT_EQ(report["converged"], false);
  EXPECT_EQ(report["iterations"], 3);
  EXPECT_EQ(report["max_iterations"], 3);
  EXPECT_EQ(parse_vector(read_file(x)).size(), 2500u);
}

TEST_F(Solve, TimeLimit) {
  const Json report = solve({"poisson3d:80:80:80", "--rhs", "ones", "--tolerance", "0",
                             "--max-iterations", "1000000000", "--time-limit", "0.1", "-o", x},
                            2);
  EXPECT_EQ(report["reason"], "time_limit");
  EXPECT_EQ(report["time_limit"], 0.1);
  EXPECT_EQ(report["solution"], x);
}

TEST_F(Solve, Stagnation) {
  const Json report = solve({"poisson2d:30:30", "--rhs", "random:3", "--tolerance", "1e-25"}, 2);
  EXPECT_EQ(report["reason"], "stagnated");
  EXPECT_GE(report["restarts"], 1);
}

TEST_F(Solve, Tolerances) {
  const Json loose = solve({"poisson2d:30:30", "--tolerance", "1e-2"});
  const Json tight = solve({"poisson2d:30:30", "--tolerance=1e-12"});
  EXPECT_LT(loose["iterations"], tight["iterations"]);
  EXPECT_LE(tight["relative_residual"].get<double>(), 1e-12);
  const Json absolute =
      solve({"poisson2d:30:30", "--tolerance", "0", "--absolute-tolerance", "0.01"});
  EXPECT_LE(absolute["residual_norm"].get<double>(), 0.01);
  EXPECT_LT(absolute["iterations"], tight["iterations"]);
}

TEST_F(Solve, EveryChoiceReachesTheSolver) {
  const std::vector<std::vector<std::string>> choices = {
      {"precision", "double", "float"},
      {"preconditioner", "none", "jacobi"},
      {"recurrence", "classic", "single_reduction"},
      {"cache", "none", "search", "vectors", "matrix", "all"}};
  for (const auto& choice : choices) {
    for (std::size_t i = 1; i < choice.size(); ++i) {
      const Json report = solve({a, b, "--" + choice[0], choice[i], "--tolerance", "1e-5"});
      EXPECT_EQ(report[choice[0]], choice[i]);
      EXPECT_EQ(report["reason"], "converged");
    }
  }
}

TEST_F(Solve, DeviceAndThreads) {
  const Json report = solve({a, b, "--device", "cpu", "--threads", "2"});
  EXPECT_EQ(report["device_kind"], "cpu");
  EXPECT_EQ(report["device"], "CPU, 2 threads");
  const Json automatic = solve({a, b, "--device", "auto", "--recurrence", "auto"});
  EXPECT_NE(automatic["device_kind"], "auto");
  EXPECT_NE(automatic["recurrence"], "auto");
}

TEST_F(Solve, JacobiHelpsABadlyScaledMatrix) {
  const std::string matrix = "jump3d:8:8:8:1e6";
  const Json with = solve({matrix, "--preconditioner", "jacobi"});
  const Json without = solve({matrix, "--preconditioner", "none"});
  EXPECT_LT(with["iterations"], without["iterations"]);
}

TEST_F(Solve, FloatKeepsAFloatsDigits) {
  const Json report = solve({a, b, "--precision", "float", "--tolerance", "1e-5", "-o", x});
  EXPECT_EQ(report["precision"], "float");
  expect_solution(x, tiny_solution, 1e-4);
}

TEST_F(Solve, RealMatrix) {
  const Json report =
      solve({matrix_path("bcsstk14.mtx.gz").string(), "--max-iterations", "100000", "-o", x});
  EXPECT_EQ(report["reason"], "converged");
  EXPECT_EQ(report["rows"], 1806);
  EXPECT_LE(report["relative_residual"].get<double>(), 1e-8);
  EXPECT_EQ(parse_vector(read_file(x)).size(), 1806u);
}

}  // namespace
