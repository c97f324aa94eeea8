/* Load for a server on stdio: starts it, calls it, checks every answer, measures.
 *
 * usage: load COMMAND [ARGUMENT...] < PLAN
 *
 * The plan is lines of fields that are separated by tabs. In a request, @ID@ is replaced by the
 * request's id.
 *
 *     deadline  SECONDS                  all in all; after that the run has failed
 *     hello     REQUEST                  sent once; its answer ends the start
 *     notify    NOTIFICATION             sent once, after that answer
 *     first     EXPECTED  REQUEST        sent once, after that; its answer shows that all is loaded
 *     phase     NAME  IN_FLIGHT  CORES  MAX_CALLS  SECONDS  EXPECTED  REQUEST
 *
 * A phase sends its request again and again, with IN_FLIGHT of them unanswered at a time, until
 * MAX_CALLS or SECONDS are reached, after a fifth of that as a warm-up. Each request must get one
 * answer, with a result that contains the bytes EXPECTED. CORES is "one" (server and load share a
 * core) or "all". The outcome is one line of JSON.
 *
 * Written in C so that the load costs little beside the server it measures.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

enum { MAX_PHASES = 32, READ_SIZE = 1 << 18 };

static const double DEFAULT_DEADLINE = 60;

struct phase {
    char *name;
    long in_flight;
    bool on_one_core;
    long max_calls;
    double seconds;
    struct bytes expected;
    struct template request;
    struct template answer; /* the first one that passed all checks */
    long calls;             /* from here on: what was measured */
    double wall;
    double cpu;
    double bytes_per_answer;
};

struct plan {
    double deadline;
    struct phase hello;
    bool greets;
    struct bytes notification;
    struct phase first;
    struct phase phases[MAX_PHASES];
    int phase_count;
};

static struct plan plan = {.deadline = DEFAULT_DEADLINE};

static struct {
    pid_t pid;
    int input;
    int output;
    clockid_t cpu_clock;
    pid_t beside; /* a process that does the work of the server, or 0 */
    clockid_t beside_clock;
    double started;
    double start_seconds;
    double ready_seconds;
    double start_cpu;
    double ready_cpu;
    long rss_when_ready;
} server = {.pid = -1, .input = -1, .output = -1};

static struct bytes outgoing; /* requests that are not written yet, from outgoing_done on */
static size_t outgoing_done;
static struct bytes incoming; /* what was read and not yet handled, from incoming_done on */
static size_t incoming_done;
static size_t incoming_scanned; /* no line ends before this */

static long next_id = FIRST_ID;
static bool answered[LAST_ID - FIRST_ID + 1];

/* ---- the outcome ---- */

/* A figure of /proc/PID/status in KiB, or -1. */
static long status_of_server(const char *key) {
    char path[64], line[256];
    long value = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)server.pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
            value = strtol(line + strlen(key) + 1, NULL, 10);
    fclose(file);
    return value;
}

static void print_outcome(const char *failure) {
    if (server.ready_seconds > 0)
        printf("{\"start_seconds\":%.6f,\"ready_seconds\":%.6f", server.start_seconds,
               server.ready_seconds);
    else
        printf("{\"start_seconds\":null,\"ready_seconds\":null");
    printf(",\"start_cpu_seconds\":%.6f,\"ready_cpu_seconds\":%.6f", server.start_cpu,
           server.ready_cpu);
    printf(",\"rss_when_ready_kib\":%ld,\"rss_peak_kib\":%ld,\"phases\":{",
           server.rss_when_ready, status_of_server("VmHWM"));
    const char *comma = "";
    for (int i = 0; i < plan.phase_count; i++) {
        struct phase *phase = &plan.phases[i];
        if (phase->calls == 0)
            continue;
        printf("%s", comma);
        print_string(phase->name);
        printf(":{\"calls\":%ld,\"wall_seconds\":%.9f,\"cpu_seconds\":%.9f,"
               "\"bytes_per_answer\":%.0f}",
               phase->calls, phase->wall, phase->cpu, phase->bytes_per_answer);
        comma = ",";
    }
    printf("},\"failure\":");
    if (failure)
        print_string(failure);
    else
        printf("null");
    printf("}\n");
    fflush(stdout);
}

static void stop_server(void) {
    if (server.pid > 0) {
        kill(server.pid, SIGKILL);
        waitpid(server.pid, NULL, 0);
    }
}

static void fail(const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    print_outcome(message);
    stop_server();
    exit(1);
}

/* ---- the plan ---- */

static struct template line_of(const char *request) {
    struct template line = template_of(request);
    append(&line.text, "\n", 1);
    return line;
}

