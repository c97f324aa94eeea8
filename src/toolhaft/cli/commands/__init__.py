"""One module per sub-command, each with `execute(options)`.

May import `cli.shared` and everything below.
"""
