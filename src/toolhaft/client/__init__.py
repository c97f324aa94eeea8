"""What speaks to servers: one conversation, over whichever transport. For the edges."""
