// SPDX-License-Identifier: GPL-2.0-or-later
/* The outcomes of a load as a JSON line. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuts/campaign.h"
#include "diag.h"
#include "json.h"

static void tell_finding(struct json *json, const struct tally *tally,
			 enum verdict verdict)
{
	json_object(json, NULL);
	json_text(json, "class", cuts_verdict_names[verdict]);
	json_count(json, "count", tally->count[verdict]);
	json_text(json, "first", tally->where[verdict]);
	json_text(json, "what", tally->first[verdict].what);
	json_end(json);
}

static void tell_hex(struct json *json, const char *key, uint64_t value)
{
	char digits[20];

	snprintf(digits, sizeof(digits), "%" PRIx64, value);
	json_text(json, key, digits);
}

/* Files that the last check made longer, for who reads the chip that it left.
 */
static void tell_longer(struct json *json, const struct load *load)
{
	int i;

	json_array(json, "longer");
	for (i = 0; i < load->names; i++)
		if (extend_is_longer(i))
			json_text(json, NULL, load->name[i].path);
	json_end(json);
}

void cuts_note(struct tally *tally, const char *what,
	       const struct finding *finding)
{
	char *more = text("%s%s\t%s\n", tally->notes ? tally->notes : "",
			  cuts_verdict_names[finding->verdict], what);

	free(tally->notes);
	tally->notes = more;
}

static void tell_notes(struct json *json, char *notes)
{
	char *line;

	json_array(json, "notes");
	while ((line = strsep(&notes, "\n")))
		if (*line)
			json_text(json, NULL, line);
	json_end(json);
}

int cuts_tell(const struct request *request, const struct load *load,
	      const struct tally *tally)
{
	struct json json = {.out = stdout};
	int i;

	json_object(&json, NULL);
	json_text(&json, "load", load->title);
	json_count(&json, "operations", tally->operations);
	json_count(&json, "points", tally->points);
	json_count(&json, "recovery_points", tally->recovery_points);
	json_count(&json, "second_points", tally->second_points);
	json_count(&json, "told", tally->told);
	json_count(&json, "read_only", tally->read_only);
	json_count(&json, "held", tally->count[HELD]);
	tell_hex(&json, "recording", tally->recording);
	tell_hex(&json, "chip", tally->chip);
	json_text(&json, "kinds", tally->kinds);
	json_object(&json, "outcomes");
	for (i = 0; i < request->variant_count; i++)
		json_text(&json, request->variants[i], tally->outcome[i]);
	json_end(&json);
	if (request->leave)
		tell_longer(&json, load);
	if (tally->notes)
		tell_notes(&json, tally->notes);
	json_array(&json, "findings");
	for (i = 1; i < VERDICTS; i++)
		if (tally->count[i])
			tell_finding(&json, tally, i);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

int cuts_tell_failed(const struct load *load, uint32_t operations,
		     const struct finding *finding)
{
	struct tally tally = {.count[CALL_FAILS] = 1,
			      .first[CALL_FAILS] = *finding};
	struct json json = {.out = stdout};

	snprintf(tally.where[CALL_FAILS], WHERE_BYTES, "%u:before:1",
		 operations);
	json_object(&json, NULL);
	json_text(&json, "load", load->title);
	json_count(&json, "points", 1);
	json_array(&json, "findings");
	tell_finding(&json, &tally, CALL_FAILS);
	json_end(&json);
	json_end(&json);
	return json_finish(&json);
}

int cuts_tell_refused(const struct load *load)
{
	struct json json = {.out = stdout};

	json_object(&json, NULL);
	json_text(&json, "load", load->title);
	json_text(&json, "refused", strerror(diag_errno()));
	json_end(&json);
	return json_finish(&json);
}
