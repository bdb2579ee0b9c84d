// SPDX-License-Identifier: GPL-2.0-or-later
/* Verdicts by name and letter, and the first finding of a point. */
#include <stdarg.h>
#include <stdio.h>

#include "cuts/cuts.h"

const char *const cuts_verdict_names[] = {
	"held",
	"unmountable",
	"never mounts again",
	"lost",
	"wrong content",
	"stale bytes",
	"another second mount",
	"unreadable",
	"resurrected",
	"unknown name",
	"two names of a folder",
	"call fails",
	"metadata",
	"two names after a rename",
	"not writable",
	"kernel warning",
	"check fails",
	"another verdict again",
};
const char cuts_verdict_letters[] = ".MNLWSDERUFBX2AKCV";

void cuts_found(struct finding *finding, enum verdict verdict,
		const char *format, ...)
{
	va_list list;

	if (finding->verdict != HELD)
		return;
	finding->verdict = verdict;
	va_start(list, format);
	vsnprintf(finding->what, sizeof(finding->what), format, list);
	va_end(list);
}
