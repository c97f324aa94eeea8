/* Load for a server on HTTP: calls it, checks every answer, measures.
 *
 * usage: http_load < PLAN
 *
 * The plan is lines of fields that are separated by tabs. In the request, @ID@ is replaced by the
 * request's id.
 *
 *     server       PORT  PID             where it listens, and the process whose CPU time counts
 *     connections  COUNT                 kept alive, each with one request unanswered at a time
 *     cores        one | all             server and load share a core, or have all of them
 *     bounds       MAX_CALLS  SECONDS  DEADLINE
 *     header       NAME: VALUE           of every request
 *     session      ID                    as Mcp-Session-Id; several take turns
 *     answer       json | sse            how the server must answer
 *     expected     BYTES                 what each result must contain
 *     or           BYTES                 the same, as JSON of nothing but ASCII has it
 *     request      BODY
 *
 * The request is sent again and again until MAX_CALLS or SECONDS are reached, after a fifth of that
 * as a warm-up. Each must be answered on its connection with status 200, its id and the expected
 * result: as JSON, or as the last of several events. After DEADLINE seconds the run has failed. The
 * outcome is one line of JSON.
 *
 * Written in C so that the load costs little beside the server it measures.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"

enum { READ_SIZE = 1 << 16, MAX_EVENTS = 256 };

static const char NAME[] = "answer"; /* what complaints about a message begin with */

struct connection {
    int fd;
    long id;            /* of the request that waits for its answer, or 0 */
    struct bytes input; /* what was read of that answer */
};

/* What the head of an answer says. */
struct head {
    size_t size; /* 0 if it has not ended yet */
    int status;
    bool chunked;
    long length; /* -1 if not given */
    bool closes;
    bool is_json;
    bool is_stream;
};

static struct {
    int port;
    pid_t server;
    long connections;
    bool on_one_core;
    long max_calls;
    double seconds;
    double deadline;
    struct bytes headers;
    char **sessions;
    long session_count;
    bool wants_stream;
    struct bytes expected;
    struct bytes in_ascii; /* the other spelling, if there is one */
    char *body;
} plan = {.connections = 1, .deadline = 60};

static struct template *requests; /* one for each session, or just one */
static long request_count;
static struct template answer; /* the body of the first one that passed all checks */
static struct bytes body;      /* what the chunks of an answer add up to */

static struct connection *connections;
static int poller;
static double started;
static clockid_t server_clock;
static long next_id = FIRST_ID;

static struct {
    long calls;
    double wall;
    double cpu;
    double size;
} measured;

/* ---- the outcome ---- */

static void print_outcome(const char *failure) {
    double per_answer = measured.calls > 0 ? measured.size / (double)measured.calls : 0;
    printf("{\"calls\":%ld,\"wall_seconds\":%.9f,\"cpu_seconds\":%.9f,"
           "\"bytes_per_answer\":%.0f,\"failure\":",
           measured.calls, measured.wall, measured.cpu, per_answer);
    if (failure)
        print_string(failure);
    else
        printf("null");
    printf("}\n");
    fflush(stdout);
}

static void fail(const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    print_outcome(message);
    exit(1);
}

/* ---- the plan ---- */

static void add_session(const char *id) {
    plan.sessions = realloc(plan.sessions, sizeof(char *) * (size_t)(plan.session_count + 1));
    if (!plan.sessions)
        fail("out of memory");
    plan.sessions[plan.session_count++] = strdup(id);
}

static void add_header(const char *line) {
    append(&plan.headers, line, strlen(line));
    append(&plan.headers, "\r\n", 2);
}

static void read_line(char *rest) {
    char *word = field(&rest);
    if (strcmp(word, "server") == 0) {
        plan.port = atoi(field(&rest));
        plan.server = atoi(field(&rest));
    } else if (strcmp(word, "connections") == 0)
        plan.connections = atol(field(&rest));
    else if (strcmp(word, "cores") == 0)
        plan.on_one_core = strcmp(field(&rest), "one") == 0;
    else if (strcmp(word, "bounds") == 0) {
        plan.max_calls = atol(field(&rest));
        plan.seconds = atof(field(&rest));
        plan.deadline = atof(field(&rest));
    } else if (strcmp(word, "header") == 0)
        add_header(field(&rest));
    else if (strcmp(word, "session") == 0)
        add_session(field(&rest));
    else if (strcmp(word, "answer") == 0)
        plan.wants_stream = strcmp(field(&rest), "sse") == 0;
    else if (strcmp(word, "expected") == 0)
        plan.expected = copy_of(rest, strlen(rest));
    else if (strcmp(word, "or") == 0)
        plan.in_ascii = copy_of(rest, strlen(rest));
    else if (strcmp(word, "request") == 0)
        plan.body = strdup(field(&rest));
    else
        fail("the plan has an unknown word: %.40s", word);
}

