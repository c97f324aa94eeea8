"""Thirty tools such as popular servers have them, as plain functions that any library can take.

Nothing here knows which library serves it, and nothing is kept between two calls: what a tool
answers follows from its arguments and from the small world at the top of each section.
"""

import hashlib
import math
import sqlite3
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import Enum, IntEnum
from fnmatch import fnmatch
from itertools import pairwise
from typing import Annotated, Any, Literal
from uuid import UUID, uuid5

from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf

# --- code hosting ---------------------------------------------------------------------------------


@dataclass
class Issue:
    number: int
    url: str
    title: str
    state: Literal["open", "closed"]
    labels: list[str]
    assignees: list[str]
    milestone: int | None = None


def create_issue(
    owner: str,
    repo: str,
    title: Annotated[str, MinLen(1), MaxLen(256)],
    body: str = "",
    labels: list[str] | None = None,
    assignees: Annotated[list[str], MaxLen(10)] | None = None,
    milestone: int | None = None,
) -> Issue:
    """Create a new issue in a repository.

    Args:
        owner: Account that owns the repository.
        repo: Name of the repository.
        title: Title of the issue.
        body: Description in Markdown.
        labels: Labels to apply.
        assignees: Logins of the people to assign.
        milestone: Number of the milestone.
    """
    number = len(title) + len(body)
    url = f"https://git.example/{owner}/{repo}/issues/{number}"
    return Issue(number, url, title, "open", labels or [], assignees or [], milestone)


@dataclass
class PullRequest:
    number: int
    title: str
    state: Literal["open", "closed", "merged"]
    author: str
    base: str
    head: str
    draft: bool
    created_at: datetime
    merged_at: datetime | None = None


PULL_REQUESTS = [
    PullRequest(
        7,
        "Read the file once",
        "merged",
        "ada",
        "main",
        "one-read",
        False,
        datetime(2026, 3, 1, 9, 30, tzinfo=UTC),
        datetime(2026, 3, 2, 16, 0, tzinfo=UTC),
    ),
    PullRequest(
        9,
        "Name the port",
        "open",
        "grace",
        "main",
        "ports",
        True,
        datetime(2026, 3, 4, 8, 0, tzinfo=UTC),
    ),
]


def list_pull_requests(
    owner: str,
    repo: str,
    state: Literal["open", "closed", "all"] = "open",
    base: str | None = None,
    sort: Literal["created", "updated", "popularity"] = "created",
    direction: Literal["asc", "desc"] = "desc",
    page: Annotated[int, Ge(1)] = 1,
    per_page: Annotated[int, Ge(1), Le(100)] = 30,
) -> list[PullRequest]:
    """List the pull requests of a repository.

    Args:
        owner: Account that owns the repository.
        repo: Name of the repository.
        state: Which ones to return.
        base: Only those into this branch.
        sort: What to sort by.
        direction: Direction of the sort.
        page: Page of the results, from 1.
        per_page: Results on a page.
    """
    found = [
        each
        for each in PULL_REQUESTS
        if state in ("all", "open" if each.state == "open" else "closed")
        and base in (None, each.base)
    ]
    found.sort(key=lambda each: each.created_at, reverse=direction == "desc")
    return found[(page - 1) * per_page : page * per_page]


@dataclass
class Commit:
    sha: str
    author: str
    email: str
    date: datetime
    message: str
    parents: list[str] = field(default_factory=list)


COMMITS = [
    Commit("c3", "ada", "ada@example.org", datetime(2026, 5, 3, tzinfo=UTC), "Third", ["b2"]),
    Commit("b2", "grace", "grace@example.org", datetime(2026, 5, 2, tzinfo=UTC), "Second", ["a1"]),
    Commit("a1", "ada", "ada@example.org", datetime(2026, 5, 1, tzinfo=UTC), "First"),
]


def git_log(
    repo_path: str,
    max_count: Annotated[int, Ge(1), Le(1000)] = 10,
    since: datetime | None = None,
    until: datetime | None = None,
    author: str | None = None,
) -> list[Commit]:
    """Show the commits of a working copy, newest first.

    Args:
        repo_path: Path of the Git repository.
        max_count: How many commits to show at most.
        since: Only commits after this moment.
        until: Only commits before this moment.
        author: Only commits by this author.
    """
    return [
        each
        for each in COMMITS
        if (since is None or each.date > since)
        and (until is None or each.date < until)
        and author in (None, each.author)
    ][:max_count]


# --- files, the web, processes --------------------------------------------------------------------


@dataclass
class Edit:
    old_text: str
    new_text: str
    replace_all: bool = False


FILES = {"/notes/todo.txt": "buy milk\nbuy bread\n", "/notes/done.txt": "sleep\n"}


