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

/* how: an error number, 0 to kill, -1 to write half of what was given, -2 for Ctrl-C.
   stays: all later calls fail, too, as on a full disk. */
void fault_arm(long calls, int how, int stays) { left = calls; action = how; lasting = stays; }

static int strikes(void) {
    if (left < 0) return 0;
    if (left > 0) { left--; return 0; }
    if (action == 0) kill(getpid(), SIGKILL);
    if (!lasting) left = -1;
    if (action == -1) return 2;
    if (action == -2) { kill(getpid(), SIGINT); return 0; }
    errno = action;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Half a write is no fault of any other call. */
static int fails(void) { return strikes() == 1; }

ssize_t write(int fd, const void *data, size_t size) {
    int how = fd > 2 ? strikes() : 0;
    return how == 1 ? -1 : REAL(write)(fd, data, how == 2 && size > 1 ? size / 2 : size);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { return fails() ? -1 : REAL(pwrite64)(fd, data, size, at); }
int fsync(int fd) { return fails() ? -1 : REAL(fsync)(fd); }
int fdatasync(int fd) { return fails() ? -1 : REAL(fdatasync)(fd); }
int ftruncate64(int fd, off64_t size) { return fails() ? -1 : REAL(ftruncate64)(fd, size); }
int posix_fallocate64(int fd, off64_t at, off64_t size) { return fails() ? errno : REAL(posix_fallocate64)(fd, at, size); }
int fchmod(int fd, mode_t mode) { return fails() ? -1 : REAL(fchmod)(fd, mode); }
int chmod(const char *path, mode_t mode) { return fails() ? -1 : REAL(chmod)(path, mode); }
int link(const char *a, const char *b) { return fails() ? -1 : REAL(link)(a, b); }
int linkat(int x, const char *a, int y, const char *b, int flags) { return fails() ? -1 : REAL(linkat)(x, a, y, b, flags); }
int rename(const char *a, const char *b) { return fails() ? -1 : REAL(rename)(a, b); }
int renameat2(int x, const char *a, int y, const char *b, unsigned flags) { return fails() ? -1 : REAL(renameat2)(x, a, y, b, flags); }
int unlink(const char *path) { return fails() ? -1 : REAL(unlink)(path); }
int unlinkat(int fd, const char *path, int flags) { return fails() ? -1 : REAL(unlinkat)(fd, path, flags); }
int mkdir(const char *path, mode_t mode) { return fails() ? -1 : REAL(mkdir)(path, mode); }
int rmdir(const char *path) { return fails() ? -1 : REAL(rmdir)(path); }
int open64(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return (flags & O_CREAT) && fails() ? -1 : REAL(open64)(path, flags, mode);
}
int openat64(int fd, const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return (flags & O_CREAT) && fails() ? -1 : REAL(openat64)(fd, path, flags, mode);
}
