#ifndef BELFRY_SQLITE_CONFIG_H
#define BELFRY_SQLITE_CONFIG_H

/* A call of sqlite3_config, which Swift cannot call because its number of arguments varies. */

#include <sqlite3.h>

/* Returns SQLITE_OK, or SQLITE_MISUSE if the process has used SQLite before. No other thread may use SQLite during the
   call. */
static inline int belfry_turn_off_memory_statistics(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#endif
