"""Numbers about what was served: totals of metrics, and their text formats.

May import `protocol`. The public module is `toolhaft.metrics`.
"""
