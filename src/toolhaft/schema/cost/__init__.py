"""Upper bounds on the work that a value causes, computed before the work is done.

May import `schema`. Start with `argument_load`.
"""
