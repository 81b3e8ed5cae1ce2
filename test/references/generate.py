"""Writes all cases below runtime/conform/testdata/ops/numpy. It takes no arguments."""

import elements
import layers

elements.generate()
layers.generate()
