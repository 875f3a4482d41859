"""Densities on manifolds by generalized dequantization."""

__version__ = "0.1.0.dev0"
