"""Questions inside a function: `ctx.elicit`, forms, rounds handled by hand, steps that run once.

May import `schema`, `protocol` and the other packages of `features`. Start with `questions`.
"""
