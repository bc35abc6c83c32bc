#include "bench/cli/run/npy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bench/core/error_of_test.hpp"

namespace convscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Npy : public ::testing::Test {
 protected:
  ~Npy() override { std::filesystem::remove(path_); }

  // A file with this version, dict and data, as another program might have written it.
  void write(const std::string& dict, const std::string& data, char version = 1) const {
    std::string text = "\x93NUMPY";
    text += {version, '\0', static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
    if (version == 2) text += {'\0', '\0'};
    std::ofstream(path_, std::ios::binary) << text << dict << data;
  }
  template <typename T>
  static std::string bytes(const std::vector<T>& values) {
    std::string text(values.size() * sizeof(T), '\0');
    std::memcpy(text.data(), values.data(), text.size());
    return text;
  }
  std::string error() const {
    return testing::error_of([&] { read_npy(path_); });
  }

  std::string path_ = (std::filesystem::temp_directory_path() /
                       ("convscope_" + std::to_string(getpid()) + "_" +
                        ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".npy"))
                          .string();
};

TEST_F(Npy, ReadsBackWhatItWrote) {
  const NpyArray array{{2, 1, 3}, {1, -2, 3.5f, 4, 5e-20f, 6}};
  write_npy(path_, array);
  const NpyArray again = read_npy(path_);
  EXPECT_EQ(again.shape, array.shape);
  EXPECT_EQ(again.values, array.values);
}

TEST_F(Npy, WritesTheHeaderThatNumPyWrites) {
  write_npy(path_, {{2}, {1, 2}});
  std::ifstream file(path_, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  ASSERT_EQ(text.str().size(), 128u + 8u);
  EXPECT_EQ(text.str().substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(text.str(), HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } "));
  EXPECT_EQ(text.str()[127], '\n');
}

TEST_F(Npy, ReadsVersionTwoAndDoubles) {
  write("{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f8\"}", bytes<double>({0.1, 2, -3, 4}), 2);
  const NpyArray array = read_npy(path_);
  EXPECT_THAT(array.shape, ElementsAre(2, 2));
  EXPECT_THAT(array.values, ElementsAre(0.1f, 2, -3, 4));
}

TEST_F(Npy, ReadsScalarsAndEmptyArrays) {
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", bytes<float>({7}));
  EXPECT_THAT(read_npy(path_).values, ElementsAre(7));
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4), }", "");
  EXPECT_THAT(read_npy(path_).shape, ElementsAre(0, 4));
}

TEST_F(Npy, RefusesWhatItCannotReadAndSaysWhy) {
  const std::string four = bytes<float>({1, 2, 3, 4});
  EXPECT_THAT(error(), AllOf(HasSubstr(path_), HasSubstr("No such file")));
  std::ofstream(path_) << "PK\x03\x04 a zip archive";
  EXPECT_THAT(error(), HasSubstr("not a .npy file"));
  std::ofstream(path_) << "";
  EXPECT_THAT(error(), HasSubstr("not a .npy file"));
  write("{}", "", 3);
  EXPECT_THAT(error(), HasSubstr("version is 3.0; 1.0 and 2.0"));
  write("{'descr': '>f4', 'fortran_order': False, 'shape': (4,)}", four);
  EXPECT_THAT(error(), HasSubstr("'>f4' (big-endian)"));
  write("{'descr': '<i4', 'fortran_order': False, 'shape': (4,)}", four);
  EXPECT_THAT(error(), AllOf(HasSubstr("'<i4'"), HasSubstr("'<f4'")));
  write("{'descr': '\x1b[31m\n', 'fortran_order': False, 'shape': (4,)}", four);
  EXPECT_THAT(error(), HasSubstr("'?[31m?'")) << "nothing that a terminal would obey";
  write("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}", four);
  EXPECT_THAT(error(), HasSubstr("not a plain one"));
  write("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", four);
  EXPECT_THAT(error(), AllOf(HasSubstr("Fortran order"), HasSubstr("ascontiguousarray")));
  write("{'descr': '<f4', 'shape': (2, 2)}", four);
  EXPECT_THAT(error(), HasSubstr("'fortran_order': False"));
  write("{'descr': '<f4', 'fortran_order': False}", four);
  EXPECT_THAT(error(), HasSubstr("no 'shape'"));
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}", four);
  EXPECT_THAT(error(), HasSubstr("whole number"));
}

TEST_F(Npy, RefusesDataThatDoesNotFitItsShape) {
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}";
  write(dict, bytes<float>({1, 2, 3}));
  EXPECT_THAT(error(), AllOf(HasSubstr("(2, 2)"), HasSubstr("12 bytes"), HasSubstr("cut short")));
  write(dict, bytes<float>({1, 2, 3, 4, 5}));
  EXPECT_THAT(error(), HasSubstr("20 bytes"));
  write("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "");
  EXPECT_THAT(error(), HasSubstr("0 bytes"));
}

TEST_F(Npy, CutShortAtAnyByteIsRefused) {
  write_npy(path_, {{3}, {1, 2, 3}});
  for (size_t size = std::filesystem::file_size(path_); size-- > 0;) {
    std::filesystem::resize_file(path_, size);
    EXPECT_NE(error(), "") << size << " bytes";
  }
}

}  // namespace
}  // namespace convscope
