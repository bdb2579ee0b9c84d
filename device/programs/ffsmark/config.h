/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that decides what FFSMark does. The first part has Postmark's
 * names, ranges and defaults; the second part is FFSMark's own.
 */
#ifndef FFSMARK_CONFIG_H
#define FFSMARK_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json;

enum report_format { REPORT_VERBOSE, REPORT_TERSE };

/* Where the chip's statistics are: "auto" is the usual place, if it exists. */
#define FLASH_AUTO "auto"
#define FLASH_NONE "none"

/* What the shares of a fill are of. */
enum fill_basis { FILL_OF_CHIP, FILL_OF_FREE };

/* A directory to work in, and how often it is chosen relative to the others. */
struct location {
	char *path;
	uint64_t weight;
};

struct config {
	uint64_t number;       /* files at first; at most twice as many later */
	uint64_t transactions; /* 0: only creation and deletion */
	uint64_t size_low;     /* bytes of a new file, at least */
	uint64_t size_high;    /* bytes, exclusive unless equal to size_low */
	uint64_t subdirectories; /* of each location; below 2, none is made */
	uint64_t seed;
	uint64_t read_block;	    /* bytes of a read() */
	uint64_t write_block;	    /* bytes of a write() */
	int64_t bias_read;	    /* reads of 10 accesses; -1: no accesses */
	int64_t bias_create;	    /* creates of 10 changes; -1: no changes */
	bool buffering;		    /* through stdio, not read() and write() */
	int report;		    /* an enum report_format */
	struct location *locations; /* none: the current directory */
	size_t location_count;

	bool drop_creation;	/* empty the page cache before the creation */
	bool drop_transactions; /* the same before the transactions */
	bool sync;		/* sync at the end of each phase */
	double fill_valid;	/* share of the partition to hold valid data */
	double fill_invalid;	/* share to hold data written, then deleted */
	double fill_mix;     /* share of both that alternates within blocks */
	uint64_t fill_chunk; /* bytes of one kind before the other follows */
	bool fill_keep;	     /* leave the valid file after the run */
	int fill_of;	     /* an enum fill_basis */
	int payload;	     /* an enum payload_kind */
	double compressibility; /* share of all data that compresses away */
	char *flash; /* statistics directory, FLASH_AUTO or FLASH_NONE */
};

void config_open(struct config *config);
void config_close(struct config *config);

/*
 * Act on the text after "set " in a command. NULL, or what is wrong and what to
 * do about it, for the caller to free.
 */
char *config_set(struct config *config, const char *assignment);

/* The "set" commands that lead to this configuration. */
void config_print(const struct config *config, FILE *out);
void config_json(struct json *json, const struct config *config);

/* One line of help per setting whose words start with @prefix ("" for all). */
int config_help(FILE *out, const char *prefix);

/* The directory of location @i; the current one if there are no locations. */
const char *config_location(const struct config *config, size_t i);

/* Number of locations of config_location(): at least one. */
size_t config_location_count(const struct config *config);

#endif
