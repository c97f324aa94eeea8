"""Questions to a client: what may be asked, how each revision spells it, and the sealed state.

The state is what a client without a session carries from round to round.

May import `protocol`. Start with `questions`, then `rounds`.
"""
