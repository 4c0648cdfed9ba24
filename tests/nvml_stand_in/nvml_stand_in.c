/*
 * A stand-in for libnvidia-ml.so.1: the part of NVML that reads and locks clocks, over GPUs that exist in a file only.
 *
 * The file named by NVML_STAND_IN is mapped by every process that loads this library and by the test that made it
 * (`state.py` mirrors the structures below). It holds, for each GPU, a table of what its workload does at each clock
 * pair. Locking a pair chooses the row; power, energy, work and counters follow from the row and from the time since,
 * so the loop from clocks to counters is closed without any process that keeps it going.
 *
 * Sensors refresh as those of an H200 do: power, energy and GPM every `refresh_s`, whatever the polling rate, so two
 * GPM samples inside one refresh are equal and every metric between them reads 0 with a success code.
 *
 * Every setter call is logged with the process that made it. Faults are entries in the file, switched at run time.
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NO_PERMISSION = 4, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, LIBRARY_NOT_FOUND = 12 };
enum { CLOCK_GRAPHICS_ = 0, CLOCK_SM_ = 1, CLOCK_MEM_ = 2 };
enum { FIELD_ENERGY = 83, FIELD_POWER_AVERAGE = 185, FIELD_POWER_INSTANT = 186 };
enum { TYPE_UNSIGNED_INT = 1, TYPE_UNSIGNED_LONG_LONG = 3 };
enum { DRAM = 10 }; /* its utilisation inside one refresh is NaN, with a success code: nothing over no time */
enum { GPUS = 16, POINTS = 1024, METRICS = 64, FAULTS = 32, CALLS = 4096, NAME = 96 };

/* What the workload does at one clock pair. Row 0 of a GPU is the driver's default. */
struct point {
    uint32_t sm_mhz, mem_mhz;                 /* what a lock asks for */
    uint32_t running_sm_mhz, running_mem_mhz; /* what then runs */
    uint64_t reasons;                         /* clocks event reasons */
    double watts, work_per_s, settle_s;       /* settle_s: until the clock readings have arrived */
    uint32_t gpu_util, mem_util;              /* percent */
    double gpm[METRICS];                      /* by metric id, in NVML's units; NaN = not supported */
};

struct gpu {
    char name[NAME], uuid[NAME]; /* bytes, not necessarily UTF-8 */
    uint32_t architecture, persistence, mig, virtualization, power_limit_mw, temperature_c;
    uint32_t sm_min_mhz, sm_max_mhz, gpm_supported, ignores_locks;
    uint32_t n_points;
    uint32_t locked_sm_mhz, locked_mem_mhz; /* 0 = the driver decides */
    uint32_t row, previous_row;
    uint32_t padding;
    double refresh_s, power_ripple;
    double changed_s, energy_j, work; /* the sums at `changed_s` */
    int64_t refresh;                  /* number of the last refresh that was read */
    int64_t energy_offset_mj;         /* added to every energy reading */
    double refreshed_s, refreshed_energy_j;
    double gpm_sum[METRICS], refreshed_gpm[METRICS];
    struct point points[POINTS];
};

/* An answer that replaces the usual one of a function, or of "field:ID" or "gpm:ID". */
struct fault {
    char name[56];
    int32_t active, gpu;                     /* gpu: -1 = all */
    int32_t code, has_value;                 /* a code other than 0 is returned; else the value is given out */
    int32_t remaining, cleared_by_init;      /* remaining: calls left; -1 = no end */
    double delay_s, value;
};

struct call {
    char name[40];
    int32_t gpu, process;
    uint32_t low, high; /* the arguments, where it has some */
    int32_t code, padding;
    double t_s;
};

struct state {
    uint32_t n_gpus, n_calls;
    char driver_version[NAME], library_version[NAME];
    struct fault faults[FAULTS];
    struct call calls[CALLS];
    struct gpu gpus[GPUS];
};

struct gpm_sample {
    struct gpu *gpu;
    double t_s, sums[METRICS];
};

struct field_value {
    uint32_t field, scope;
    int64_t timestamp, latency_us;
    uint32_t type, code;
    union { double d; uint32_t ui; uint64_t ull; } value;
};

