"""What travels: one neutral model of the protocol's data for all revisions."""
