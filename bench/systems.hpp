// The systems of the benchmark: generated families at sizes that walk through the memory hierarchy,
// and Matrix Market files.
#pragma once

#include <resident/csr.hpp>

#include <string>
#include <vector>

namespace resident::bench {

// `quick`: the few that the foundation is measured by.
std::vector<std::string> default_systems(bool quick);

// All Matrix Market files of a folder, sorted by name.
std::vector<std::string> files_of(const std::string& folder);

// A family or a file.
CsrMatrix<double> load_system(const std::string& name);

// A file's name without folder and extensions; a family's specification.
std::string short_name(const std::string& name);

}  // namespace resident::bench
