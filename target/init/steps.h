// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job's steps: shell commands, run one by one, each with its deadline.
 */
#ifndef NANDLAB_INIT_STEPS_H
#define NANDLAB_INIT_STEPS_H

#define JOB_DIR "/job"

/*
 * Runs all steps of the text, a line each, and records each one's begin and
 * end. A line is NAME <tab> DEADLINE_S <tab> SHELL COMMAND.
 */
void run_steps(char *text);

#endif
