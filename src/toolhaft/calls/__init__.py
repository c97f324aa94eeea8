"""Execution of calls: start, progress, questions, cancellation, one answer each.

May import `protocol` and `process`. Start with `driver`, then `call`.
"""
