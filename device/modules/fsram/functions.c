// SPDX-License-Identifier: GPL-2.0-or-later
/* Call sites by open addressing; each knows the number of its function. */
#include <linux/hash.h>
#include <linux/kallsyms.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "functions.h"

#define FUNCTIONS  256
#define SITES_LOG2 10
#define SITES	   (1 << SITES_LOG2)

static struct {
	unsigned long site; /* 0: free */
	unsigned int number;
} sites[SITES];
static unsigned int sites_used;

static struct ram_function functions[FUNCTIONS] = {{.name = "others"}};
static unsigned int functions_count = 1;

static char **reclaimable_names;
static unsigned int reclaimable_count;

void functions_init(char **reclaimable, unsigned int count)
{
	reclaimable_names = reclaimable;
	reclaimable_count = count;
}

/* Its name in the kernel's table of symbols, up to what the compiler or that
 * table adds. A call may be the last instruction of its function: what it
 * returns to is then the next one's. */
static const char *name_of(unsigned long site)
{
	static char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, site - 1);
	name[strcspn(name, ". ")] = '\0';
	name[FUNCTION_NAME - 1] = '\0';
	return name;
}

static unsigned int by_name(const char *name)
{
	struct ram_function *added;
	unsigned int i;

	for (i = 1; i < functions_count; i++)
		if (!strcmp(functions[i].name, name))
			return i;
	if (functions_count == FUNCTIONS)
		return 0;
	added = &functions[functions_count];
	strscpy(added->name, name, sizeof(added->name));
	for (i = 0; i < reclaimable_count; i++)
		if (!strcmp(reclaimable_names[i], name))
			added->reclaimable = true;
	return functions_count++;
}

unsigned int function_of(unsigned long site)
{
	unsigned int at = hash_long(site, SITES_LOG2);

	while (sites[at].site && sites[at].site != site)
		at = (at + 1) % SITES;
	if (sites[at].site)
		return sites[at].number;
	/* One place in eight stays free: probing ends at a free place. */
	if (sites_used >= SITES - SITES / 8)
		return by_name(name_of(site));
	sites_used++;
	sites[at].site = site;
	sites[at].number = by_name(name_of(site));
	return sites[at].number;
}

bool function_is_reclaimable(unsigned int number)
{
	return functions[number].reclaimable;
}

void function_allocated(unsigned int number, u32 bytes)
{
	struct ram_function *function = &functions[number];

	function->allocations++;
	function->bytes += bytes;
	function->peak_bytes = max(function->peak_bytes, function->bytes);
}

void function_freed(unsigned int number, u32 bytes)
{
	functions[number].bytes -= bytes;
}

void functions_reset_peak(void)
{
	unsigned int i;

	for (i = 0; i < functions_count; i++)
		functions[i].peak_bytes = functions[i].bytes;
}

bool function_get(unsigned int number, struct ram_function *to)
{
	if (number >= functions_count)
		return false;
	*to = functions[number];
	return true;
}
