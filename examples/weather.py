"""A weather service over HTTP: made-up weather, the same for the same question each time.

`python examples/weather.py` serves at http://127.0.0.1:8080/mcp, or at the port in HTTP_PORT.
"""

import os
import zlib
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from toolhaft import Server, ToolError

server = Server("weather", version="1.0.0", instructions="Weather of today and of days to come.")

Sky = Literal["sunny", "cloudy", "rain", "snow"]
Days = Annotated[int, Meta(ge=1, le=14, description="how many days, from today on")]


@dataclass
class Weather:
    location: str
    temperature: float  # in degrees Celsius
    humidity: int  # in percent
    pressure: int  # in hectopascal
    sky: Sky


@dataclass
class Day:
    day: int  # 0 is today
    high: float
    low: float
    rain: int  # how likely, in percent
    sky: Sky


@dataclass
class Forecast:
    location: str
    days: list[Day]


@server.tool(read_only=True)
def get_current_weather(city: str) -> Weather:
    """How the weather is in a city now."""
    today = _day(_known(city), 0)
    return Weather(
        location=city,
        temperature=(today.high + today.low) / 2,
        humidity=40 + today.rain // 2,
        pressure=1030 - today.rain // 4,
        sky=today.sky,
    )


@server.tool(read_only=True)
def get_weather_forecast(location: str, days: Days) -> Forecast:
    """How the weather will be."""
    seed = _known(location)
    return Forecast(location, [_day(seed, day) for day in range(days)])


def _known(place: str) -> int:
    """A number that stands for a place, whoever asks and however it is written."""
    name = place.strip().casefold()
    if not name:
        raise ToolError("say where: the name of a city, such as Delft")
    return zlib.crc32(name.encode())


def _day(seed: int, day: int) -> Day:
    roll = zlib.crc32(b"%d/%d" % (seed, day))
    low = float(seed % 25 - 5 + roll % 5)
    rain = roll // 5 % 101
    sky: Sky = "sunny" if rain < 30 else "cloudy" if rain < 60 else "rain" if low > 0 else "snow"
    return Day(day=day, high=low + 4 + roll // 505 % 8, low=low, rain=rain, sky=sky)


if __name__ == "__main__":
    server.run(http=os.environ.get("HTTP_PORT", "8080"))