struct gpm_metric {
    uint32_t id, code;
    double value;
    char *short_name, *long_name, *unit;
};

struct gpm_metrics_get {
    uint32_t version, n_metrics;
    struct gpm_sample *first, *second;
    struct gpm_metric metrics[];
};

static struct state *state;
static int file = -1;
static int users;
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;

/* A lock that the kernel gives back when its owner is killed. */
static void lock(void) { pthread_mutex_lock(&threads); flock(file, LOCK_EX); }
static void unlock(void) { flock(file, LOCK_UN); pthread_mutex_unlock(&threads); }

static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Map the file that the environment names now: it may have been changed while nobody used the library. */
static int map_state(void) {
    const char *path = getenv("NVML_STAND_IN");
    struct stat found;
    if (users) return SUCCESS;
    if (state) munmap(state, sizeof *state), close(file), state = NULL;
    if (!path || (file = open(path, O_RDWR | O_CLOEXEC)) < 0) return LIBRARY_NOT_FOUND;
    if (fstat(file, &found) || found.st_size != sizeof(struct state)) return LIBRARY_NOT_FOUND; /* another layout */
    void *mapped = mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) return LIBRARY_NOT_FOUND;
    state = mapped;
    return SUCCESS;
}

/* ---- faults and the log of setters ---- */

static int index_of(const struct gpu *gpu) { return gpu ? (int)(gpu - state->gpus) : -1; }

/* Return what replaces the usual answer, after its delay; `found` is a copy, because a fault may end in between. */
static int meets_fault(const char *name, const struct gpu *gpu, struct fault *found) {
    memset(found, 0, sizeof *found);
    lock();
    for (int i = 0; i < FAULTS; i++) {
        struct fault *fault = &state->faults[i];
        if (!fault->active || strcmp(fault->name, name) || (fault->gpu >= 0 && fault->gpu != index_of(gpu))) continue;
        *found = *fault;
        if (fault->remaining > 0 && --fault->remaining == 0) fault->active = 0;
        break;
    }
    unlock();
    if (found->active && found->delay_s > 0) {
        struct timespec delay = {(time_t)found->delay_s, (long)(fmod(found->delay_s, 1.0) * 1e9)};
        nanosleep(&delay, NULL);
    }
    return found->active;
}

static int log_call(const char *name, const struct gpu *gpu, uint32_t low, uint32_t high, int code) {
    lock();
    struct call *call = &state->calls[state->n_calls++ % CALLS];
    memset(call, 0, sizeof *call);
    strncpy(call->name, name, sizeof call->name - 1);
    call->gpu = index_of(gpu);
    call->process = (int32_t)getpid();
    call->low = low;
    call->high = high;
    call->code = code;
    call->t_s = now_s();
    unlock();
    return code;
}

#define ENTER(gpu)                                                                \
    struct fault fault;                                                           \
    if (!users) return UNINITIALIZED;                                             \
    if (meets_fault(__func__, (gpu), &fault) && fault.code) return fault.code

#define ANSWER(pointer, type, usual) return *(pointer) = fault.has_value ? (type)fault.value : (type)(usual), SUCCESS

/* ---- physics ---- */

static const struct point *in_force(const struct gpu *gpu) { return &gpu->points[gpu->row]; }

static double gpm_rate(const struct point *point, int metric) {
    return isnan(point->gpm[metric]) ? 0.0 : point->gpm[metric];
}

/* Bring the values that sensors show to the last refresh; called with the lock held, before anything changes. */
static void refresh(struct gpu *gpu, double now) {
    int64_t refresh = (int64_t)floor(now / gpu->refresh_s);
    if (refresh == gpu->refresh) return;
    double at_s = (double)refresh * gpu->refresh_s, since_s = at_s - gpu->changed_s;
    if (since_s < 0) return; /* the file is younger than this refresh */
    gpu->refresh = refresh;
    gpu->refreshed_s = at_s;
    gpu->refreshed_energy_j = gpu->energy_j + in_force(gpu)->watts * since_s;
    for (int m = 0; m < METRICS; m++)
        gpu->refreshed_gpm[m] = gpu->gpm_sum[m] + gpm_rate(in_force(gpu), m) * since_s;
}

