"""Programs with a server attached, and bridges to them."""

from tests.attaching.fixtures import bridge, bridged, dial, places, program, reach, way
from tests.attaching.hosted import server

__all__ = ["bridge", "bridged", "dial", "places", "program", "reach", "server", "way"]
