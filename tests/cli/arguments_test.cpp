// What the command refuses: exit code, message, and that nothing is left behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "process.hpp"
#include "systems.hpp"

namespace {

struct Case {
  std::string name;
  std::vector<std::string> arguments;
  int exit_code;
  std::string message;  // part of standard error
};

void PrintTo(const Case& c, std::ostream* stream) { *stream << c.name; }

// In arguments, @ stands for the folder of the test, which holds the files of systems.hpp.
class Refused : public testing::TestWithParam<Case> {
 protected:
  Refused() {
    folder.write("tiny.mtx", tiny_matrix);
    folder.write("b.mtx", tiny_rhs);
    folder.write("nonsymmetric.mtx", nonsymmetric_matrix);
    folder.write("rectangular.mtx", rectangular_matrix);
    folder.write("indefinite.mtx", indefinite_matrix);
    folder.write("direction.mtx", indefinite_direction);
    folder.write("negative.mtx", negative_diagonal_matrix);
    folder.write("overflow.mtx", overflowing_matrix);
    folder.write("nan.mtx", nan_matrix);
    folder.write("empty.mtx", "");
    folder.write("text.mtx", "This is not a matrix.\n");
  }

  std::vector<std::string> arguments() const {
    std::vector<std::string> words = GetParam().arguments;
    for (std::string& word : words) {
      const auto at = word.find('@');
      if (at != std::string::npos) word.replace(at, 1, folder.path().string());
    }
    return words;
  }

