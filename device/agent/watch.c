// SPDX-License-Identifier: GPL-2.0-or-later
#include <ctype.h>
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "channel.h"
#include "moment.h"
#include "watch.h"

#define ALIVE	 '\006' /* no record has it; the host's remote.py has it too */
#define TELL_MS	 2000
#define QUIET_NS (15 * NS_PER_S)

void watch_begin(void)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		die("prctl");
}

static pid_t parent_of(const char *pid)
{
	char path[64], stat[512];
	const char *past_name;
	size_t n = 0;
	FILE *f;
	int parent;

	snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "r");
	if (f) {
		n = fread(stat, 1, sizeof(stat) - 1, f);
		fclose(f);
	}
	stat[n] = '\0';
	past_name = strrchr(stat, ')');
	if (!past_name || sscanf(past_name, ") %*c %d", &parent) != 1)
		return -1;
	return parent;
}

static void kill_children(void)
{
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		die("/proc");
	while ((entry = readdir(dir)))
		if (isdigit(entry->d_name[0]) &&
		    parent_of(entry->d_name) == getpid())
			kill(atoi(entry->d_name), SIGKILL);
	closedir(dir);
}

/* Each child that ends leaves its own children to this process. */
static void end_all(void)
{
	do
		kill_children();
	while (wait(NULL) > 0);
}

static int has_ended(pid_t runner, int *status)
{
	pid_t got;
	int any;

	while ((got = waitpid(-1, &any, WNOHANG)) > 0)
		if (got == runner) {
			*status = any;
			return 1;
		}
	return 0;
}

/* Takes what the host sent; 0: its end is closed. */
static int heard(int64_t *last_ns)
{
	char bytes[256];

	if (read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0)
		return 0;
	*last_ns = now_ns();
	return 1;
}

static int children_signal(void)
{
	sigset_t child;
	int fd;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		die("signalfd");
	return fd;
}

int watch(pid_t runner)
{
	struct pollfd on[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			      {.fd = children_signal(), .events = POLLIN}};
	struct signalfd_siginfo info;
	int64_t last_ns = now_ns();
	int status = -1;

	while (!has_ended(runner, &status)) {
		int n = poll(on, 2, TELL_MS);
		const char alive = ALIVE;

		if (on[1].revents && read(on[1].fd, &info, sizeof(info)) < 0)
			continue;
		if (n > 0 && on[0].revents && !heard(&last_ns))
			break;
		if (now_ns() - last_ns > QUIET_NS)
			break;
		if (!n && write(STDOUT_FILENO, &alive, 1) != 1)
			break;
	}
	end_all();
	return status;
}