def edit_file(path: str, edits: Annotated[list[Edit], MinLen(1)], dry_run: bool = False) -> str:
    """Replace passages of a text file and show what has changed.

    Args:
        path: Path of the file to edit.
        edits: Replacements, made one after the other.
        dry_run: Show the changes without making them.
    """
    text = FILES[path]
    for edit in edits:
        text = text.replace(edit.old_text, edit.new_text, -1 if edit.replace_all else 1)
    return f"{path}{' (dry run)' if dry_run else ''}\n{text}"


def fetch(
    url: Annotated[str, MinLen(1)],
    max_length: Annotated[int, Gt(0), Lt(1_000_000)] = 5000,
    start_index: Annotated[int, Ge(0)] = 0,
    raw: bool = False,
) -> str:
    """Fetch a page from the internet and return it as Markdown.

    Args:
        url: Address to fetch.
        max_length: How many characters to return at most.
        start_index: Where to begin, if an earlier answer was cut off.
        raw: Return the HTML as it is.
    """
    page = f"<h1>{url}</h1>" if raw else f"# {url}"
    return page[start_index : start_index + max_length]


@dataclass
class CommandResult:
    exit_code: int
    stdout: str
    stderr: str
    duration_ms: int
    timed_out: bool = False


def run_command(
    command: Annotated[list[str], MinLen(1)],
    cwd: str | None = None,
    env: dict[str, str] | None = None,
    stdin: str | None = None,
    timeout_seconds: Annotated[float, Gt(0), Le(600)] = 30.0,
) -> CommandResult:
    """Run a program and wait for its end.

    Args:
        command: Program and its arguments.
        cwd: Directory to run it in.
        env: Variables to add to its environment.
        stdin: Text for its standard input.
        timeout_seconds: When to stop it.
    """
    program, *words = command
    if program != "echo":
        return CommandResult(127, "", f"{program}: not found", 0)
    known = env or {}
    said = " ".join(known.get(word.removeprefix("$"), word) for word in words)
    return CommandResult(0, said + "\n", "", len(words))


@dataclass
class Point:
    x: float
    y: float


def browser_click(
    selector: str,
    button: Literal["left", "middle", "right"] = "left",
    click_count: Annotated[int, Ge(1), Le(3)] = 1,
    modifiers: list[Literal["Alt", "Control", "Meta", "Shift"]] | None = None,
    position: Point | None = None,
    timeout_ms: Annotated[int, Ge(0)] = 30000,
) -> str:
    """Click an element of the open page.

    Args:
        selector: CSS selector of the element.
        button: Mouse button.
        click_count: 2 for a double click.
        modifiers: Keys to hold down.
        position: Where to click, from the element's upper left corner.
        timeout_ms: How long to wait for the element.
    """
    keys = "+".join([*(modifiers or []), button])
    where = f" at {position.x:g},{position.y:g}" if position else ""
    return f"clicked {selector}{where} with {keys} x{click_count}"


class SafeSearch(Enum):
    OFF = "off"
    MODERATE = "moderate"
    STRICT = "strict"


@dataclass
class SearchHit:
    title: str
    url: str
    snippet: str
    rank: int
    published: date | None = None


PAGES = [
    ("Tea", "https://example.org/tea", "How to make tea", date(2026, 1, 5)),
    ("Green tea", "https://example.org/green", "What green tea is", None),
    ("Coffee", "https://example.org/coffee", "How to make coffee", date(2025, 6, 1)),
]


def web_search(
    query: Annotated[str, MinLen(1), MaxLen(400)],
    count: Annotated[int, Ge(1), Le(20)] = 10,
    offset: Annotated[int, Ge(0), Le(9)] = 0,
    freshness: Literal["day", "week", "month", "year"] | None = None,
    country: Annotated[str, Len(2, 2)] = "US",
    safe_search: SafeSearch = SafeSearch.MODERATE,
    site: str | None = None,
) -> list[SearchHit]:
    """Search the web.

    Args:
        query: What to search for.
        count: Results to return.
        offset: Pages of results to skip.
        freshness: How old results may be.
        country: Code of the country whose results to prefer.
        safe_search: How much to filter.
        site: Only results of this site.
    """
    fitting = [page for page in PAGES if query.lower() in page[0].lower()]
    hits = [
        SearchHit(title, url, snippet, rank, published)
        for rank, (title, url, snippet, published) in enumerate(fitting, 1)
        if site is None or site in url
    ]
    return hits[offset * count :][:count]


# --- talking to people ----------------------------------------------------------------------------


@dataclass
class Message:
    channel: str
    ts: str
    text: str
    permalink: str
    thread_ts: str | None = None


