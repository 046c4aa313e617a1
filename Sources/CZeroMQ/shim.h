#include <pthread.h>
#include <zmq.h>

// glibc declares these two for _GNU_SOURCE only, which Swift's Glibc module is built without.
int pipe2(int ends[2], int flags);
int pthread_setname_np(pthread_t thread, const char *name);