static uint32_t row_for(const struct gpu *gpu) {
    if (gpu->ignores_locks || (!gpu->locked_sm_mhz && !gpu->locked_mem_mhz)) return 0;
    double sm = gpu->locked_sm_mhz ? gpu->locked_sm_mhz : gpu->points[0].running_sm_mhz;
    double mem = gpu->locked_mem_mhz ? gpu->locked_mem_mhz : gpu->points[0].running_mem_mhz;
    uint32_t nearest = 0;
    double least = INFINITY;
    for (uint32_t row = 1; row < gpu->n_points; row++) {
        double off = fabs(gpu->points[row].sm_mhz - sm) + 1e4 * fabs(gpu->points[row].mem_mhz - mem);
        if (off < least) least = off, nearest = row;
    }
    return nearest;
}

static void set_locks(struct gpu *gpu, uint32_t sm_mhz, uint32_t mem_mhz) {
    lock();
    double now = now_s(), since_s = now - gpu->changed_s;
    refresh(gpu, now);
    gpu->energy_j += in_force(gpu)->watts * since_s;
    gpu->work += in_force(gpu)->work_per_s * since_s;
    for (int m = 0; m < METRICS; m++) gpu->gpm_sum[m] += gpm_rate(in_force(gpu), m) * since_s;
    gpu->changed_s = now;
    gpu->locked_sm_mhz = sm_mhz;
    gpu->locked_mem_mhz = mem_mhz;
    gpu->previous_row = gpu->row;
    gpu->row = row_for(gpu);
    unlock();
}

static double instant_w(struct gpu *gpu) {
    lock();
    refresh(gpu, now_s());
    const struct point *point = &gpu->points[gpu->refreshed_s < gpu->changed_s ? gpu->previous_row : gpu->row];
    double watts = point->watts * (1.0 + gpu->power_ripple * sin(2.4 * (double)gpu->refresh));
    unlock();
    return watts;
}

/* The mean over the last second, as `nvmlDeviceGetPowerUsage` gives it on Ampere and later. */
static double average_w(struct gpu *gpu) {
    lock();
    refresh(gpu, now_s());
    double since_s = fmin(1.0, fmax(0.0, gpu->refreshed_s - gpu->changed_s));
    double watts = since_s * in_force(gpu)->watts + (1.0 - since_s) * gpu->points[gpu->previous_row].watts;
    unlock();
    return watts;
}

static uint64_t energy_mj(struct gpu *gpu) {
    lock();
    refresh(gpu, now_s());
    uint64_t energy = (uint64_t)((int64_t)(1e3 * gpu->refreshed_energy_j) + gpu->energy_offset_mj);
    unlock();
    return energy;
}

static const struct point *shown_point(const struct gpu *gpu) {
    int has_arrived = now_s() - gpu->changed_s >= in_force(gpu)->settle_s;
    return &gpu->points[has_arrived ? gpu->row : gpu->previous_row];
}

/* ---- library and system ---- */

int nvmlInitWithFlags(unsigned flags) {
    struct fault fault;
    (void)flags;
    int code = map_state();
    if (code) return code;
    if (meets_fault(__func__, NULL, &fault) && fault.code) return fault.code;
    lock();
    for (int i = 0; i < FAULTS; i++)
        if (state->faults[i].cleared_by_init) state->faults[i].active = 0;
    unlock();
    users++;
    return SUCCESS;
}

int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return users ? (users--, SUCCESS) : UNINITIALIZED; }
const char *nvmlErrorString(int code) { return code == SUCCESS ? "Success" : "an error of the stand-in"; }

static int give_text(const char *text, char *buffer, unsigned size) {
    if (strlen(text) >= size) return INSUFFICIENT_SIZE;
    return strcpy(buffer, text), SUCCESS;
}

int nvmlSystemGetDriverVersion(char *buffer, unsigned size) {
    ENTER(NULL);
    return give_text(state->driver_version, buffer, size);
}

