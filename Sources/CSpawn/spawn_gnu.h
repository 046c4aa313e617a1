#ifndef BELFRY_SPAWN_GNU_H
#define BELFRY_SPAWN_GNU_H

/* glibc's additions to posix_spawn, which Swift's Glibc module leaves out: it is built without _GNU_SOURCE. */

#include <spawn.h>

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *actions, const char *path);
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);

#endif
