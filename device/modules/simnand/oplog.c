// SPDX-License-Identifier: GPL-2.0-or-later
/* The operation log's memory: see oplog.h. */
#include "oplog.h"

int oplog_init(struct oplog *log, u64 entries)
{
	memset(log, 0, sizeof(*log));
	if (!entries)
		return 0;
	if (entries > SIZE_MAX / sizeof(*log->record))
		return -ENOMEM;
	log->record = shim_zalloc(entries * sizeof(*log->record));
	if (!log->record)
		return -ENOMEM;
	log->room = entries;
	return 0;
}

void oplog_exit(struct oplog *log)
{
	shim_free(log->record);
	log->record = NULL;
	log->room = 0;
	oplog_clear(log);
}

void oplog_clear(struct oplog *log)
{
	log->count = 0;
	log->lost = 0;
}

struct oplog_record *oplog_next(struct oplog *log)
{
	struct oplog_record *record;

	if (!log->on)
		return NULL;
	if (log->count == log->room) {
		log->lost++;
		return NULL;
	}
	record = &log->record[log->count++];
	memset(record, 0, sizeof(*record));
	return record;
}
