"""`Server` and its parts: registration, catalogue, dispatch, composition.

May import everything below: `features`, `calls`, `transports`. Start with `server`.
"""