def post_message(
    channel: str,
    text: Annotated[str, MinLen(1), MaxLen(40000)],
    thread_ts: str | None = None,
    mentions: list[str] | None = None,
    unfurl_links: bool = True,
    scheduled_for: datetime | None = None,
) -> Message:
    """Post a message to a channel or as a reply in a thread.

    Args:
        channel: Id or name of the channel.
        text: The message.
        thread_ts: Timestamp of the message to reply to.
        mentions: Ids of people to mention in front of the text.
        unfurl_links: Show previews of links.
        scheduled_for: Post it then and not at once.
    """
    said = " ".join([*(f"<@{who}>" for who in mentions or []), text])
    ts = f"{(scheduled_for or datetime(2026, 1, 1, tzinfo=UTC)).timestamp():.6f}"
    return Message(channel, ts, said, f"https://chat.example/{channel}/{ts}", thread_ts)


class Priority(Enum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


@dataclass
class Attachment:
    filename: str
    content: str
    content_type: str = "application/octet-stream"


@dataclass
class Delivery:
    message_id: UUID
    accepted: list[str]
    rejected: list[str]
    size: int
    priority: Priority
    send_at: datetime | None = None


MAIL = UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def send_email(
    to: Annotated[list[str], MinLen(1)],
    subject: str,
    body: str,
    cc: list[str] | None = None,
    bcc: list[str] | None = None,
    html: bool = False,
    attachments: list[Attachment] | None = None,
    priority: Priority = Priority.NORMAL,
    send_at: datetime | None = None,
) -> Delivery:
    """Send an e-mail.

    Args:
        to: Addresses of the recipients.
        subject: Subject line.
        body: Text of the mail.
        cc: Addresses that get a copy.
        bcc: Addresses that get a copy which nobody else sees.
        html: Whether the body is HTML.
        attachments: Files to attach.
        priority: How urgent it is.
        send_at: When to send it, if not at once.
    """
    everyone = [*to, *(cc or []), *(bcc or [])]
    size = len(body) + sum(len(each.content) for each in attachments or [])
    return Delivery(
        uuid5(MAIL, subject),
        [each for each in everyone if "@" in each],
        [each for each in everyone if "@" not in each],
        size,
        priority,
        send_at,
    )


@dataclass
class Attendee:
    email: str
    name: str | None = None
    optional: bool = False


@dataclass
class Recurrence:
    frequency: Literal["daily", "weekly", "monthly", "yearly"]
    interval: Annotated[int, Ge(1)] = 1
    count: int | None = None
    until: date | None = None


@dataclass
class Event:
    id: UUID
    title: str
    start: datetime
    end: datetime
    minutes: int
    attendees: list[Attendee]
    occurrences: list[date]
    location: str | None = None


def create_event(
    title: str,
    start: datetime,
    end: datetime,
    calendar_id: str = "primary",
    description: str = "",
    location: str | None = None,
    attendees: list[Attendee] | None = None,
    recurrence: Recurrence | None = None,
    reminders_minutes: list[Annotated[int, Ge(0)]] | None = None,
    visibility: Literal["default", "public", "private"] = "default",
) -> Event:
    """Create an event in a calendar.

    Args:
        title: Title of the event.
        start: When it begins.
        end: When it ends.
        calendar_id: Calendar to put it into.
        description: Notes for those who come.
        location: Where it takes place.
        attendees: People to invite.
        recurrence: How it repeats.
        reminders_minutes: Minutes before the start at which to remind.
        visibility: Who can see it.
    """
    days = {"daily": 1, "weekly": 7, "monthly": 30, "yearly": 365}
    repeat = recurrence or Recurrence("daily", count=1)
    step = timedelta(days=days[repeat.frequency] * repeat.interval)
    return Event(
        uuid5(MAIL, calendar_id + title),
        title,
        start,
        end,
        int((end - start).total_seconds() // 60),
        attendees or [],
        [(start + step * turn).date() for turn in range(repeat.count or 1)],
        location,
    )


@dataclass
class Translation:
    text: str
    source: str
    target: str
    characters: int
    replaced: dict[str, int]


def translate_text(
    text: Annotated[str, MinLen(1)],
    target: Annotated[str, Len(2, 5)],
    source: Annotated[str, Len(2, 5)] | None = None,
    formality: Literal["default", "more", "less"] = "default",
    glossary: dict[str, str] | None = None,
    preserve_formatting: bool = False,
) -> Translation:
    """Translate a text into another language.

    Args:
        text: Text to translate.
        target: Code of the language to translate to.
        source: Code of the language of the text; found out if not given.
        formality: How polite to be.
        glossary: Words with a fixed translation.
        preserve_formatting: Keep punctuation and line breaks.
    """
    words = glossary or {}
    counts = {word: text.count(word) for word in words}
    done = text
    for word, other in words.items():
        done = done.replace(word, other)
    return Translation(done, source or "en", target, len(text), counts)


# --- data -----------------------------------------------------------------------------------------


@dataclass
class QueryResult:
    columns: list[str]
    rows: list[list[str | int | float | None]]
    row_count: int
    truncated: bool


def query_database(
    sql: str,
    parameters: list[str | int | float | None] | None = None,
    limit: Annotated[int, Ge(1), Le(10000)] = 100,
) -> QueryResult:
    """Run a query that only reads, and return its rows.

    Args:
        sql: A SELECT statement.
        parameters: Values for the placeholders.
        limit: How many rows to return at most.
    """
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create table city (name text, people integer)")
        connection.executemany(
            "insert into city values (?, ?)", [("Delft", 104000), ("Gouda", 74000)]
        )
        cursor = connection.execute(sql, parameters or [])
        rows = [list(row) for row in cursor.fetchmany(limit + 1)]
        columns = [column[0] for column in cursor.description]
    finally:
        connection.close()
    return QueryResult(columns, rows[:limit], len(rows[:limit]), len(rows) > limit)


@dataclass
class Entity:
    name: str
    entity_type: str
    observations: list[str]


@dataclass
class Relation:
    source: str
    target: str
    relation_type: str


@dataclass
class Graph:
    entities: list[Entity]
    relations: list[Relation]


ENTITIES = [
    Entity("Ada", "person", ["writes programs"]),
    Entity("Engine", "machine", ["has gears"]),
    Entity("Grace", "person", ["found a moth"]),
]
RELATIONS = [Relation("Ada", "Engine", "programs"), Relation("Grace", "Ada", "admires")]


def create_entities(entities: Annotated[list[Entity], MinLen(1)]) -> list[Entity]:
    """Add entities to the knowledge graph; those that it knows are left as they are.

    Args:
        entities: Entities to add.
    """
    known = {each.name for each in ENTITIES}
    return [each for each in entities if each.name not in known]


def search_nodes(
    query: str,
    entity_types: list[str] | None = None,
    limit: Annotated[int, Ge(1)] = 50,
) -> Graph:
    """Search the knowledge graph for entities, and the relations between them.

    Args:
        query: Text to look for in names, types and observations.
        entity_types: Only entities of these types.
        limit: How many entities to return at most.
    """
    found = [
        each
        for each in ENTITIES
        if query in " ".join([each.name, each.entity_type, *each.observations])
        and (entity_types is None or each.entity_type in entity_types)
    ][:limit]
    names = {each.name for each in found}
    return Graph(found, [each for each in RELATIONS if {each.source, each.target} <= names])


@dataclass
class UpdatedRange:
    spreadsheet_id: str
    updated_range: str
    rows: int
    columns: int
    cells: int
    formulas: int


def update_cells(
    spreadsheet_id: str,
    range: str,
    values: Annotated[list[list[str | int | float | bool | None]], MinLen(1)],
    input_option: Literal["raw", "user_entered"] = "user_entered",
    major_dimension: Literal["rows", "columns"] = "rows",
) -> UpdatedRange:
    """Write values into a range of a spreadsheet.

    Args:
        spreadsheet_id: Id of the spreadsheet.
        range: Range in A1 notation.
        values: Values, row by row; null leaves a cell as it is.
        input_option: Whether to interpret what looks like a formula or a date.
        major_dimension: Whether the inner lists are rows or columns.
    """
    cells = [cell for line in values for cell in line if cell is not None]
    formulas = [cell for cell in cells if isinstance(cell, str) and cell.startswith("=")]
    size = len(values), max(map(len, values))
    rows, columns = size if major_dimension == "rows" else size[::-1]
    count = len(formulas) if input_option == "user_entered" else 0
    return UpdatedRange(spreadsheet_id, range, rows, columns, len(cells), count)


@dataclass
class Summary:
    count: int
    mean: float
    median: float
    minimum: float
    maximum: float
    stdev: float | None
    percentiles: dict[str, float]


def describe_numbers(
    values: Annotated[list[float], MinLen(1)],
    percentiles: list[Annotated[int, Ge(1), Le(99)]] | None = None,
    sample: bool = True,
    digits: Annotated[int, Ge(0), Le(15)] = 3,
) -> Summary:
    """Compute descriptive statistics of a list of numbers.

    Args:
        values: The numbers.
        percentiles: Which percentiles to compute as well.
        sample: Whether they are a sample and not the whole population.
        digits: Decimal places of the results.
    """
    spread = statistics.stdev if sample else statistics.pstdev
    ordered = sorted(values)
    return Summary(
        len(values),
        round(statistics.fmean(values), digits),
        statistics.median(values),
        ordered[0],
        ordered[-1],
        round(spread(values), digits) if len(values) > 1 else None,
        {f"p{p}": ordered[math.ceil(len(values) * p / 100) - 1] for p in percentiles or []},
    )


@dataclass
class Match:
    id: UUID
    score: float
    text: str
    metadata: dict[str, str | int | bool]


MATCHES: list[tuple[list[float], Match]] = [
    (
        [1.0, 0.0],
        Match(UUID(int=1), 0.0, "east", {"lang": "en", "page": 1, "draft": False}),
    ),
    (
        [0.0, 1.0],
        Match(UUID(int=2), 0.0, "north", {"lang": "en", "page": 2, "draft": True}),
    ),
]


def vector_search(
    collection: str,
    vector: Annotated[list[float], MinLen(1)],
    top_k: Annotated[int, Ge(1), Le(1000)] = 5,
    metric: Literal["cosine", "dot", "euclidean"] = "cosine",
    filter: dict[str, str | int | bool] | None = None,
    min_score: float | None = None,
) -> list[Match]:
    """Find the stored texts that are nearest to a vector.

    Args:
        collection: Collection to search in.
        vector: The vector to compare with.
        top_k: How many matches to return at most.
        metric: How to measure nearness.
        filter: Values that the metadata must have.
        min_score: Leave out matches below this score.
    """
    wanted = filter or {}
    found = []
    for other, match in MATCHES:
        dot = sum(a * b for a, b in zip(vector, other, strict=True))
        scores = {
            "cosine": dot / (math.hypot(*vector) * math.hypot(*other)),
            "dot": dot,
            "euclidean": -math.dist(vector, other),
        }
        score = round(scores[metric], 4)
        if min_score is not None and score < min_score:
            continue
        if all(match.metadata.get(key) == value for key, value in wanted.items()):
            found.append(Match(match.id, score, match.text, match.metadata))
    return sorted(found, key=lambda match: -match.score)[:top_k]


# --- places and times -----------------------------------------------------------------------------


@dataclass
class ConvertedTime:
    source: datetime
    target: datetime
    difference_hours: float
    next_day: bool


HOURS = {"UTC": 0.0, "Europe/Amsterdam": 1.0, "Asia/Kolkata": 5.5, "America/New_York": -5.0}


def convert_time(
    time: datetime,
    source_timezone: str,
    target_timezone: str,
) -> ConvertedTime:
    """Convert a time between time zones.

    Args:
        time: Local time in the source time zone.
        source_timezone: IANA name of the zone to convert from.
        target_timezone: IANA name of the zone to convert to.
    """
    difference = HOURS[target_timezone] - HOURS[source_timezone]
    target = time + timedelta(hours=difference)
    return ConvertedTime(time, target, difference, target.date() > time.date())


@dataclass
class Coordinates:
    latitude: Annotated[float, Ge(-90), Le(90)]
    longitude: Annotated[float, Ge(-180), Le(180)]


class TravelMode(Enum):
    DRIVING = "driving"
    WALKING = "walking"
    BICYCLING = "bicycling"
    TRANSIT = "transit"


@dataclass
class Leg:
    start: Coordinates
    end: Coordinates
    distance_m: int
    duration_s: int


@dataclass
class Route:
    mode: TravelMode
    distance_m: int
    duration_s: int
    legs: list[Leg]
    arrival: datetime | None = None


SPEED = {"driving": 20.0, "walking": 1.4, "bicycling": 5.0, "transit": 10.0}


def get_directions(
    origin: Coordinates,
    destination: Coordinates,
    waypoints: list[Coordinates] | None = None,
    mode: TravelMode = TravelMode.DRIVING,
    avoid: list[Literal["tolls", "highways", "ferries"]] | None = None,
    departure: datetime | None = None,
) -> Route:
    """Find a route between two places.

    Args:
        origin: Where to start.
        destination: Where to go.
        waypoints: Places to pass, in this order.
        mode: How to travel.
        avoid: What to avoid on the way.
        departure: When to leave.
    """
    stops = [origin, *(waypoints or []), destination]
    legs = []
    for start, end in pairwise(stops):
        north = (end.latitude - start.latitude) * 111_000
        east = (end.longitude - start.longitude) * 111_000
        metres = math.hypot(north, east)
        legs.append(Leg(start, end, round(metres), round(metres / SPEED[mode.value])))
    seconds = sum(leg.duration_s for leg in legs)
    arrival = departure + timedelta(seconds=seconds) if departure else None
    return Route(mode, sum(leg.distance_m for leg in legs), seconds, legs, arrival)


@dataclass
class DayForecast:
    day: date
    high: float
    low: float
    precipitation_mm: float
    summary: Literal["sun", "clouds", "rain"]


def get_forecast(
    latitude: Annotated[float, Ge(-90), Le(90)],
    longitude: Annotated[float, Ge(-180), Le(180)],
    start: date,
    days: Annotated[int, Ge(1), Le(16)] = 7,
    units: Literal["metric", "imperial"] = "metric",
) -> list[DayForecast]:
    """Get the weather forecast for a place.

    Args:
        latitude: Latitude in degrees.
        longitude: Longitude in degrees.
        start: First day of the forecast.
        days: Number of days.
        units: Units of the temperatures.
    """
    skies: list[Literal["sun", "clouds", "rain"]] = ["sun", "clouds", "rain"]
    forecast = []
    for turn in range(days):
        high = round(30 - abs(latitude) / 3 + turn, 1)
        if units == "imperial":
            high = round(high * 9 / 5 + 32, 1)
        sky = skies[(int(longitude) + turn) % 3]
        wet = 4.5 if sky == "rain" else 0.0
        forecast.append(DayForecast(start + timedelta(turn), high, round(high - 8, 1), wet, sky))
    return forecast


# --- operations -----------------------------------------------------------------------------------


class Phase(Enum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass
class ContainerStatus:
    name: str
    image: str
    ready: bool
    restarts: int


@dataclass
class Pod:
    name: str
    namespace: str
    phase: Phase
    node: str | None
    labels: dict[str, str]
    containers: list[ContainerStatus]


PODS = [
    Pod(
        "web-1",
        "default",
        Phase.RUNNING,
        "node-a",
        {"app": "web", "tier": "front"},
        [ContainerStatus("web", "web:2", True, 0), ContainerStatus("proxy", "proxy:1", True, 3)],
    ),
    Pod("job-1", "default", Phase.PENDING, None, {"app": "job"}, []),
]


def list_pods(
    namespace: str = "default",
    labels: dict[str, str] | None = None,
    phase: Phase | None = None,
    name_pattern: str | None = None,
    limit: Annotated[int, Ge(1), Le(500)] = 100,
) -> list[Pod]:
    """List the pods of a Kubernetes namespace.

    Args:
        namespace: Namespace to look in.
        labels: Labels that a pod must have.
        phase: Only pods in this phase.
        name_pattern: Only pods whose name fits, with * and ?.
        limit: How many pods to return at most.
    """
    return [
        pod
        for pod in PODS
        if pod.namespace == namespace
        and (labels or {}).items() <= pod.labels.items()
        and phase in (None, pod.phase)
        and fnmatch(pod.name, name_pattern or "*")
    ][:limit]


@dataclass
class PortMapping:
    container_port: Annotated[int, Ge(1), Le(65535)]
    host_port: Annotated[int, Ge(1), Le(65535)] | None = None
    protocol: Literal["tcp", "udp"] = "tcp"


@dataclass
class Container:
    id: str
    name: str
    image: str
    command: list[str]
    status: Literal["created", "running", "exited"]
    ports: list[PortMapping]


def run_container(
    image: str,
    name: str | None = None,
    command: list[str] | None = None,
    environment: dict[str, str] | None = None,
    ports: list[PortMapping] | None = None,
    volumes: dict[str, str] | None = None,
    restart: Literal["no", "always", "on-failure", "unless-stopped"] = "no",
    memory_mb: Annotated[int, Ge(6)] | None = None,
    detach: bool = True,
) -> Container:
    """Start a container from an image.

    Args:
        image: Image and tag.
        name: Name of the container; one is made up if not given.
        command: Command to run in place of the image's own.
        environment: Environment variables.
        ports: Ports to publish.
        volumes: Host paths to mount, by path in the container.
        restart: When to restart it.
        memory_mb: Limit of its memory.
        detach: Leave it running and return at once.
    """
    id = hashlib.sha256(repr((image, command, environment, volumes)).encode()).hexdigest()[:12]
    published = [
        PortMapping(each.container_port, each.host_port or 30000 + index, each.protocol)
        for index, each in enumerate(ports or [])
    ]
    return Container(
        id,
        name or image.partition(":")[0] + "-1",
        image,
        command or [],
        "running" if detach else "exited",
        published,
    )


class StorageClass(Enum):
    STANDARD = "STANDARD"
    INFREQUENT = "STANDARD_IA"
    GLACIER = "GLACIER"


@dataclass
class StoredObject:
    bucket: str
    key: str
    etag: str
    size: int
    content_type: str
    storage_class: StorageClass
    metadata: dict[str, str]


def put_object(
    bucket: Annotated[str, Len(3, 63)],
    key: Annotated[str, MinLen(1), MaxLen(1024)],
    body: str,
    content_type: str = "text/plain",
    metadata: dict[str, str] | None = None,
    storage_class: StorageClass = StorageClass.STANDARD,
    overwrite: bool = False,
) -> StoredObject:
    """Upload an object to a bucket.

    Args:
        bucket: Name of the bucket.
        key: Key of the object.
        body: Content of the object.
        content_type: Media type of the content.
        metadata: Metadata of your own to store with it.
        storage_class: Storage class.
        overwrite: Replace an object that is there.
    """
    content = body.encode()
    etag = hashlib.sha256(content).hexdigest()[:16]
    return StoredObject(
        bucket, key, etag, len(content), content_type, storage_class, metadata or {}
    )


class Level(Enum):
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"


@dataclass
class Frame:
    file: str
    line: int
    function: str


@dataclass
class ErrorGroup:
    id: UUID
    title: str
    level: Level
    events: int
    users: int
    first_seen: datetime
    last_seen: datetime
    frames: list[Frame]


ERRORS = [
    ErrorGroup(
        UUID(int=7),
        "KeyError: 'port'",
        Level.ERROR,
        12,
        3,
        datetime(2026, 2, 1, 10, 0, tzinfo=UTC),
        datetime(2026, 2, 3, 11, 30, tzinfo=UTC),
        [Frame("app/config.py", 41, "port_of"), Frame("app/main.py", 9, "main")],
    ),
    ErrorGroup(
        UUID(int=8),
        "slow query",
        Level.WARNING,
        90,
        41,
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 2, tzinfo=UTC),
        [],
    ),
]


def search_errors(
    organization: str,
    project: str | None = None,
    query: str = "",
    level: Level | None = None,
    since: datetime | None = None,
    environments: list[str] | None = None,
    sort: Literal["last_seen", "first_seen", "events", "users"] = "last_seen",
    limit: Annotated[int, Ge(1), Le(100)] = 25,
) -> list[ErrorGroup]:
    """Search the errors that an application has reported.

    Args:
        organization: Slug of the organization.
        project: Slug of the project; all projects if not given.
        query: Text to look for in the title.
        level: Only errors of this level.
        since: Only errors seen since then.
        environments: Only errors of these environments.
        sort: What to sort by, largest first.
        limit: How many to return at most.
    """
    found = [
        each
        for each in ERRORS
        if query in each.title
        and level in (None, each.level)
        and (since is None or each.last_seen >= since)
    ]
    return sorted(found, key=lambda each: getattr(each, sort), reverse=True)[:limit]


# --- work and money -------------------------------------------------------------------------------


class Urgency(IntEnum):
    NONE = 0
    URGENT = 1
    HIGH = 2
    MEDIUM = 3
    LOW = 4


@dataclass
class Ticket:
    key: str
    url: str
    summary: str
    kind: Literal["bug", "story", "task", "epic"]
    priority: Urgency
    estimate: float | None
    due: date | None
    fields: dict[str, str]


def create_ticket(
    project: Annotated[str, Len(2, 10)],
    summary: Annotated[str, MinLen(1), MaxLen(255)],
    kind: Literal["bug", "story", "task", "epic"] = "task",
    description: str = "",
    priority: Urgency = Urgency.NONE,
    estimate: Annotated[float, Ge(0)] | None = None,
    due: date | None = None,
    parent: str | int | None = None,
    fields: dict[str, str] | None = None,
) -> Ticket:
    """Create a ticket in a project.

    Args:
        project: Key of the project.
        summary: Title of the ticket.
        kind: Type of the ticket.
        description: Description in Markdown.
        priority: From 1 for urgent to 4 for low; 0 for none.
        estimate: Estimate in points.
        due: Day by which it has to be done.
        parent: Key or number of the ticket that this one is part of.
        fields: Values of custom fields, by name.
    """
    key = f"{project}-{len(summary) + len(description)}"
    extra = {**(fields or {}), **({"parent": str(parent)} if parent is not None else {})}
    url = f"https://tickets.example/{key}"
    return Ticket(key, url, summary, kind, priority, estimate, due, extra)


@dataclass
class Block:
    kind: Literal["paragraph", "heading", "bullet", "to_do", "code"]
    text: str
    checked: bool | None = None
    children: list["Block"] = field(default_factory=list)


def append_blocks(
    page_id: UUID,
    blocks: Annotated[list[Block], MinLen(1), MaxLen(100)],
    after: UUID | None = None,
) -> int:
    """Append blocks of content to a page, and return how many were added.

    Args:
        page_id: Id of the page.
        blocks: Blocks to add; a block may contain others.
        after: Id of the block after which to add them.
    """
    return sum(1 + (append_blocks(page_id, b.children) if b.children else 0) for b in blocks)


@dataclass
class LineItem:
    description: str
    unit_amount: Annotated[int, Ge(0)]
    quantity: Annotated[int, Ge(1)] = 1


@dataclass
class Invoice:
    id: UUID
    customer: str
    currency: str
    items: list[LineItem]
    subtotal: int
    tax: int
    total: int
    due: date | None
    status: Literal["draft", "open", "paid", "void"]


def create_invoice(
    customer: str,
    items: Annotated[list[LineItem], MinLen(1)],
    currency: Literal["eur", "usd", "gbp"] = "eur",
    tax_percent: Annotated[float, Ge(0), Le(100)] = 0.0,
    due: date | None = None,
    memo: Annotated[str, MaxLen(500)] | None = None,
    metadata: dict[str, str] | None = None,
    finalize: bool = False,
) -> Invoice:
    """Create an invoice for a customer.

    Args:
        customer: Id of the customer.
        items: What to charge for; amounts are in cents.
        currency: Currency of all amounts.
        tax_percent: Tax to add.
        due: Day by which to pay.
        memo: Note to print on the invoice.
        metadata: Metadata of your own to store with it.
        finalize: Send it, and not only draft it.
    """
    subtotal = sum(item.unit_amount * item.quantity for item in items)
    tax = round(subtotal * tax_percent / 100)
    return Invoice(
        uuid5(MAIL, customer),
        customer,
        currency,
        items,
        subtotal,
        tax,
        subtotal + tax,
        due,
        "open" if finalize else "draft",
    )


# --- pictures and lamps ---------------------------------------------------------------------------


@dataclass
class GeneratedImage:
    url: str
    width: int
    height: int
    seed: int


def generate_image(
    prompt: Annotated[str, MinLen(1), MaxLen(4000)],
    negative_prompt: str | None = None,
    width: Annotated[int, Ge(64), Le(2048), MultipleOf(64)] = 1024,
    height: Annotated[int, Ge(64), Le(2048), MultipleOf(64)] = 1024,
    count: Annotated[int, Ge(1), Le(4)] = 1,
    style: Literal["photo", "drawing", "painting", "3d"] | None = None,
    guidance: Annotated[float, Ge(1), Le(20)] = 7.5,
    seed: int | None = None,
) -> list[GeneratedImage]:
    """Generate images from a description.

    Args:
        prompt: What the image should show.
        negative_prompt: What it should not show.
        width: Width in pixels.
        height: Height in pixels.
        count: How many images to make.
        style: Style of the images.
        guidance: How closely to follow the prompt.
        seed: Number that makes the result repeatable.
    """
    first = seed if seed is not None else len(prompt)
    return [
        GeneratedImage(f"https://images.example/{style or 'any'}/{each}.png", width, height, each)
        for each in range(first, first + count)
    ]


@dataclass
class Color:
    red: Annotated[int, Ge(0), Le(255)]
    green: Annotated[int, Ge(0), Le(255)]
    blue: Annotated[int, Ge(0), Le(255)]


@dataclass
class LightState:
    state: Literal["on", "off"]
    brightness: int
    color: Color | None


NAMED = {"red": Color(255, 0, 0), "warm": Color(255, 180, 107)}


def set_lights(
    entity_ids: Annotated[list[str], MinLen(1)],
    state: Literal["on", "off"] = "on",
    brightness: Annotated[int, Ge(0), Le(255)] | None = None,
    color: Color | str | None = None,
    transition_seconds: Annotated[float, Ge(0), Le(300)] = 0.0,
) -> dict[str, LightState]:
    """Switch lights on or off and set how they shine.

    Args:
        entity_ids: Ids of the lights.
        state: Whether they should be on.
        brightness: Brightness, 255 for full.
        color: Colour, as a name or as red, green and blue.
        transition_seconds: How long the change takes.
    """
    shade = NAMED[color] if isinstance(color, str) else color
    level = 0 if state == "off" else 255 if brightness is None else brightness
    return {each: LightState(state, level, shade) for each in entity_ids}


TOOLS: list[Callable[..., Any]] = [
    create_issue,
    list_pull_requests,
    git_log,
    edit_file,
    fetch,
    run_command,
    browser_click,
    web_search,
    post_message,
    send_email,
    create_event,
    translate_text,
    query_database,
    create_entities,
    search_nodes,
    update_cells,
    describe_numbers,
    vector_search,
    convert_time,
    get_directions,
    get_forecast,
    list_pods,
    run_container,
    put_object,
    search_errors,
    create_ticket,
    append_blocks,
    create_invoice,
    generate_image,
    set_lights,
]