static void read_phase(char *rest) {
    if (plan.phase_count == MAX_PHASES)
        fail("the plan has too many phases");
    struct phase *phase = &plan.phases[plan.phase_count++];
    phase->name = strdup(field(&rest));
    phase->in_flight = atol(field(&rest));
    phase->on_one_core = strcmp(field(&rest), "one") == 0;
    phase->max_calls = atol(field(&rest));
    phase->seconds = atof(field(&rest));
    char *expected = field(&rest);
    phase->expected = copy_of(expected, strlen(expected));
    phase->request = line_of(field(&rest));
    if (phase->in_flight < 1 || phase->max_calls < 1)
        fail("phase %s: needs at least one call", phase->name);
}

static struct phase once(char *name, const char *expected, char *request) {
    return (struct phase){
        .name = name,
        .in_flight = 1,
        .expected = copy_of(expected, strlen(expected)),
        .request = line_of(request),
    };
}

static void read_plan(void) {
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) > 0) {
        if (line[size - 1] == '\n')
            line[size - 1] = 0;
        char *rest = line, *word = field(&rest);
        if (strcmp(word, "deadline") == 0)
            plan.deadline = atof(field(&rest));
        else if (strcmp(word, "hello") == 0) {
            plan.hello = once("hello", "{", field(&rest));
            plan.greets = true;
        } else if (strcmp(word, "first") == 0) {
            char *expected = field(&rest);
            plan.first = once("first", expected, field(&rest));
        }
        else if (strcmp(word, "notify") == 0) {
            append(&plan.notification, rest, strlen(rest));
            append(&plan.notification, "\n", 1);
        } else if (strcmp(word, "phase") == 0)
            read_phase(rest);
        else
            fail("the plan has an unknown word: %.40s", word);
    }
    free(line);
}

/* ---- the server's process ---- */

static void become_server(char **command, int input, int output) {
    /* Should the load be killed, the server must not stay behind. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    signal(SIGPIPE, SIG_DFL);
    execvp(command[0], command);
    perror(command[0]);
    _exit(127);
}

static void start_server(char **command) {
    int to_server[2], from_server[2];
    if (pipe2(to_server, O_CLOEXEC) != 0 || pipe2(from_server, O_CLOEXEC) != 0)
        fail("no pipe: %s", strerror(errno));
    server.started = now();
    server.pid = fork();
    if (server.pid == 0)
        become_server(command, to_server[0], from_server[1]);
    if (server.pid < 0)
        fail("no process: %s", strerror(errno));
    close(to_server[0]);
    close(from_server[1]);
    server.input = to_server[1];
    server.output = from_server[0];
    /* Our ends only: a flag set here does not reach the server's ends. */
    fcntl(server.input, F_SETFL, O_NONBLOCK);
    fcntl(server.output, F_SETFL, O_NONBLOCK);
    if (clock_getcpuclockid(server.pid, &server.cpu_clock) != 0)
        fail("the server's CPU time cannot be read");
    const char *beside = getenv("BENCH_BESIDE");
    if (beside) {
        server.beside = (pid_t)atoi(beside);
        if (clock_getcpuclockid(server.beside, &server.beside_clock) != 0)
            fail("the CPU time of the process behind the server cannot be read");
    }
}

static double cpu_of_server(void) {
    double cpu = seconds_of(server.cpu_clock);
    return server.beside ? cpu + seconds_of(server.beside_clock) : cpu;
}

/* ---- reading and writing ---- */

static void write_some(void) {
    size_t left = outgoing.size - outgoing_done;
    ssize_t size = write(server.input, outgoing.data + outgoing_done, left);
    if (size < 0 && errno != EAGAIN && errno != EINTR)
        fail("the server takes no input: %s", strerror(errno));
    if (size > 0)
        outgoing_done += (size_t)size;
    if (outgoing_done == outgoing.size)
        outgoing_done = outgoing.size = 0;
}

static void read_some(void) {
    if (incoming_done > 0) {
        incoming.size -= incoming_done;
        incoming_scanned -= incoming_done;
        memmove(incoming.data, incoming.data + incoming_done, incoming.size);
        incoming_done = 0;
    }
    reserve(&incoming, READ_SIZE);
    ssize_t size = read(server.output, incoming.data + incoming.size, READ_SIZE);
    if (size == 0)
        fail("the server ended its output");
    if (size < 0 && errno != EAGAIN && errno != EINTR)
        fail("the server's output cannot be read: %s", strerror(errno));
    if (size > 0)
        incoming.size += (size_t)size;
}

/* Write what is due, wait until the server has something for us or takes more, read it. */
static void exchange_bytes(const char *phase) {
    if (outgoing.size > 0)
        write_some();
    struct pollfd ends[] = {
        {.fd = server.output, .events = POLLIN},
        {.fd = outgoing.size > 0 ? server.input : -1, .events = POLLOUT},
    };
    double left = plan.deadline - (now() - server.started);
    int ready = left > 0 ? poll(ends, 2, (int)(left * 1000) + 1) : 0;
    if (ready < 0 && errno != EINTR)
        fail("waiting failed: %s", strerror(errno));
    if (ready == 0)
        fail("%s: no answer in time, the run's %g seconds are over", phase, plan.deadline);
    if (ends[0].revents)
        read_some();
}

