// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A job's steps: shell commands, run one by one, each with its deadline.
 */
#ifndef NANDLAB_INIT_STEPS_H
#define NANDLAB_INIT_STEPS_H

#ifndef JOB_DIR
#define JOB_DIR "/job"
#endif

/* Notes how many processes the kernel has killed for lack of memory until now:
 * they are not the job's. Called before the moment of the first step. */
void steps_begin(void);

/*
 * Runs the steps in the text, one per line, and records the begin and end of
 * each. A line is NAME <tab> DEADLINE_S <tab> SHELL COMMAND; a deadline is at
 * most LONGEST_NS. After a step that fails, only steps whose names begin with
 * "always-" run.
 */
void run_steps(char *text);

#endif
