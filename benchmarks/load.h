/* What the load generators share: bytes, time, cores, and the check of an answer. */
#ifndef LOAD_H
#define LOAD_H

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

/* Ids of one width: an answer then differs from the one before it in the digits of its id only,
 * which makes checking all of it a comparison of memory. */
enum { FIRST_ID = 1000000, LAST_ID = 9999999, ID_DIGITS = 7 };
enum { PAGE = 4096 };

static const char ID_MARK[] = "@ID@";
static const double WARM_UP = 0.2;

struct bytes {
    char *data;
    size_t size;
    size_t capacity;
};

/* What lies before and after the id of a message that is sent or received many times. */
struct template {
    struct bytes text;
    size_t id_at;
};

/* Each program says in its own way that the run has failed. */
static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* ---- bytes and time ---- */

static void reserve(struct bytes *bytes, size_t more) {
    if (bytes->size + more <= bytes->capacity)
        return;
    /* Whole pages: the kernel copies long answers faster to an aligned address, and the load's
     * share of each call is to be small. */
    size_t capacity = ((bytes->size + more) * 2 + PAGE - 1) / PAGE * PAGE;
    char *data = aligned_alloc(PAGE, capacity);
    if (!data)
        fail("out of memory");
    if (bytes->size > 0)
        memcpy(data, bytes->data, bytes->size);
    free(bytes->data);
    bytes->data = data;
    bytes->capacity = capacity;
}

static void append(struct bytes *bytes, const void *data, size_t size) {
    if (size == 0)
        return;
    reserve(bytes, size);
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static struct bytes copy_of(const char *data, size_t size) {
    struct bytes bytes = {0};
    append(&bytes, data, size);
    return bytes;
}

static double seconds_of(clockid_t clock) {
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        fail("a clock cannot be read: %s", strerror(errno));
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double now(void) { return seconds_of(CLOCK_MONOTONIC); }

/* ---- the plan and the outcome ---- */

static struct template template_of(const char *request) {
    struct template result = {0};
    const char *mark = strstr(request, ID_MARK);
    if (!mark)
        fail("a request of the plan has no %s", ID_MARK);
    result.id_at = (size_t)(mark - request);
    append(&result.text, request, result.id_at);
    append(&result.text, "0000000", ID_DIGITS);
    append(&result.text, mark + strlen(ID_MARK), strlen(mark + strlen(ID_MARK)));
    return result;
}

static char *field(char **rest) {
    char *value = strsep(rest, "\t");
    if (!value)
        fail("a line of the plan has too few fields");
    return value;
}

static void print_string(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            printf("\\%c", *c);
        else if (*c < 0x20 || *c > 0x7e)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

/* ---- cores ---- */

/* Keep every thread of a process, and those it will start, on these cores. */
static void place_process(pid_t pid, const cpu_set_t *cores) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    if (!threads)
        fail("the server's threads cannot be listed: %s", strerror(errno));
    for (struct dirent *entry = readdir(threads); entry; entry = readdir(threads))
        if (entry->d_name[0] != '.')
            sched_setaffinity(atoi(entry->d_name), sizeof *cores, cores);
    closedir(threads);
}

/* Of server and load only one works at a time if calls come one by one. On two cores each would
 * wait for the other's core to wake from sleep: a figure of the machine, not of the server. */
static cpu_set_t one_core_of(const cpu_set_t *allowed) {
    cpu_set_t one;
    size_t core = CPU_SETSIZE - 1;
    while (core > 0 && !CPU_ISSET(core, allowed))
        core--;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return one;
}

/* Server and load on one core, or on all that are allowed. */
static void place(pid_t server, bool on_one_core, const cpu_set_t *allowed) {
    cpu_set_t cores = on_one_core ? one_core_of(allowed) : *allowed;
    sched_setaffinity(0, sizeof cores, &cores);
    place_process(server, &cores);
}

/* ---- checking answers ---- */

/* The members of a message that decide what it is; each is an offset, or 0 if it is not there. */
struct members {
    size_t id, result, error, method;
};

static size_t after_string(struct bytes text, size_t at) {
    for (at++; at < text.size && text.data[at] != '"'; at++)
        if (text.data[at] == '\\')
            at++;
    return at + 1;
}

/* Past the value at this place: to the comma or brace that follows it in its object. */
static size_t after_value(struct bytes text, size_t at) {
    int depth = 0;
    while (at < text.size) {
        char c = text.data[at];
        if (depth == 0 && (c == ',' || c == '}'))
            break;
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        at = c == '"' ? after_string(text, at) : at + 1;
    }
    return at;
}

static bool is_key(struct bytes text, size_t at, size_t end, const char *key) {
    return end - at == strlen(key) + 2 && memcmp(text.data + at + 1, key, strlen(key)) == 0;
}

static struct members members_of(struct bytes text) {
    struct members found = {0};
    size_t at = 1;
    while (at < text.size && text.data[0] == '{') {
        while (at < text.size && text.data[at] != '"')
            at++;
        size_t key = at, end = after_string(text, at);
        at = end;
        while (at < text.size && (text.data[at] == ':' || text.data[at] == ' '))
            at++;
        if (at >= text.size)
            break;
        if (is_key(text, key, end, "id"))
            found.id = at;
        else if (is_key(text, key, end, "result"))
            found.result = at;
        else if (is_key(text, key, end, "error"))
            found.error = at;
        else if (is_key(text, key, end, "method"))
            found.method = at;
        at = after_value(text, at);
    }
    return found;
}

static bool contains(struct bytes text, const void *part, size_t size) {
    return memmem(text.data, text.size, part, size) != NULL;
}

static bool same_but_for_id(const struct template *first, struct bytes line) {
    size_t tail = first->id_at + ID_DIGITS;
    if (line.size != first->text.size || line.size < tail)
        return false;
    return memcmp(line.data, first->text.data, first->id_at) == 0 &&
           memcmp(line.data + tail, first->text.data + tail, line.size - tail) == 0;
}

/* Check that a message is the expected result of a call. Returns where its id is. */
static size_t check_result(const char *name, struct bytes text, struct bytes expected) {
    int shown = text.size > 200 ? 200 : (int)text.size;
    struct members members = members_of(text);
    if (!members.id || members.error || !members.result)
        fail("%s: not a result: %.*s", name, shown, text.data);
    if (contains(text, "\"isError\":true", 14))
        fail("%s: the tool failed: %.*s", name, shown, text.data);
    if (!contains(text, expected.data, expected.size))
        fail("%s: not the expected result: %.*s", name, shown, text.data);
    return members.id;
}

#endif
