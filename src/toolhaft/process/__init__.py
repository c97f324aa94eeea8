"""The operating system process and its event loop: tasks, threads, descriptors, signals, logs.

May import `encoding` and `protocol`, not `calls`. Start with `eager_tasks` and
`thread_pool`.
"""
