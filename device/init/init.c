// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init: the first and only service of a nandlab board.
 *
 * It mounts what Linux needs, seeds the kernel's random numbers, loads the NAND
 * core that each job's chip is built on, says that it is ready, waits to be
 * given a job, runs the job's steps one by one and reports each as a line of
 * JSON on the status channel. A report has
 * the step's start and end on CLOCK_MONOTONIC, the clock that the chip's
 * latencies are part of, what the step printed, and the chip's counters. Before
 * these come two reports of the RAM that is available: when the board is ready,
 * and when the job is unpacked and has not begun. Init measures nothing else:
 * whatever else is measured, a step measures and prints.
 *
 * Init meets the host in two places, and neither lets host time into the guest:
 *
 * - The doorbell, a pvpanic port: one write stops the virtual machine within
 *   that instruction. Init rings when the board is ready and at rest; the host
 *   then saves the board's state, once, and hands over a job each time that it
 *   restores it. Init rings again when the job is done.
 * - The job, a cpio archive in memory that the kernel does not use. The host
 *   leaves it there before it restores the saved state, and init unpacks it.
 *   The kernel's command line has its address. It holds the job's folder and
 *   programs. "job/steps" has a line NAME <tab> DEADLINE_S <tab> SHELL COMMAND
 *   for each step; beside it lie the files that the steps use. The first step
 *   runs at a whole second that depends on the saved state alone, and as many
 *   ns later as "job/start" says. A job without "job/steps" is an interactive
 *   shell on the console.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "moment.h"
#include "reports.h"
#include "seed.h"
#include "steps.h"
#include "unpack.h"

#define CONSOLE	       "/dev/console"
#define JOB_ADDRESS    "nandlab.job="
#define DOORBELL_PORT  0x505
#define DOORBELL_RING  1
#define EXACT_DOORBELL "/sys/module/doorbell/parameters/ring"
#define KERNEL_LOG     "/dev/kmsg"
#define SYSLOG_CLEAR   5 /* syslog(2) has the number, no header its name */

static void mount_or_die(const char *type, const char *dir)
{
	if (mkdir(dir, 0755) && errno != EEXIST)
		die(dir);
	if (mount(type, dir, type, 0, NULL) && errno != EBUSY)
		die(dir);
}

static void ring_doorbell(void)
{
	outb(DOORBELL_RING, DOORBELL_PORT);
}

/* Runs a command that init itself needs, to its end. */
static void run_or_die(const char *command)
{
	int status = system(command);

	if (status) {
		errno = status == -1 ? errno : ECHILD;
		die(command);
	}
}

/*
 * Rings, so that the host saves the state. On a board whose clock must repeat,
 * the module doorbell rings: every state saved here is then the same.
 */
static void be_saved(bool exact)
{
	int bell;

	if (!exact) {
		ring_doorbell();
		return;
	}
	bell = open(EXACT_DOORBELL, O_WRONLY);
	if (bell < 0 || write(bell, "1", 1) != 1 || close(bell))
		die(EXACT_DOORBELL);
}

/*
 * Leaves one line in the kernel's log. A job that sends the log to the host
 * does not send what the kernel said as it booted, some 25 kB byte by byte. By
 * the line it sees that nothing was lost since.
 */
static void begin_log(void)
{
	FILE *log = fopen(KERNEL_LOG, "w");

	if (!log || klogctl(SYSLOG_CLEAR, NULL, 0) < 0 ||
	    fputs("<6>init: ready\n", log) < 0 || fclose(log))
		die(KERNEL_LOG);
}

/* What follows @word in the kernel's command line, to be freed; or NULL. */
static char *asked_for(const char *word)
{
	size_t size;
	char *text = read_file("/proc/cmdline", &size);
	char *at = text ? strstr(text, word) : NULL;
	char *value = at ? strdup(at + strlen(word)) : NULL;

	free(text);
	if (value)
		value[strcspn(value, " \n")] = '\0';
	return value;
}

static void interactive_shell(void)
{
	setsid();
	for (;;) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/sh", "sh", "-c",
			      "exec sh -l <>" CONSOLE " >&0 2>&1", NULL);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			die("shell");
		reboot(RB_POWER_OFF);
	}
}

static void prepare(void)
{
	sigset_t child;

	mount_or_die("proc", "/proc");
	mount_or_die("sysfs", "/sys");
	mount_or_die("devtmpfs", "/dev");
	mount_or_die("tmpfs", "/tmp");
	mount_or_die("debugfs", "/sys/kernel/debug");
	if (mkdir("/mnt", 0755) && errno != EEXIST)
		die("/mnt");
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	setenv("PATH", "/sbin:/bin:/usr/sbin:/usr/bin", 1);
	setenv("HOME", "/", 1);
	if (ioperm(DOORBELL_PORT, 1, 1))
		die("ioperm");
}

/* Unpacks the job's folder and programs from where the host has left them. */
static void unpack(void)
{
	char *address = asked_for(JOB_ADDRESS);

	errno = EINVAL;
	if (!address)
		die("/proc/cmdline: no " JOB_ADDRESS);
	unpack_job(strtoull(address, NULL, 0));
	free(address);
}

int main(void)
{
	size_t size;
	char *steps;
	bool exact;
	int64_t saved_ns;

	prepare();
	channel_open();
	exact = asked_for("nandlab.exact") != NULL;
	if (exact)
		run_or_die("modprobe nopidle && modprobe doorbell");
	run_or_die("modprobe nand");
	seed_random();
	begin_log();
	await_rest();
	report_ready();
	saved_ns = now_ns();
	be_saved(exact);

	unpack();
	steps = read_file(JOB_DIR "/steps", &size);
	if (!steps)
		interactive_shell();
	report_job();
	steps_begin();
	await_start(saved_ns, JOB_DIR "/start");
	run_steps(steps);
	ring_doorbell();
	pause();
	return 0;
}