int nvmlSystemGetNVMLVersion(char *buffer, unsigned size) { /* answers before nvmlInit, too */
    int code = map_state();
    return code ? code : give_text(state->library_version, buffer, size);
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(NULL);
    ANSWER(count, unsigned, state->n_gpus);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct gpu **gpu) {
    if (!users) return UNINITIALIZED;
    if (index >= state->n_gpus) return INVALID_ARGUMENT;
    ENTER(&state->gpus[index]);
    return *gpu = &state->gpus[index], SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct gpu **gpu) {
    if (!users) return UNINITIALIZED;
    for (unsigned i = 0; i < state->n_gpus; i++)
        if (!strcmp(state->gpus[i].uuid, uuid)) return nvmlDeviceGetHandleByIndex_v2(i, gpu);
    return NOT_FOUND;
}

/* ---- what a GPU is ---- */

int nvmlDeviceGetName(struct gpu *gpu, char *buffer, unsigned size) {
    ENTER(gpu);
    return give_text(gpu->name, buffer, size);
}

int nvmlDeviceGetUUID(struct gpu *gpu, char *buffer, unsigned size) {
    ENTER(gpu);
    return give_text(gpu->uuid, buffer, size);
}

int nvmlDeviceGetIndex(struct gpu *gpu, unsigned *index) { ENTER(gpu); ANSWER(index, unsigned, index_of(gpu)); }

int nvmlDeviceGetArchitecture(struct gpu *gpu, unsigned *architecture) {
    ENTER(gpu);
    ANSWER(architecture, unsigned, gpu->architecture);
}

int nvmlDeviceGetPersistenceMode(struct gpu *gpu, unsigned *mode) { ENTER(gpu); ANSWER(mode, unsigned, gpu->persistence); }

int nvmlDeviceGetMigMode(struct gpu *gpu, unsigned *current, unsigned *pending) {
    ENTER(gpu);
    *pending = gpu->mig;
    ANSWER(current, unsigned, gpu->mig);
}

int nvmlDeviceGetVirtualizationMode(struct gpu *gpu, uint64_t *mode) {
    ENTER(gpu);
    ANSWER(mode, uint64_t, gpu->virtualization);
}

int nvmlDeviceGetEnforcedPowerLimit(struct gpu *gpu, unsigned *limit_mw) {
    ENTER(gpu);
    ANSWER(limit_mw, unsigned, gpu->power_limit_mw);
}

/* ---- clocks: what is offered ---- */

static int give_list(const uint32_t *clocks, unsigned n, unsigned *count, unsigned *buffer) {
    unsigned room = *count;
    *count = n;
    if (!buffer || room < n) return INSUFFICIENT_SIZE;
    memcpy(buffer, clocks, n * sizeof *buffer);
    return SUCCESS;
}

/* Append a clock that is not in the list yet. */
static unsigned with(uint32_t *clocks, unsigned n, uint32_t clock) {
    for (unsigned i = 0; i < n; i++)
        if (clocks[i] == clock) return n;
    clocks[n] = clock;
    return n + 1;
}

int nvmlDeviceGetSupportedMemoryClocks(struct gpu *gpu, unsigned *count, unsigned *buffer) {
    ENTER(gpu);
    uint32_t clocks[POINTS];
    unsigned n = 0;
    for (uint32_t row = 1; row < gpu->n_points; row++) n = with(clocks, n, gpu->points[row].mem_mhz);
    return give_list(clocks, n, count, buffer);
}

int nvmlDeviceGetSupportedGraphicsClocks(struct gpu *gpu, unsigned mem_mhz, unsigned *count, unsigned *buffer) {
    ENTER(gpu);
    uint32_t clocks[POINTS];
    unsigned n = 0;
    for (uint32_t row = 1; row < gpu->n_points; row++)
        if (gpu->points[row].mem_mhz == mem_mhz) n = with(clocks, n, gpu->points[row].sm_mhz);
    return n ? give_list(clocks, n, count, buffer) : NOT_FOUND;
}

int nvmlDeviceGetMinMaxClockOfPState(struct gpu *gpu, unsigned type, unsigned pstate, unsigned *min, unsigned *max) {
    ENTER(gpu);
    int is_memory = type == CLOCK_MEM_;
    if (pstate) return INVALID_ARGUMENT;
    *min = is_memory ? gpu->points[0].running_mem_mhz : gpu->sm_min_mhz;
    ANSWER(max, unsigned, is_memory ? gpu->points[0].running_mem_mhz : gpu->sm_max_mhz);
}

