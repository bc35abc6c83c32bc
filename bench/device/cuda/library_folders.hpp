// Where CUDA libraries lie that the system's loader does not know: in the toolkit, and in NVIDIA's packages
// of the Python environments at hand. Reads folders only; shared_library.hpp loads.
#pragma once

#include <string>
#include <vector>

namespace convscope::cuda {

// What says where Python environments are. The three variables say nothing else to this program.
struct PythonHints {
  std::string virtual_env;          // VIRTUAL_ENV: the activated virtual environment
  std::string conda_prefix;         // CONDA_PREFIX: the activated conda environment
  std::string path;                 // PATH
  std::vector<std::string> beside;  // folders that may hold a virtual environment .venv or venv
};

// Of this process: the three variables, its working folder, and that of the program and the one above it.
PythonHints python_hints();

// Prefixes of Python environments, each once, in this order: the activated ones; for each folder of the PATH
// that holds a python3, the folder above it, and where python3 is a link, the one above what it stands for;
// .venv and venv beside; and the system's and conda's usual ones. Only folders that exist.
std::vector<std::string> python_prefixes(const PythonHints& hints);

// Folders in which NVIDIA's Python packages have their libraries: PREFIX/lib/python3.*/site-packages (lib64
// and dist-packages likewise), below that nvidia/cu13/lib, where those for CUDA 13 share one, and
// nvidia/<package>/lib. Newest Python first; only folders that exist, each once.
std::vector<std::string> wheel_folders(const std::vector<std::string>& prefixes, const std::string& package);

// What follows when a library was not found: which environments were looked through for `package`.
std::string searched_environments(const std::vector<std::string>& prefixes, const std::string& package);

}  // namespace convscope::cuda
