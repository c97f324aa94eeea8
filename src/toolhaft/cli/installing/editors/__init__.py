"""Editors that change JSON, TOML and YAML as text, so that comments and layout survive.

Start with `text_edits`, which defines an edit.
"""
