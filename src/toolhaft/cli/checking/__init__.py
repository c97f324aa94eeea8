"""What a reviewer would say of a server: rules over what it lists, and over how it starts."""

# Begins the lines that the process which loads a target writes for us.
MARK = "toolhaft-check-probe: "