  TemporaryFolder folder;
};

TEST_P(Refused, WithCodeAndMessage) {
  const std::vector<std::string> before = folder.names();
  const Result result = run(arguments());
  EXPECT_EQ(result.exit_code, GetParam().exit_code) << result.err;
  EXPECT_NE(result.err.find(GetParam().message), std::string::npos) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(folder.names(), before);
}

std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Usage, Refused,
    testing::Values(
        Case{"nothing", {}, 1, "subcommand"},
        Case{"unknown_subcommand", {"sovle", "@/tiny.mtx"}, 1, "sovle"},
        Case{"unknown_option", {"solve", "@/tiny.mtx", "--frobnicate"}, 1, "--frobnicate"},
        Case{"no_matrix", {"solve"}, 1, "A.mtx"},
        Case{"too_many_files", {"solve", "@/tiny.mtx", "@/b.mtx", "@/b.mtx"}, 1, "b.mtx"},
        Case{"missing_value", {"solve", "@/tiny.mtx", "--tolerance"}, 1, "--tolerance"},
        Case{"tolerance_text", {"solve", "@/tiny.mtx", "--tolerance", "small"}, 1, "--tolerance"},
        Case{"tolerance_negative", {"solve", "@/tiny.mtx", "--tolerance", "-1"}, 1, "tolerance"},
        Case{"tolerance_nan", {"solve", "@/tiny.mtx", "--tolerance", "nan"}, 1, "tolerance"},
        Case{"absolute_tolerance_negative",
             {"solve", "@/tiny.mtx", "--absolute-tolerance", "-1"},
             1,
             "--absolute-tolerance is '-1', expected a number of at least 0"},
        Case{"max_iterations_text",
             {"solve", "@/tiny.mtx", "--max-iterations", "many"},
             1,
             "--max-iterations"},
        Case{"max_iterations_negative",
             {"solve", "@/tiny.mtx", "--max-iterations", "-5"},
             1,
             "--max-iterations is '-5', expected a whole number of at least 0"},
        Case{"max_iterations_not_whole",
             {"solve", "@/tiny.mtx", "--max-iterations", "1e3"},
             1,
             "--max-iterations"},
        Case{"max_iterations_overflow",
             {"solve", "@/tiny.mtx", "--max-iterations", "99999999999999999999"},
             1,
             "--max-iterations"},
        Case{"given_twice",
             {"solve", "@/tiny.mtx", "--tolerance", "1", "--tolerance", "2"},
             1,
             "--tolerance"},
        Case{"time_limit_zero", {"solve", "@/tiny.mtx", "--time-limit", "0"}, 1, "time_limit"},
        Case{"threads_negative", {"solve", "@/tiny.mtx", "--threads", "-1"}, 1, "threads"},
        Case{"device_unknown",
             {"solve", "@/tiny.mtx", "--device", "tpu"},
             1,
             "--device is 'tpu', expected auto, gpu or cpu"},
        Case{"precision_unknown",
             {"solve", "@/tiny.mtx", "--precision", "half"},
             1,
             "expected double or float"},
        Case{"preconditioner_unknown",
             {"solve", "@/tiny.mtx", "--preconditioner", "ilu"},
             1,
             "expected none or jacobi"},
        Case{"recurrence_unknown",
             {"solve", "@/tiny.mtx", "--recurrence", "gmres"},
             1,
             "expected auto, classic or single_reduction"},
        Case{"cache_unknown",
             {"solve", "@/tiny.mtx", "--cache", "some"},
             1,
             "expected none, search, vectors, matrix or all"},
        Case{"gpu_text", {"solve", "@/tiny.mtx", "--gpu", "first"}, 1, "--gpu"},
        Case{"gpu_and_cpu",
             {"solve", "@/tiny.mtx", "--gpu", "0", "--device", "cpu"},
             1,
             "contradict"},
        Case{"two_rhs", {"solve", "@/tiny.mtx", "@/b.mtx", "--rhs", "ones"}, 1, "right-hand side"},
        Case{"seed_text", {"solve", "@/tiny.mtx", "--rhs", "random:x"}, 1, "random:SEED"},
        Case{"seed_empty", {"solve", "@/tiny.mtx", "--rhs", "random:"}, 1, "random:SEED"},
        Case{"seed_negative", {"solve", "@/tiny.mtx", "--rhs", "random:-1"}, 1, "random:SEED"},
        Case{"standard_input_twice", {"solve", "-", "-"}, 1, "standard input"},
        Case{"standard_output_twice",
             {"solve", "@/tiny.mtx", "--json", "-o", "-"},
             1,
             "standard output"},
        Case{"family_too_few", {"solve", "poisson2d:10"}, 1, "poisson2d"},
        Case{"family_text", {"solve", "poisson2d:ten:10"}, 1, "ten"},
        Case{"family_zero", {"solve", "poisson2d:0:10"}, 1, "poisson2d"},
        Case{"family_overflow", {"solve", "poisson2d:100000:100000"}, 1, "100000"},
        Case{"generate_nothing", {"generate"}, 1, "FAMILY"},
        Case{"generate_unknown", {"generate", "hilbert:10"}, 1, "hilbert"},
        Case{"info_nothing", {"info"}, 1, "A.mtx"},
        Case{"info_unknown_option", {"info", "@/tiny.mtx", "--yaml"}, 1, "--yaml"},
        Case{"devices_argument", {"devices", "all"}, 1, "all"}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Input, Refused,
    testing::Values(
        Case{"missing", {"solve", "@/none.mtx"}, 1, "none.mtx"},
        Case{"directory", {"solve", "@"}, 1, "directory"},
        Case{"empty", {"solve", "@/empty.mtx"}, 1, "empty.mtx"},
        Case{"text", {"solve", "@/text.mtx"}, 1, "text.mtx:1"},
        Case{"empty_standard_input", {"solve", "-"}, 1, "resident: "},
        Case{"not_symmetric",
             {"solve", "@/nonsymmetric.mtx"},
             1,
             "nonsymmetric.mtx: the matrix cannot be used: it is not symmetric"},
        Case{"not_square",
             {"solve", "@/rectangular.mtx"},
             1,
             "rectangular.mtx: the matrix has 2 rows and 3 columns"},
        Case{"nan", {"solve", "@/nan.mtx"}, 1, "nan.mtx:4"},
        Case{"rhs_missing", {"solve", "@/tiny.mtx", "@/none.mtx"}, 1, "none.mtx"},
        Case{"rhs_too_short",
             {"solve", "@/tiny.mtx", "@/direction.mtx"},
             1,
             "the right-hand side has 2 entries, expected 3"},
        Case{"rhs_matrix", {"solve", "@/tiny.mtx", "--rhs", "@/tiny.mtx"}, 1, "tiny.mtx"},
        Case{"x0_missing", {"solve", "@/tiny.mtx", "--x0", "@/none.mtx"}, 1, "none.mtx"},
        Case{"x0_too_short",
             {"solve", "@/tiny.mtx", "--x0", "@/direction.mtx"},
             1,
             "the initial guess has 2 entries, expected 3"},
        Case{"info_missing", {"info", "@/none.mtx"}, 1, "none.mtx"},
        Case{"info_text", {"info", "@/text.mtx"}, 1, "text.mtx:1"}),
    case_name);

// The matrix is missing too: that the output is blamed shows that it is looked at before any work.
INSTANTIATE_TEST_SUITE_P(
    Output, Refused,
    testing::Values(Case{"folder_missing",
                         {"solve", "@/none.mtx", "-o", "@/no/x.mtx"},
                         1,
                         "no/x.mtx: cannot be created"},
                    Case{"folder_is_file",
                         {"solve", "@/none.mtx", "-o", "@/tiny.mtx/x.mtx"},
                         1,
                         "tiny.mtx/x.mtx: cannot be created"},
                    Case{"is_folder", {"solve", "@/none.mtx", "-o", "@"}, 1, "cannot be written"},
                    Case{
                        "empty_name", {"solve", "@/none.mtx", "-o", ""}, 1, "expected a file name"},
                    Case{"history_folder_missing",
                         {"solve", "@/none.mtx", "--history", "@/no/h.csv"},
                         1,
                         "no/h.csv: cannot be created"},
                    Case{"generate_folder_missing",
                         {"generate", "hilbert:10", "-o", "@/no/a.mtx"},
                         1,
                         "no/a.mtx: cannot be created"}),
    case_name);

INSTANTIATE_TEST_SUITE_P(
    Solve, Refused,
    testing::Values(Case{"indefinite",
                         {"solve", "@/indefinite.mtx", "@/direction.mtx", "-o", "@/x.mtx"},
                         3,
                         "not positive definite"},
                    Case{"negative_diagonal",
                         {"solve", "@/negative.mtx", "-o", "@/x.mtx"},
                         3,
                         "not positive definite"},
                    Case{"overflow", {"solve", "@/overflow.mtx", "-o", "@/x.mtx"}, 3, "not finite"},
                    Case{"no_such_gpu", {"solve", "@/tiny.mtx", "--gpu", "999"}, 4, "GPU"},
                    Case{
                        "no_such_gpu_by_device",
                        {"solve", "@/tiny.mtx", "--device", "gpu", "--gpu", "999", "-o", "@/x.mtx"},
                        4,
                        "GPU"}),
    case_name);

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Sanitizers need more address space than this.
TEST(Memory, Exhausted) {
  const Result result =
      run_shell("ulimit -v 400000; \"$RESIDENT\" solve poisson3d:200:200:200 --device cpu");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_NE(result.err.find("resident: "), std::string::npos) << result.err;
}
#endif

}  // namespace
