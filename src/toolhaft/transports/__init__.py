"""How bytes reach a server: stdio, HTTP, and a socket into a running process.

May import `calls`, `process`, `stores` and `protocol`. The packages `stdio`, `http` and `attach` do
not import each other; `pipes` and `startup` serve both stdio and attach.
"""
