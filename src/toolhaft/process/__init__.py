"""The operating system process and its event loop: tasks, threads, descriptors, signals, logs.

May import `encoding` and `protocol`; knows nothing of calls. Start with `eager_tasks` and
`thread_pool`.
"""
