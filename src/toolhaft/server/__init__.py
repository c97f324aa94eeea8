"""`Server` and what it is made of: registration, catalogue, dispatch, composition.

May import everything below: `features`, `calls`, `transports`. Start with `server`.
"""
