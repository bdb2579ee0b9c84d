// SPDX-License-Identifier: GPL-2.0-or-later
/* Values of options; see takes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag.h"
#include "takes.h"
#include "settings.h"

int take_count(uint64_t *to, const char *option, const char *value,
	       double least, double most)
{
	unsigned long long count;
	char *wrong = parse_count(value, least, most, &count);

	if (!wrong) {
		*to = count;
		return 0;
	}
	fail("--%s: %s", option, wrong);
	free(wrong);
	return -1;
}

int take_time(uint64_t *ns, const char *option, const char *value,
	      uint64_t unit_ns)
{
	uint64_t units;

	/* below UINT64_MAX in doubles too */
	if (take_count(&units, option, value, 1, (double)(INT64_MAX / unit_ns)))
		return -1;
	*ns = units * unit_ns;
	return 0;
}

int take_number(uint64_t *to, const char *value)
{
	char *end;

	errno = 0;
	*to = strtoull(value, &end, 0);
	if (*end || end == value || *value == '-' || errno)
		return fail("%s: expected a whole number", value);
	return 0;
}

int take_share(double *to, const char *option, const char *value)
{
	char *end;
	double share = strtod(value, &end);

	if (strspn(value, "0123456789.") != strlen(value) || end == value ||
	    *end || share > 1)
		return fail("--%s '%s': give a share from 0 to 1, such as 0.5",
			    option, value);
	*to = share;
	return 0;
}

int take_choice(int *to, const char *option, const char *value,
		const char *const *choices)
{
	char *all = NULL;

	for (int i = 0; choices[i]; i++) {
		char *before = all;

		if (!strcmp(choices[i], value)) {
			free(before);
			*to = i;
			return 0;
		}
		all = text("%s%s%s", before ? before : "", before ? ", " : "",
			   choices[i]);
		free(before);
	}
	fail("--%s '%s': give one of %s", option, value, all ? all : "none");
	free(all);
	return -1;
}
