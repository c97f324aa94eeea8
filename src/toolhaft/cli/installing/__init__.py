"""How a server gets into the configuration of a client, and out again.

`clients` is the table of what we know of each client, `places` finds its files. A file is changed
as text (`jsonc`, `toml_tables`, `yaml_blocks`): what is not ours stays as it is, byte for byte.
`receipts` remembers what only we can know, such as that a file was not there before; with that,
taking an entry out gives the very bytes back. `seeing` only looks. `steps` puts these together:
everything is worked out and checked first, then it is done.
"""
