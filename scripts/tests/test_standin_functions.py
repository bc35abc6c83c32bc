"""The stand-ins of cuDNN, cuBLAS and cuFFT themselves, by their functions: what they refuse."""

import ctypes
from pathlib import Path

import pytest
from standin_support import standin_fixture  # noqa: F401  (a fixture)

# The stand-in of cuDNN itself, by its functions.
SUCCESS, BAD_PARAM = 0, 2000
INT64, DATA_TYPE, CONVOLUTION_MODE, POINTWISE_MODE, FLOAT, DESCRIPTOR = 3, 1, 7, 14, 4, 15
TENSOR, CONVOLUTION, FORWARD, GRAPH, ENGINE, PLAN = 17, 1, 10, 15, 2, 5
POINTWISE, POINTWISE_OPERATION = 0, 13


def category(status):
    """Return the thousands of a status, which say what kind of error it is."""
    return status // 1000 * 1000


class Backend:
    """The functions of the graph API of one library."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))

    def make(self, kind):
        """Return a new descriptor."""
        descriptor = ctypes.c_void_p()
        assert self.library.cudnnBackendCreateDescriptor(kind, ctypes.byref(descriptor)) == SUCCESS
        return descriptor

    def set(self, descriptor, name, kind, *values, count=None):
        """Set an attribute; return the status."""
        types = {
            INT64: ctypes.c_int64,
            FLOAT: ctypes.c_float,
            DESCRIPTOR: ctypes.c_void_p,
            6: ctypes.c_void_p,
        }
        plain = [value.value if isinstance(value, ctypes.c_void_p) else value for value in values]
        array = (types.get(kind, ctypes.c_int) * len(plain))(*plain)
        number = ctypes.c_int64(len(plain) if count is None else count)
        return self.library.cudnnBackendSetAttribute(descriptor, name, kind, number, array)

    def finalize(self, descriptor):
        """Finalise; return the status."""
        return self.library.cudnnBackendFinalize(descriptor)

    def tensor(self, uid, sizes, change=None, leave_out=None):
        """Set and finalise a tensor; return it and the first bad status. An attribute may be left out."""
        n, c, h, w = sizes
        attributes = {
            906: (INT64, uid),
            901: (DATA_TYPE, 0),
            902: (INT64, *sizes),
            903: (INT64, c * h * w, h * w, w, 1),
            900: (INT64, 16),
        } | (change or {})
        return self._filled(TENSOR, attributes, leave_out)

    def convolution(self, change=None, leave_out=None):
        """Set and finalise a 3x3 convolution's description."""
        attributes = {
            106: (INT64, 2),
            100: (DATA_TYPE, 0),
            101: (CONVOLUTION_MODE, 1),
            102: (INT64, 1, 1),
            103: (INT64, 1, 1),
            105: (INT64, 1, 1),
            104: (INT64, 1, 1),
        } | (change or {})
        return self._filled(CONVOLUTION, attributes, leave_out)

    def operation(self, change=None, leave_out=None, output=(2, 8, 7, 6)):
        """Set and finalise a forward convolution."""
        attributes = {
            702: (DESCRIPTOR, self.convolution()[0]),
            704: (DESCRIPTOR, self.tensor(120, (2, 4, 7, 6))[0]),
            703: (DESCRIPTOR, self.tensor(119, (8, 4, 3, 3))[0]),
            705: (DESCRIPTOR, self.tensor(121, output)[0]),
            700: (FLOAT, 1),
            701: (FLOAT, 0),
        } | (change or {})
        return self._filled(FORWARD, attributes, leave_out)

    def relu(self, change=None, leave_out=None):
        """Set and finalise a ReLU's description."""
        return self._filled(
            POINTWISE, {0: (POINTWISE_MODE, 100), 1: (DATA_TYPE, 0)} | (change or {}), leave_out
        )

    def pointwise(self, change=None, leave_out=None):
        """Set and finalise a ReLU from one tensor to another."""
        attributes = {
            750: (DESCRIPTOR, self.relu()[0]),
            751: (DESCRIPTOR, self.tensor(121, (2, 8, 7, 6))[0]),
            753: (DESCRIPTOR, self.tensor(122, (2, 8, 7, 6))[0]),
        } | (change or {})
        return self._filled(POINTWISE_OPERATION, attributes, leave_out)

    def _filled(self, kind, attributes, leave_out):
        descriptor = self.make(kind)
        for name, (type_, *values) in attributes.items():
            if name == leave_out:
                continue
            if status := self.set(descriptor, name, type_, *values):
                return descriptor, status
        return descriptor, self.finalize(descriptor)


