/* Makes the n-th call that changes files fail, or kills the process there. Loaded before the C library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1;
static int action = 0, lasting = 0;

/* how: an error number, or 0 to kill. stays: all later calls fail, too, as on a full disk. */
void fault_arm(long calls, int how, int stays) { left = calls; action = how; lasting = stays; }

static int strikes(void) {
    if (left < 0) return 0;
    if (left > 0) { left--; return 0; }
    if (action == 0) kill(getpid(), SIGKILL);
    if (!lasting) left = -1;
    errno = action;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *data, size_t size) { return fd > 2 && strikes() ? -1 : REAL(write)(fd, data, size); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return strikes() ? -1 : REAL(pwrite64)(fd, data, size, at); }
int fsync(int fd) { return strikes() ? -1 : REAL(fsync)(fd); }
int rename(const char *a, const char *b) { return strikes() ? -1 : REAL(rename)(a, b); }
int renameat2(int x, const char *a, int y, const char *b, unsigned flags) { return strikes() ? -1 : REAL(renameat2)(x, a, y, b, flags); }
int unlink(const char *path) { return strikes() ? -1 : REAL(unlink)(path); }
int unlinkat(int fd, const char *path, int flags) { return strikes() ? -1 : REAL(unlinkat)(fd, path, flags); }
int mkdir(const char *path, mode_t mode) { return strikes() ? -1 : REAL(mkdir)(path, mode); }
int rmdir(const char *path) { return strikes() ? -1 : REAL(rmdir)(path); }
int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return (flags & O_CREAT) && strikes() ? -1 : REAL(open64)(path, flags, mode);
}