int nvmlDeviceGetMaxClockInfo(struct gpu *gpu, unsigned type, unsigned *clock) {
    ENTER(gpu);
    ANSWER(clock, unsigned, type == CLOCK_MEM_ ? gpu->points[0].running_mem_mhz : gpu->sm_max_mhz);
}

/* ---- clocks: setters, every one of them logged ---- */

#define SETTER(gpu, low, high)                                                           \
    struct fault fault;                                                                  \
    if (!users) return UNINITIALIZED;                                                    \
    meets_fault(__func__, (gpu), &fault);                                                \
    if (log_call(__func__, (gpu), (low), (high), fault.code)) return fault.code

int nvmlDeviceSetGpuLockedClocks(struct gpu *gpu, unsigned min_mhz, unsigned max_mhz) {
    SETTER(gpu, min_mhz, max_mhz);
    return set_locks(gpu, max_mhz, gpu->locked_mem_mhz), SUCCESS;
}

int nvmlDeviceResetGpuLockedClocks(struct gpu *gpu) {
    SETTER(gpu, 0, 0);
    return set_locks(gpu, 0, gpu->locked_mem_mhz), SUCCESS;
}

int nvmlDeviceSetMemoryLockedClocks(struct gpu *gpu, unsigned min_mhz, unsigned max_mhz) {
    SETTER(gpu, min_mhz, max_mhz);
    return set_locks(gpu, gpu->locked_sm_mhz, max_mhz), SUCCESS;
}

int nvmlDeviceResetMemoryLockedClocks(struct gpu *gpu) {
    SETTER(gpu, 0, 0);
    return set_locks(gpu, gpu->locked_sm_mhz, 0), SUCCESS;
}

/* Setters that nothing of ours may call: they do nothing but leave a trace in the log. */
int nvmlDeviceSetApplicationsClocks(struct gpu *gpu, unsigned mem, unsigned sm) { SETTER(gpu, mem, sm); return SUCCESS; }
int nvmlDeviceResetApplicationsClocks(struct gpu *gpu) { SETTER(gpu, 0, 0); return SUCCESS; }
int nvmlDeviceSetPowerManagementLimit(struct gpu *gpu, unsigned limit) { SETTER(gpu, limit, limit); return SUCCESS; }
int nvmlDeviceSetPersistenceMode(struct gpu *gpu, unsigned mode) { SETTER(gpu, mode, mode); return SUCCESS; }

/* ---- readings ---- */

int nvmlDeviceGetClockInfo(struct gpu *gpu, unsigned type, unsigned *clock) {
    ENTER(gpu);
    const struct point *shown = shown_point(gpu);
    ANSWER(clock, unsigned, type == CLOCK_MEM_ ? shown->running_mem_mhz : shown->running_sm_mhz);
}

