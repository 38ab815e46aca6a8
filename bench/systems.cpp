#include "systems.hpp"

#include <resident/error.hpp>
#include <resident/families.hpp>
#include <resident/matrix_market.hpp>

#include <algorithm>
#include <filesystem>

namespace resident::bench {

std::vector<std::string> default_systems(bool quick) {
  if (quick) {
    return {"trefethen:2000",        "poisson2d:100:100", "poisson2d:1000:1000",
            "poisson3d:128:128:128", "box27:64:64:64",    "elasticity3d:40:40:40",
            "graph:200000:16:1"};
  }
  return {"poisson2d:32:32",       "poisson2d:100:100",
          "poisson2d:200:200",     "poisson2d:400:400",
          "poisson2d:600:600",     "poisson2d:1000:1000",
          "poisson2d:1400:1400",   "poisson2d:2000:2000",
          "poisson3d:16:16:16",    "poisson3d:32:32:32",
          "poisson3d:64:64:64",    "poisson3d:100:100:100",
          "poisson3d:128:128:128", "poisson3d:200:200:200",
          "poisson3d:256:256:256", "box9:98:98",
          "box27:20:20:20",        "box27:40:40:40",
          "box27:64:64:64",        "box27:88:88:88",
          "box27:100:100:100",     "elasticity3d:10:10:10",
          "elasticity3d:20:20:20", "elasticity3d:40:40:40",
          "elasticity3d:60:60:60", "mass3d:64:64:64",
          "jump3d:64:64:64:1000",  "anisotropic2d:400:400:0.01",
          "trefethen:2000",        "trefethen:20000",
          "graph:20000:16:1",      "graph:200000:16:1",
          "arrow:100000"};
}

std::vector<std::string> files_of(const std::string& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw Error(ErrorCategory::input, folder + ": not a folder");
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".mtx") || name.ends_with(".mtx.gz")) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

CsrMatrix<double> load_system(const std::string& name) {
  return is_family(name) ? generate<double>(name) : read_matrix_market<double>(name);
}

std::string short_name(const std::string& name) {
  if (is_family(name)) return name;
  std::string file = std::filesystem::path(name).filename().string();
  for (const char* extension : {".gz", ".mtx"}) {
    if (file.ends_with(extension)) file.resize(file.size() - std::string(extension).size());
  }
  return file;
}

}  // namespace resident::bench
