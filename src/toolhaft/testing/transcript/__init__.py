"""Transcripts: text files of what a client sends and what a server must answer.

Start with `file_format`.
"""