int nvmlDeviceGetCurrentClocksEventReasons(struct gpu *gpu, uint64_t *reasons) {
    ENTER(gpu);
    ANSWER(reasons, uint64_t, in_force(gpu)->reasons);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(struct gpu *gpu, uint64_t *reasons) {
    ENTER(gpu);
    ANSWER(reasons, uint64_t, in_force(gpu)->reasons);
}

int nvmlDeviceGetPowerUsage(struct gpu *gpu, unsigned *power_mw) {
    ENTER(gpu);
    ANSWER(power_mw, unsigned, 1e3 * average_w(gpu));
}

int nvmlDeviceGetTotalEnergyConsumption(struct gpu *gpu, uint64_t *millijoules) {
    ENTER(gpu);
    ANSWER(millijoules, uint64_t, energy_mj(gpu));
}

int nvmlDeviceGetUtilizationRates(struct gpu *gpu, unsigned rates[2]) {
    ENTER(gpu);
    rates[1] = in_force(gpu)->mem_util;
    ANSWER(&rates[0], unsigned, in_force(gpu)->gpu_util);
}

int nvmlDeviceGetTemperature(struct gpu *gpu, unsigned sensor, unsigned *celsius) {
    ENTER(gpu);
    (void)sensor;
    ANSWER(celsius, unsigned, gpu->temperature_c);
}

int nvmlDeviceGetTemperatureV(struct gpu *gpu, int32_t temperature[3]) { /* version, sensor, celsius */
    ENTER(gpu);
    ANSWER(&temperature[2], int32_t, gpu->temperature_c);
}

static void fill_field(struct gpu *gpu, struct field_value *field) {
    struct fault fault;
    char name[sizeof fault.name] = "field:";
    char digits[12];
    int n = 0;
    for (uint32_t id = field->field; id || !n; id /= 10) digits[n++] = (char)('0' + id % 10);
    for (char *end = name + 6; n; *end = 0) *end++ = digits[--n];
    field->code = NOT_SUPPORTED;
    field->type = TYPE_UNSIGNED_INT;
    field->timestamp = (int64_t)(1e6 * now_s());
    if (field->field == FIELD_POWER_INSTANT) field->code = SUCCESS, field->value.ull = (uint64_t)(1e3 * instant_w(gpu));
    if (field->field == FIELD_POWER_AVERAGE) field->code = SUCCESS, field->value.ull = (uint64_t)(1e3 * average_w(gpu));
    if (field->field == FIELD_ENERGY)
        field->code = SUCCESS, field->type = TYPE_UNSIGNED_LONG_LONG, field->value.ull = energy_mj(gpu);
    if (!meets_fault(name, gpu, &fault)) return;
    if (fault.code) field->code = (uint32_t)fault.code, field->value.ull = 0;
    if (fault.has_value) field->type = TYPE_UNSIGNED_LONG_LONG, field->value.ull = (uint64_t)fault.value;
}

int nvmlDeviceGetFieldValues(struct gpu *gpu, int32_t n, struct field_value *fields) {
    ENTER(gpu);
    for (int32_t i = 0; i < n; i++) fill_field(gpu, &fields[i]);
    return SUCCESS;
}

/* ---- GPM ---- */

int nvmlGpmQueryDeviceSupport(struct gpu *gpu, unsigned support[2]) { /* version, is supported */
    ENTER(gpu);
    ANSWER(&support[1], unsigned, gpu->gpm_supported);
}

int nvmlGpmSampleAlloc(struct gpm_sample **sample) {
    ENTER(NULL);
    *sample = calloc(1, sizeof **sample);
    return SUCCESS;
}

int nvmlGpmSampleFree(struct gpm_sample *sample) { return free(sample), SUCCESS; }

int nvmlGpmSampleGet(struct gpu *gpu, struct gpm_sample *sample) {
    ENTER(gpu);
    if (!gpu->gpm_supported) return NOT_SUPPORTED;
    lock();
    refresh(gpu, now_s());
    sample->gpu = gpu;
    sample->t_s = gpu->refreshed_s;
    memcpy(sample->sums, gpu->refreshed_gpm, sizeof sample->sums);
    unlock();
    return SUCCESS;
}

static void fill_metric(const struct gpm_sample *first, const struct gpm_sample *second, struct gpm_metric *metric) {
    struct fault fault;
    char name[] = "gpm:00";
    double seconds = second->t_s - first->t_s;
    if (metric->id >= METRICS || isnan(first->gpu->points[0].gpm[metric->id])) {
        metric->code = NOT_SUPPORTED;
        return;
    }
    metric->code = SUCCESS;
    metric->value = seconds > 0 ? (second->sums[metric->id] - first->sums[metric->id]) / seconds : metric->id == DRAM ? NAN : 0.0;
    name[4] = (char)('0' + metric->id / 10), name[5] = (char)('0' + metric->id % 10);
    if (!meets_fault(name, first->gpu, &fault)) return;
    metric->code = (uint32_t)fault.code;
    if (fault.has_value) metric->value = fault.value;
}

int nvmlGpmMetricsGet(struct gpm_metrics_get *wanted) {
    if (!users) return UNINITIALIZED;
    if (!wanted->first || !wanted->second || !wanted->first->gpu || wanted->first->gpu != wanted->second->gpu)
        return INVALID_ARGUMENT;
    ENTER(wanted->first->gpu);
    for (uint32_t i = 0; i < wanted->n_metrics; i++) fill_metric(wanted->first, wanted->second, &wanted->metrics[i]);
    return SUCCESS;
}
