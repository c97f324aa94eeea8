"""Where sessions and their messages are kept.

May import `protocol`.
"""
