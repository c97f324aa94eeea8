"""Functions of an author: signature, parameters, dependencies, invocation.

May import `schema`, `protocol` and the other packages of `features`. Start with `signature`, then
`invocation`.
"""