# What is wrong with a descriptor: what makes it, and how.
WRONG = {
    "tensor without sizes": lambda b: b.tensor(1, (1, 2, 3, 4), leave_out=902),
    "tensor without strides": lambda b: b.tensor(1, (1, 2, 3, 4), leave_out=903),
    "tensor without alignment": lambda b: b.tensor(1, (1, 2, 3, 4), leave_out=900),
    "alignment below an element": lambda b: b.tensor(1, (1, 2, 3, 4), {900: (INT64, 3)}),
    "unique id of a wrong type": lambda b: b.tensor(1, (1, 2, 3, 4), {906: (23, 1)}),
    "two unique ids": lambda b: b.tensor(1, (1, 2, 3, 4), {906: (INT64, 1, 2)}),
    "three strides": lambda b: b.tensor(1, (1, 2, 3, 4), {903: (INT64, 12, 4, 1)}),
    "a negative size": lambda b: b.tensor(1, (1, 2, 3, 4), {902: (INT64, 1, -2, 3, 4)}),
    "another's attribute": lambda b: b.tensor(1, (1, 2, 3, 4), {100: (DATA_TYPE, 0)}),
    "convolution without dimensions": lambda b: b.convolution(leave_out=106),
    "convolution without dilations": lambda b: b.convolution(leave_out=102),
    "a stride of 0": lambda b: b.convolution({103: (INT64, 0, 1)}),
    "a padding below 0": lambda b: b.convolution({105: (INT64, -1, 1)}),
    "three dilations": lambda b: b.convolution({102: (INT64, 1, 1, 1)}),
    "sums' type as a number": lambda b: b.convolution({100: (INT64, 0)}),
    "operation without input": lambda b: b.operation(leave_out=704),
    "operation without convolution": lambda b: b.operation(leave_out=702),
    "an output of another size": lambda b: b.operation(output=(2, 8, 8, 6)),
    "alpha as a whole number": lambda b: b.operation({700: (INT64, 1)}),
    "no descriptor": lambda b: b.operation({704: (DESCRIPTOR, None)}),
    "backward's attribute in forward": lambda b: b.operation({706: (FLOAT, 1)}),
    "a mode as a number": lambda b: b.relu({0: (INT64, 100)}),
    "ReLU of nothing": lambda b: b.pointwise(leave_out=751),
    "ReLU to nowhere": lambda b: b.pointwise(leave_out=753),
    "pointwise operation without its kind": lambda b: b.pointwise(leave_out=750),
    "set after it was finalised": lambda b: (None, b.set(b.tensor(1, (1, 2, 3, 4))[0], 906, INT64, 2)),
    "finalised twice": lambda b: (None, b.finalize(b.tensor(1, (1, 2, 3, 4))[0])),
    "a graph without operations": lambda b: (None, b.finalize(b.make(GRAPH))),
    "an engine without a graph": lambda b: (None, b.finalize(b.make(ENGINE))),
    "a plan without a configuration": lambda b: (None, b.finalize(b.make(PLAN))),
}


@pytest.mark.parametrize("what", WRONG)
def test_the_stand_in_of_cudnn_refuses(standin, what):
    backend = Backend(standin.library("libcudnn.so.9"))
    assert backend.operation()[1] == SUCCESS
    assert category(WRONG[what](backend)[1]) == BAD_PARAM


def test_the_stand_in_refuses_what_cudnn_refuses(standin):
    """The list above is no invention: the library itself, where it is installed, takes none of it, either."""
    path = Path("/usr/local/cuda/lib64/libcudnn.so.9")
    if not path.is_file():
        pytest.skip("no cuDNN 9 on this machine to compare with")
    backend = Backend(path)
    assert backend.operation()[1] == SUCCESS
    assert [what for what, make in WRONG.items() if make(backend)[1] == SUCCESS] == []


