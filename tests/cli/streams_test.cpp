// Streams and signals: pipes, terminals, silence, Ctrl-C.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "process.hpp"
#include "systems.hpp"

namespace {

using Json = nlohmann::json;

// Lasts much longer than any test: no residual is below 0, and one thread needs minutes until the
// recurrence underflows.
const std::vector<std::string> long_solve = {"solve",
                                             "poisson3d:100:100:100",
                                             "--rhs",
                                             "ones",
                                             "--device",
                                             "cpu",
                                             "--threads",
                                             "1",
                                             "--tolerance",
                                             "0",
                                             "--max-iterations",
                                             "100000000"};

Launch on_terminal(std::vector<std::string> arguments) {
  Launch launch;
  launch.arguments = std::move(arguments);
  launch.terminal = true;
  return launch;
}

std::vector<std::string> operator+(std::vector<std::string> left,
                                   const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Streams, SummaryOnStandardErrorByDefault) {
  const Result result = run({"solve", "poisson2d:20:20"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "");
  for (const char* label : {"matrix ", "device ", "plan ", "result ", "time "}) {
    EXPECT_TRUE(contains(result.err, label)) << label << '\n' << result.err;
  }
  EXPECT_TRUE(contains(result.err, "400 rows, 1920 nonzeros, double")) << result.err;
  EXPECT_TRUE(contains(result.err, "converged after ")) << result.err;
}

TEST(Streams, QuietPrintsNothing) {
  const Result converged = run({"solve", "poisson2d:20:20", "--quiet"});
  EXPECT_EQ(converged.exit_code, 0);
  EXPECT_EQ(converged.out + converged.err, "");
  const Result limited = run({"solve", "poisson2d:20:20", "--quiet", "--max-iterations", "2"});
  EXPECT_EQ(limited.exit_code, 2);
  EXPECT_EQ(limited.out + limited.err, "");
}

TEST(Streams, QuietStillSaysWhatIsWrong) {
  const Result result = run({"solve", "/nowhere/a.mtx", "--quiet"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "/nowhere/a.mtx")) << result.err;
}

TEST(Streams, QuietPrintsJsonAlone) {
  const Result result = run({"solve", "poisson2d:20:20", "--quiet", "--json"});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(Json::parse(result.out)["reason"], "converged");
}

TEST(Streams, NoProgressInAPipe) {
  const Result result = run(long_solve + std::vector<std::string>{"--time-limit", "1"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_FALSE(contains(result.err, "\r")) << result.err;
  EXPECT_FALSE(contains(result.err, "iterations/s")) << result.err;
}

TEST(Streams, ProgressOnATerminalIsErased) {
  const Result result =
      Process(on_terminal(long_solve + std::vector<std::string>{"--time-limit", "1"})).wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "\riteration ")) << result.err;
  EXPECT_TRUE(contains(result.err, " relative residual ")) << result.err;
  EXPECT_TRUE(contains(result.err, " iterations/s")) << result.err;
  const auto summary = result.err.find("matrix    poisson3d:100:100:100");
  ASSERT_NE(summary, std::string::npos) << result.err;
  EXPECT_EQ(result.err.substr(summary - 5, 5), "    \r");
}

TEST(Streams, QuietOnATerminalToo) {
  const Result result = Process(on_terminal({"solve", "poisson2d:20:20", "--quiet"})).wait();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
}

TEST(Streams, MatrixFromAPipe) {
  const Result result =
      run_shell("\"$RESIDENT\" generate poisson2d:20:30 | \"$RESIDENT\" solve - --json --quiet");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Json report = Json::parse(result.out);
  EXPECT_EQ(report["rows"], 600);
  EXPECT_EQ(report["nonzeros"], 2900);
  EXPECT_EQ(report["matrix"], "-");
}

TEST(Streams, RightHandSideFromAPipe) {
  TemporaryFolder folder;
  Launch launch;
  launch.input = folder.write("b.mtx", tiny_rhs);
  launch.arguments = {"solve", folder.write("a.mtx", tiny_matrix), "-", "-o", "-", "--quiet"};
  const Result result = Process(launch).wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::vector<double> x = parse_vector(result.out);
  ASSERT_EQ(x.size(), 3u) << result.out;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(x[i], tiny_solution[i], 1e-7);
}

// Every way to write standard output, onto a full disk and into a pipe that nobody reads.
TEST(Streams, StandardOutputThatFails) {
  const std::vector<std::vector<std::string>> commands = {
      {"solve", "poisson2d:5:5", "--json"},
      {"solve", "poisson2d:5:5", "-o", "-"},
      {"solve", "poisson2d:5:5", "--history", "-"},
      {"generate", "poisson2d:200:200"},
      {"generate", "poisson2d:5:5"},
      {"info", "poisson2d:5:5"},
      {"info", "poisson2d:5:5", "--json"},
      {"devices"},
      {"devices", "--json"},
      {"--help"},
      {"--version"}};
  for (const auto& arguments : commands) {
    Launch full;
    full.arguments = arguments;
    full.output = "/dev/full";
    Launch closed;
    closed.arguments = arguments;
    closed.closed_output = true;
    for (const Launch& launch : {full, closed}) {
      const Result result = Process(launch).wait();
      const std::string shown = arguments.front() + ' ' + arguments.back();
      EXPECT_EQ(result.exit_code, 1) << shown << ", signal " << result.signal;
      EXPECT_TRUE(contains(result.err, "standard output")) << shown << '\n' << result.err;
    }
  }
}

TEST(Streams, ClosedStandardOutputIsAnError) {
  const Result result = run_shell("\"$RESIDENT\" solve poisson2d:5:5 --json >&-");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_TRUE(contains(result.err, "standard output")) << result.err;
}

TEST(Streams, StandardErrorIsNotNeeded) {
  for (const char* stream : {"2>&-", "2>/dev/full"}) {
    const Result result =
        run_shell("\"$RESIDENT\" solve poisson2d:5:5 --json " + std::string(stream));
    EXPECT_EQ(result.exit_code, 0) << stream;
    EXPECT_EQ(Json::parse(result.out, nullptr, false)["reason"], "converged") << stream;
    const std::string failing = "\"$RESIDENT\" solve /nowhere/a.mtx ";
    EXPECT_EQ(run_shell(failing + stream).exit_code, 1) << stream;
  }
}

class Interrupted : public testing::TestWithParam<int> {};

TEST_P(Interrupted, ReportsCancelledAndWritesTheSolution) {
  TemporaryFolder folder;
  const std::string x = folder.file("x.mtx");
  Process process(on_terminal(long_solve + std::vector<std::string>{"--json", "-o", x}));
  ASSERT_TRUE(process.wait_for_terminal("iterations/s"));
  process.send(GetParam());
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, 2) << result.err;
  const Json report = Json::parse(result.out, nullptr, false);
  EXPECT_EQ(report["reason"], "cancelled");
  EXPECT_EQ(report["solution"], x);
  EXPECT_GT(report["iterations"], 0);
  EXPECT_LT(report["relative_residual"].get<double>(), 1e3);
  const std::vector<double> solution = parse_vector(read_file(x));
  ASSERT_EQ(solution.size(), 1000000u);
  EXPECT_NE(solution[500000], 0);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"x.mtx"});
  EXPECT_TRUE(contains(result.err, "interrupt again")) << result.err;
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupted, testing::Values(SIGINT, SIGTERM));

TEST(Interrupt, StaysIgnored) {
  std::string script = "trap '' INT; exec \"$RESIDENT\"";
  for (const std::string& word : long_solve) script += ' ' + word;
  Launch launch = shell_script(script + " --time-limit 1 --json");
  launch.terminal = true;
  Process process(launch);
  ASSERT_TRUE(process.wait_for_terminal("iterations/s"));
  process.send(SIGINT);
  const Result result = process.wait();
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_EQ(Json::parse(result.out, nullptr, false)["reason"], "time_limit");
}

// The second signal must end a process that is not looking at the flag. Here it waits for input.
TEST(Interrupt, SecondOneKills) {
  TemporaryFolder folder;
  const std::string fifo = folder.file("fifo");
  ASSERT_EQ(run_shell("mkfifo '" + fifo + "'").exit_code, 0);
  Process process(on_terminal({"solve", fifo}));
  ASSERT_TRUE(process.wait_for_terminal("reading"));
  process.send(SIGINT);
  ASSERT_TRUE(process.wait_for_terminal("interrupt again"));
  process.send(SIGINT);
  EXPECT_EQ(process.wait().signal, SIGINT);
}

}  // namespace
