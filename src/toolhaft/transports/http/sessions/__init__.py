"""What outlives one HTTP request: sessions, event streams that can be resumed, the 2024 transport.

Start with `sessions`.
"""