static void read_plan(void) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) > 0) {
        if (line[size - 1] == '\n')
            line[size - 1] = 0;
        read_line(line);
    }
    free(line);
    if (!plan.body || plan.max_calls < 1 || plan.connections < 1 || plan.port == 0)
        fail("the plan lacks a server, a request, or calls to make");
}

/* ---- requests ---- */

static struct template request_of(const char *session) {
    char line[512];
    struct template content = template_of(plan.body), request = {0};
    snprintf(line, sizeof line, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n", plan.port);
    append(&request.text, line, strlen(line));
    append(&request.text, plan.headers.data, plan.headers.size);
    if (session) {
        snprintf(line, sizeof line, "Mcp-Session-Id: %s\r\n", session);
        append(&request.text, line, strlen(line));
    }
    snprintf(line, sizeof line, "Content-Length: %zu\r\n\r\n", content.text.size);
    append(&request.text, line, strlen(line));
    request.id_at = request.text.size + content.id_at;
    append(&request.text, content.text.data, content.text.size);
    free(content.text.data);
    return request;
}

static void build_requests(void) {
    request_count = plan.session_count > 0 ? plan.session_count : 1;
    requests = calloc((size_t)request_count, sizeof *requests);
    if (!requests)
        fail("out of memory");
    for (long i = 0; i < request_count; i++)
        requests[i] = request_of(plan.session_count > 0 ? plan.sessions[i] : NULL);
}

static void send_request(struct connection *connection) {
    char id[24];
    if (next_id > LAST_ID)
        fail("no ids left");
    struct template *request = &requests[next_id % request_count];
    snprintf(id, sizeof id, "%ld", next_id);
    memcpy(request->text.data + request->id_at, id, ID_DIGITS);
    /* One request is far less than an empty socket takes. */
    ssize_t size = write(connection->fd, request->text.data, request->text.size);
    if (size != (ssize_t)request->text.size)
        fail("the server takes no request: %s", size < 0 ? strerror(errno) : "cut short");
    connection->id = next_id++;
}

/* ---- connections ---- */

static void connect_one(struct connection *connection) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)plan.port)};
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0)
        fail("no socket: %s", strerror(errno));
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address) != 0)
        fail("no connection: %s", strerror(errno));
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(connection->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event interest = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &interest) != 0)
        fail("a connection cannot be watched: %s", strerror(errno));
}

static void connect_all(void) {
    poller = epoll_create1(EPOLL_CLOEXEC);
    connections = calloc((size_t)plan.connections, sizeof *connections);
    if (poller < 0 || !connections)
        fail("no room for %ld connections", plan.connections);
    for (long i = 0; i < plan.connections; i++)
        connect_one(&connections[i]);
}

static void read_some(struct connection *connection) {
    reserve(&connection->input, READ_SIZE);
    struct bytes *input = &connection->input;
    ssize_t size = read(connection->fd, input->data + input->size, READ_SIZE);
    if (size == 0)
        fail("the server closed a connection");
    if (size < 0 && errno != EAGAIN && errno != EINTR)
        fail("a connection cannot be read: %s", strerror(errno));
    if (size > 0)
        input->size += (size_t)size;
}

/* ---- answers: from bytes to a body ---- */

/* The value of a line of the head if it is the named one, else NULL. */
static const char *value_of(const char *line, const char *name) {
    size_t size = strlen(name);
    if (strncasecmp(line, name, size) != 0 || line[size] != ':')
        return NULL;
    line += size + 1;
    return line + strspn(line, " ");
}

static bool begins_with(const char *text, const char *start) {
    return text && strncasecmp(text, start, strlen(start)) == 0;
}

