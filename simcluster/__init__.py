"""A simulated Kubernetes API server for the demo and the fast tests.

It speaks as `tests/contract` has seen real ones speak; what it leaves out is the
table `tests/contract/DIFFERENCES.md`.
"""
