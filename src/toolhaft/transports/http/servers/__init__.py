"""HTTP servers that run the application: uvicorn and granian, worker processes, TLS, shutdown.

Start with `uvicorn_server`; `uvicorn_protocol` holds the short path.
"""
