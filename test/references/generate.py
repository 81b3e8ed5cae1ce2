"""Writes all cases below runtime/conform/testdata/ops/numpy. It takes no arguments."""

import elements
import indexing
import layers

elements.generate()
layers.generate()
indexing.generate()