static void read_header(struct head *head, const char *line) {
    const char *value;
    if ((value = value_of(line, "content-length")))
        head->length = atol(value);
    else if ((value = value_of(line, "transfer-encoding")))
        head->chunked = begins_with(value, "chunked");
    else if ((value = value_of(line, "connection")))
        head->closes = begins_with(value, "close");
    else if ((value = value_of(line, "content-type"))) {
        head->is_json = begins_with(value, "application/json");
        head->is_stream = begins_with(value, "text/event-stream");
    }
}

static struct head head_of(struct bytes input) {
    struct head head = {.length = -1};
    char *end = memmem(input.data, input.size, "\r\n\r\n", 4);
    if (!end)
        return head;
    if (!begins_with(input.data, "HTTP/1.1 "))
        fail("not an answer of HTTP/1.1: %.20s", input.data);
    head.size = (size_t)(end - input.data) + 4;
    head.status = atoi(input.data + 9);
    char *line = memmem(input.data, head.size, "\r\n", 2);
    for (; line < end; line = memmem(line + 2, (size_t)(end + 2 - line), "\r\n", 2))
        read_header(&head, line + 2);
    return head;
}

/* Put the chunks from `at` on together in `body`. Returns where the answer ends, 0 if it has not. */
static size_t join_chunks(struct bytes input, size_t at) {
    body.size = 0;
    for (;;) {
        char *line = input.data + at, *end = memmem(line, input.size - at, "\r\n", 2);
        if (!end)
            return 0;
        size_t size = strtoul(line, NULL, 16), start = (size_t)(end - input.data) + 2;
        if (start + size + 2 > input.size)
            return 0;
        if (memcmp(input.data + start + size, "\r\n", 2) != 0)
            fail("a chunk of an answer does not end where it says");
        append(&body, input.data + start, size);
        at = start + size + 2;
        if (size == 0)
            return at;
    }
}

/* Find the body of an answer. Returns where the answer ends, 0 if it has not. */
static size_t find_body(struct head head, struct bytes input, struct bytes *found) {
    if (head.chunked) {
        size_t end = join_chunks(input, head.size);
        *found = body;
        return end;
    }
    if (head.length < 0)
        fail("an answer has neither a length nor chunks");
    *found = (struct bytes){.data = input.data + head.size, .size = (size_t)head.length};
    size_t end = head.size + (size_t)head.length;
    return end <= input.size ? end : 0;
}

/* ---- answers: checks ---- */

/* The data of the event's line at `at` if it is a line of data, and the start of the next line. */
static struct bytes data_of_line(struct bytes text, size_t at, size_t *next) {
    char *line = text.data + at, *end = memchr(line, '\n', text.size - at);
    size_t size = end ? (size_t)(end - line) : text.size - at;
    *next = at + size + 1;
    if (size > 0 && line[size - 1] == '\r')
        size--;
    if (size < 5 || memcmp(line, "data:", 5) != 0)
        return (struct bytes){0};
    size_t start = size > 5 && line[5] == ' ' ? 6 : 5;
    return (struct bytes){.data = line + start, .size = size - start};
}

/* The bytes that a result must contain, in the spelling that this one has. */
static struct bytes spelling_in(struct bytes text) {
    bool is_ascii = plan.in_ascii.size > 0 && contains(text, plan.in_ascii.data, plan.in_ascii.size);
    return is_ascii ? plan.in_ascii : plan.expected;
}

/* Check that notifications and then the result came. Returns where the result's id is. */
static size_t check_events(struct bytes text) {
    long notifications = 0;
    size_t id_at = 0;
    for (size_t at = 0; at < text.size;) {
        struct bytes message = data_of_line(text, at, &at);
        if (message.size == 0)
            continue; /* a comment, another field, or the empty event that opens a stream */
        if (id_at > 0)
            fail("an event after the result: %.*s", (int)message.size, message.data);
        struct members members = members_of(message);
        if (members.method && !members.id)
            notifications++;
        else
            id_at = (size_t)(message.data - text.data) +
                    check_result(NAME, message, spelling_in(message));
    }
    if (id_at == 0 || notifications == 0)
        fail("the events lack a %s", id_at == 0 ? "result" : "notification");
    return id_at;
}

