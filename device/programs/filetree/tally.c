// SPDX-License-Identifier: GPL-2.0-or-later
/* What a tree consists of; see tally.h. */
#include <math.h>
#include <stdlib.h>

#include "diag.h"
#include "json.h"
#include "tally.h"

void moments_add(struct moments *moments, uint64_t number)
{
	double away = (double)number - moments->mean;

	moments->count++;
	moments->mean += away / (double)moments->count;
	moments->squares += away * ((double)number - moments->mean);
}

static void tell(struct json *json, const char *name,
		 const struct moments *moments)
{
	char *mean = text("%s_mean", name), *sd = text("%s_sd", name);

	if (moments->count) {
		json_real(json, mean, moments->mean);
		json_real(json, sd,
			  sqrt(moments->squares / (double)moments->count));
	}
	free(mean);
	free(sd);
}

void tally_json(struct json *json, const struct tally *tally)
{
	if (tally->folders) {
		json_count(json, "folders", tally->folders);
		json_count(json, "depth", tally->depth);
	}
	json_count(json, "files", tally->files);
	json_count(json, "bytes", tally->bytes);
	if (tally->others)
		json_count(json, "others", tally->others);
	tell(json, "files", &tally->files_each);
	tell(json, "dirs", &tally->dirs_each);
	tell(json, "size", &tally->size_each);
}
