/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The weighted list of directories to work in: "set location" and its forms.
 */
#ifndef FFSMARK_LOCATIONS_H
#define FFSMARK_LOCATIONS_H

#include "config.h"
#include "settings.h"

void locations_clear(struct config *config);

/* The three functions of its setting; see settings.h. */
char *locations_parse(void *config, const char *value);
void locations_print(FILE *out, const struct setting *setting,
		     const void *config);
void locations_emit(struct json *json, const void *config);

#endif
