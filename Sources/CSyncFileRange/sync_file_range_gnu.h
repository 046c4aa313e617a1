#ifndef BELFRY_SYNC_FILE_RANGE_GNU_H
#define BELFRY_SYNC_FILE_RANGE_GNU_H

/* Linux's sync_file_range(2), which Swift's Glibc module leaves out: it is built without _GNU_SOURCE. */

#include <sys/types.h>

/* SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER together. */
enum { BELFRY_SYNC_FILE_RANGE_WRITE_AND_WAIT = 7 };

int sync_file_range(int file, off_t offset, off_t count, unsigned int flags);

#endif
