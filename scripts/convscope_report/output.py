"""Standard output whose faults are the user's to mend: full, closed, or a pipe that nobody reads any more."""

import contextlib
import io
import os
from pathlib import Path

from convscope_report import ReportError

LOST = "standard output took no more: disk full or closed; what it would have said is lost"


class Output:
    """Stands for a stream, None where it was closed before the program began; else it is as the stream."""

    def __init__(self, stream):
        self.stream = stream
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks, as Latin-1 does letters of names
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name):
        """Return what the stream has besides."""
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write; raises ReportError where the stream takes no more, BrokenPipeError where nobody reads it."""
        if self.stream is None:
            raise ReportError(LOST)
        with self.faults():
            return self.stream.write(text)

    def flush(self) -> None:
        """Write what the stream holds back; raises as write() does."""
        if self.stream is not None:
            with self.faults():
                self.stream.flush()

    @contextlib.contextmanager
    def faults(self):
        """Turn what writing raises into what the user is told."""
        try:
            yield
        except OSError as fault:
            self.forget()
            if isinstance(fault, BrokenPipeError):
                raise
            raise ReportError(LOST) from fault

    def forget(self) -> None:
        """Send what the stream holds back nowhere; Python tries to write it as it ends, and complains."""
        with contextlib.suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), self.stream.fileno())
