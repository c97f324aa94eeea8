"""Programs with a server attached, and bridges to them."""

from tests.attaching.fixtures import bridge, bridged, dial, places, program, reach, way

__all__ = ["bridge", "bridged", "dial", "places", "program", "reach", "way"]
