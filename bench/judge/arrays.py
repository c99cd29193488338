"""Names for numpy's arrays."""

from typing import Any

import numpy
import numpy.typing

Floats = numpy.typing.NDArray[numpy.float64]
Counts = numpy.typing.NDArray[numpy.int64]
Flags = numpy.typing.NDArray[numpy.bool_]
Numbers = numpy.ndarray[Any, Any]    # either
