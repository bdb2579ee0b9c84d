/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies given on stdin, as the library sums them up. */
#include <stdio.h>
#include <stdlib.h>
#include "diag.h"
#include "json.h"
#include "latency.h"

int main(void)
{
	struct json json = {.out = stdout};
	struct latency latency;
	unsigned long long count, value;

	if (scanf("%llu", &count) != 1)
		return 1;
	latency_open(&latency, count);
	while (scanf("%llu", &value) == 1)
		latency_add(&latency, value);
	if (latency_sort(&latency))
		return 1;
	json_object(&json, NULL);
	latency_json(&json, "latency", &latency);
	json_text(&json, "text", "\"\\\n\x01\xc3\xa9\xff\xed\xa0\x80");
	json_real(&json, "nan", 0.0 / 0.0);
	json_count(&json, "missing", COUNT_MISSING);
	json_end(&json);
	latency_close(&latency);
	return json_finish(&json);
}
