"""Densities on R^m."""