def test_descriptors_of_the_legacy_api_check_what_is_set(standin):
    library = ctypes.CDLL(str(standin.library("libcudnn.so.9")))
    tensor, convolution = ctypes.c_void_p(), ctypes.c_void_p()
    library.cudnnCreateTensorDescriptor(ctypes.byref(tensor))
    assert library.cudnnSetTensor4dDescriptor(tensor, 1, 2, 2, 4, 7, 6) == SUCCESS
    assert category(library.cudnnSetTensor4dDescriptor(tensor, 0, 0, 2, 0, 7, 6)) == BAD_PARAM

    library.cudnnCreateConvolutionDescriptor(ctypes.byref(convolution))
    assert category(library.cudnnSetConvolution2dDescriptor(convolution, 1, 1, 0, 1, 1, 1, 1, 0)) == BAD_PARAM
    assert library.cudnnSetConvolution2dDescriptor(convolution, 1, 2, 3, 4, 5, 6, 1, 0) == SUCCESS
    assert library.cudnnSetConvolutionGroupCount(convolution, 7) == SUCCESS
    assert library.cudnnSetConvolutionMathType(convolution, 3) == SUCCESS


def test_the_stand_in_of_cublas_checks_leading_dimensions(standin):
    library = ctypes.CDLL(str(standin.library("libcublas.so.13")))
    handle = ctypes.c_void_p()
    assert library.cublasCreate_v2(ctypes.byref(handle)) == SUCCESS
    a, b, c = ((ctypes.c_float * 6)(*values) for values in ([1, 2, 3, 4, 5, 6], [1, 0, 1, 0, 1, 1], [0] * 6))
    one, zero = ctypes.c_float(1), ctypes.c_float(0)

    def multiply(a_stride, transpose_a=0):
        """Multiply two matrices of 2 x 3 and 3 x 2, both stored by columns."""
        batch = ctypes.c_longlong(0)
        return library.cublasSgemmStridedBatched(
            handle, transpose_a, 0, 2, 2, 3, ctypes.byref(one), a, a_stride, batch, b, 3, batch,
            ctypes.byref(zero), c, 2, batch, 1
        )  # fmt: skip

    assert multiply(1) == 7  # CUBLAS_STATUS_INVALID_VALUE
    assert multiply(2, transpose_a=1) == 7
    assert multiply(2) == SUCCESS
    assert list(c)[:4] == [6, 8, 8, 10]
    assert multiply(3, transpose_a=1) == SUCCESS
    assert list(c)[:4] == [4, 10, 5, 11]


def test_the_stand_in_of_cufft_wants_its_work_area(standin):
    library = ctypes.CDLL(str(standin.library("libcufft.so.12")))
    plan, needed = ctypes.c_int(), ctypes.c_size_t()
    assert library.cufftCreate(ctypes.byref(plan)) == SUCCESS
    assert library.cufftSetAutoAllocation(plan, 0) == SUCCESS
    sizes = (ctypes.c_longlong * 2)(2, 4)
    wide = ctypes.c_longlong
    made = library.cufftMakePlanMany64(
        plan, 2, sizes, None, wide(1), wide(0), None, wide(1), wide(0), 0x2A, wide(1), ctypes.byref(needed)
    )
    assert (made, needed.value) == (SUCCESS, 8 * 2 * 3)
    images, spectra = (ctypes.c_float * 8)(1, 2, 3, 4, 5, 6, 7, 8), (ctypes.c_float * 12)()
    assert library.cufftExecR2C(plan, images, spectra) == 0xD  # CUFFT_NO_WORKSPACE
    work = (ctypes.c_char * needed.value)()
    assert library.cufftSetWorkArea(plan, work) == SUCCESS
    assert library.cufftExecR2C(plan, images, spectra) == SUCCESS
    assert [round(value, 5) for value in spectra] == [36, 0, -4, 4, -4, 0, -16, 0, 0, 0, 0, 0]
    assert library.cufftExecC2R(plan, spectra, images) == 1  # CUFFT_INVALID_PLAN: this one goes the other way