static void check_answer(struct bytes text) {
    answer.id_at = plan.wants_stream ? check_events(text)
                                     : check_result(NAME, text, spelling_in(text));
    answer.text.size = 0;
    append(&answer.text, text.data, text.size);
}

static void check_head(struct head head, struct bytes input) {
    struct bytes rest = {.data = input.data + head.size, .size = input.size - head.size};
    int shown = rest.size > 200 ? 200 : (int)rest.size;
    if (head.status != 200)
        fail("status %d: %.*s", head.status, shown, rest.data);
    if (!(plan.wants_stream ? head.is_stream : head.is_json))
        fail("not answered as %s: %.*s", plan.wants_stream ? "SSE" : "JSON", shown, rest.data);
    if (head.closes)
        fail("the server does not keep connections alive");
}

/* Handle what a connection has brought. True: its request is answered. */
static bool take_answer(struct connection *connection) {
    struct bytes *input = &connection->input, text;
    struct head head = head_of(*input);
    if (head.size == 0)
        return false;
    check_head(head, *input);
    size_t end = find_body(head, *input, &text);
    if (end == 0)
        return false;
    if (connection->id == 0 || end != input->size)
        fail("more than one answer to a request");
    if (!same_but_for_id(&answer, text))
        check_answer(text);
    char *after;
    if (strtol(text.data + answer.id_at, &after, 10) != connection->id ||
        (*after != ',' && *after != '}'))
        fail("an answer with the id of another request");
    measured.size += (double)end;
    connection->id = 0;
    input->size = 0;
    return true;
}

/* ---- the run ---- */

/* Who answers somebody that waits wakes it up, on another core, and pays for that: for each answer
 * as much as for a quarter of a short call. No server wakes clients on other machines, so that is a
 * figure of this one. With several calls in flight there is enough to do meanwhile: look for answers
 * by the clock, and wait for none. */
static int look_for_answers(struct epoll_event *events) {
    static const struct timespec A_MOMENT = {.tv_nsec = 150 * 1000};
    int ready = 0;
    while (ready == 0 && now() - started < plan.deadline) {
        nanosleep(&A_MOMENT, NULL);
        ready = epoll_wait(poller, events, MAX_EVENTS, 0);
    }
    return ready;
}

static int sleep_until_answers(struct epoll_event *events) {
    double left = plan.deadline - (now() - started);
    return left > 0 ? epoll_wait(poller, events, MAX_EVENTS, (int)(left * 1000) + 1) : 0;
}

static int wait_for_answers(struct epoll_event *events) {
    int ready = plan.connections > 1 ? look_for_answers(events) : sleep_until_answers(events);
    if (ready < 0 && errno != EINTR)
        fail("waiting failed: %s", strerror(errno));
    if (ready == 0)
        fail("no answer in time, the run's %g seconds are over", plan.deadline);
    return ready;
}

/* Send calls and take their answers until one of the bounds is reached and all are answered. */
static void call_repeatedly(long max_calls, double seconds) {
    struct epoll_event events[MAX_EVENTS];
    long sent = 0, done = 0;
    measured.size = 0;
    double cpu = seconds_of(server_clock), start = now();
    for (; sent < max_calls && sent < plan.connections; sent++)
        send_request(&connections[sent]);
    while (done < sent) {
        int ready = wait_for_answers(events);
        bool more = now() - start < seconds;
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            read_some(connection);
            if (!take_answer(connection))
                continue;
            done++;
            if (more && sent < max_calls) {
                send_request(connection);
                sent++;
            }
        }
    }
    measured.wall = now() - start;
    measured.cpu = seconds_of(server_clock) - cpu;
    measured.calls = done;
}

int main(void) {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    signal(SIGPIPE, SIG_IGN);
    started = now();
    read_plan();
    if (clock_getcpuclockid(plan.server, &server_clock) != 0)
        fail("the server's CPU time cannot be read");
    build_requests();
    connect_all();
    place(plan.server, plan.on_one_core, &allowed);
    long warm_calls = (long)((double)plan.max_calls * WARM_UP);
    if (warm_calls > 0)
        call_repeatedly(warm_calls, plan.seconds * WARM_UP);
    call_repeatedly(plan.max_calls, plan.seconds);
    print_outcome(NULL);
    return 0;
}