/* The next complete line without its end, or data NULL if there is none. */
static struct bytes next_line(void) {
    char *end = memchr(incoming.data + incoming_scanned, '\n', incoming.size - incoming_scanned);
    if (!end) {
        incoming_scanned = incoming.size;
        return (struct bytes){0};
    }
    char *start = incoming.data + incoming_done;
    incoming_done = incoming_scanned = (size_t)(end + 1 - incoming.data);
    return (struct bytes){.data = start, .size = (size_t)(end - start)};
}

/* ---- checking answers ---- */

/* Check all of an answer. False: it is no answer but a notification. */
static bool check_answer(struct phase *phase, struct bytes line) {
    struct members members = members_of(line);
    if (members.method && !members.id)
        return false;
    phase->answer.id_at = check_result(phase->name, line, phase->expected);
    phase->answer.text.size = 0;
    append(&phase->answer.text, line.data, line.size);
    return true;
}

static void mark_answered(struct phase *phase, struct bytes line, long first_id) {
    char *end;
    long id = strtol(line.data + phase->answer.id_at, &end, 10);
    if (id < first_id || id >= next_id || (*end != ',' && *end != '}'))
        fail("%s: an answer to a request that was not sent", phase->name);
    if (answered[id - FIRST_ID])
        fail("%s: a second answer to one request", phase->name);
    answered[id - FIRST_ID] = true;
}

/* ---- phases ---- */

static void queue_request(struct phase *phase) {
    char id[24];
    if (next_id > LAST_ID)
        fail("%s: no ids left", phase->name);
    snprintf(id, sizeof id, "%ld", next_id++);
    size_t at = outgoing.size + phase->request.id_at;
    append(&outgoing, phase->request.text.data, phase->request.text.size);
    memcpy(outgoing.data + at, id, ID_DIGITS);
}

/* Handle every complete line that was read; say how many of them were answers. */
static long take_answers(struct phase *phase, long first_id, double *size) {
    long count = 0;
    for (struct bytes line = next_line(); line.data; line = next_line()) {
        if (!same_but_for_id(&phase->answer, line) && !check_answer(phase, line))
            continue;
        mark_answered(phase, line, first_id);
        *size += (double)line.size;
        count++;
    }
    return count;
}

/* Send calls and take their answers until one of the bounds is reached and all are answered. */
static void call_repeatedly(struct phase *phase, long max_calls, double seconds) {
    long sent = 0, done = 0, first_id = next_id;
    double size = 0;
    double cpu = cpu_of_server(), start = now();
    for (;;) {
        bool more = now() - start < seconds;
        for (; (more || sent == 0) && sent < max_calls && sent - done < phase->in_flight; sent++)
            queue_request(phase);
        if (done == sent)
            break;
        exchange_bytes(phase->name);
        done += take_answers(phase, first_id, &size);
    }
    phase->wall = now() - start;
    phase->cpu = cpu_of_server() - cpu;
    phase->calls = done;
    phase->bytes_per_answer = size / (double)done;
}

static void greet(void) {
    if (!plan.greets)
        return;
    call_repeatedly(&plan.hello, 1, 0);
    server.start_seconds = now() - server.started;
    server.start_cpu = cpu_of_server();
    append(&outgoing, plan.notification.data, plan.notification.size);
    /* A server may go on loading behind its first answer: that is part of what it needs. */
    call_repeatedly(&plan.first, 1, 0);
    server.ready_seconds = now() - server.started;
    server.ready_cpu = cpu_of_server();
    server.rss_when_ready = status_of_server("VmRSS");
}

static void run_phase(struct phase *phase, const cpu_set_t *allowed) {
    place(server.pid, phase->on_one_core, allowed);
    if (server.beside)
        place(server.beside, phase->on_one_core, allowed);
    long warm_calls = (long)((double)phase->max_calls * WARM_UP);
    if (warm_calls > 0)
        call_repeatedly(phase, warm_calls, phase->seconds * WARM_UP);
    phase->calls = 0;
    call_repeatedly(phase, phase->max_calls, phase->seconds);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARGUMENT...] < PLAN\n", argv[0]);
        return 2;
    }
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    signal(SIGPIPE, SIG_IGN);
    read_plan();
    start_server(argv + 1);
    greet();
    for (int i = 0; i < plan.phase_count; i++)
        run_phase(&plan.phases[i], &allowed);
    print_outcome(NULL);
    stop_server();
    return 0;
}
