// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The folder /proc/tracers: a file for each monitor and those of the core. A
 * write has commands, one a line; the first that is refused ends it.
 */
#include <linux/export.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "core.h"

#define COMMANDS_MAX 4096 /* bytes of one write */

struct proc_dir_entry *tracers_dir;
EXPORT_SYMBOL_GPL(tracers_dir);

static int monitor_start(struct monitor *monitor)
{
	int err;

	if (monitor->state == MONITOR_STOPPED) {
		err = monitor->start();
		if (err)
			return err;
	}
	monitor->state = MONITOR_RUNNING;
	WRITE_ONCE(monitor->recording, true);
	return 0;
}

static void monitor_stop(struct monitor *monitor)
{
	WRITE_ONCE(monitor->recording, false);
	if (monitor->state != MONITOR_STOPPED)
		monitor->stop();
	monitor->state = MONITOR_STOPPED;
}

static int monitor_pause(struct monitor *monitor)
{
	if (monitor->state == MONITOR_STOPPED)
		return tracers_refuse(-EINVAL, "%s: pause: it is not running",
				      monitor->name);
	WRITE_ONCE(monitor->recording, false);
	monitor->state = MONITOR_PAUSED;
	return 0;
}

/* What every monitor's file understands. -ENOTTY: something else. */
static int common_command(struct monitor *monitor, const char *word)
{
	if (!strcmp(word, "start"))
		return monitor_start(monitor);
	if (!strcmp(word, "pause"))
		return monitor_pause(monitor);
	if (!strcmp(word, "stop")) {
		monitor_stop(monitor);
	} else if (!strcmp(word, "reset")) {
		monitor->since = atomic64_read(&tracers_seq);
		monitor->reset();
	} else {
		return -ENOTTY;
	}
	return 0;
}

/* Starts all or none; pauses those that run. */
static int command_all(const char *word)
{
	struct monitor *monitor;
	enum monitor_state before;
	int err = 0;

	if (!strcmp(word, "reset")) {
		tracers_reset_all();
		return 0;
	}
	if (strcmp(word, "start") && strcmp(word, "pause") &&
	    strcmp(word, "stop"))
		return -ENOTTY;
	list_for_each_entry (monitor, &tracers_monitors, list) {
		before = monitor->state;
		if (*word == 'p' && before == MONITOR_STOPPED)
			continue;
		err = common_command(monitor, word);
		if (err)
			break;
	}
	if (!err)
		return 0;
	list_for_each_entry_continue_reverse(monitor, &tracers_monitors, list)
		monitor_stop(monitor);
	return err;
}

static int set_switch(bool *value, const char *what, const char *rest)
{
	if (!strcmp(rest, "on"))
		*value = true;
	else if (!strcmp(rest, "off"))
		*value = false;
	else
		return tracers_refuse(-EINVAL, "%s: on or off", what);
	return 0;
}

static int set_mode(const char *rest)
{
	if (!strcmp(rest, "overwrite"))
		ring_overwrites = true;
	else if (!strcmp(rest, "full"))
		ring_overwrites = false;
	else
		return tracers_refuse(-EINVAL, "mode: overwrite or full");
	return 0;
}

/* The mode changes how rings are read, so it changes only between traces. */
static int command_mode(const char *rest)
{
	struct monitor *monitor;

	list_for_each_entry (monitor, &tracers_monitors, list)
		if (monitor->state != MONITOR_STOPPED)
			return tracers_refuse(-EBUSY, "mode: %s is running",
					      monitor->name);
	return set_mode(rest);
}

static int control_command(const char *word, char *rest)
{
	if (!strcmp(word, "mark"))
		return tracers_mark(rest);
	if (!strcmp(word, "task"))
		return tracers_set_task_filter(rest);
	if (!strcmp(word, "mode"))
		return command_mode(rest);
	if (!strcmp(word, "names"))
		return set_switch(&task_names, "names", rest);
	if (*rest)
		return -ENOTTY;
	return command_all(word);
}

int command_run(struct monitor *monitor, char *line)
{
	const char *who = monitor ? monitor->name : "control";
	char *rest = strim(line), *word = strsep(&rest, " \t");
	int err = -ENOTTY;

	if (!*word)
		return 0;
	rest = rest ? skip_spaces(rest) : "";
	if (!monitor)
		err = control_command(word, rest);
	else if (!*rest)
		err = common_command(monitor, word);
	if (monitor && err == -ENOTTY)
		err = !strcmp(word, "mark") ? tracers_mark(rest)
					    : monitor->command(word, rest);
	if (err == -ENOTTY)
		err = tracers_refuse(-EINVAL, "%s: no command '%s%s%s'", who,
				     word, *rest ? " " : "", rest);
	return err;
}

static ssize_t commands_write(struct file *file, const char __user *buf,
			      size_t bytes, loff_t *pos)
{
	struct monitor *monitor = pde_data(file_inode(file));
	char *text, *next, *line;
	int err = 0;

	if (bytes > COMMANDS_MAX)
		return -E2BIG;
	text = memdup_user_nul(buf, bytes);
	if (IS_ERR(text))
		return PTR_ERR(text);
	next = text;
	mutex_lock(&tracers_lock);
	while (!err && (line = strsep(&next, "\n")))
		err = command_run(monitor, line);
	mutex_unlock(&tracers_lock);
	kfree(text);
	return err ? err : bytes;
}

static int status_show(struct seq_file *file, void *unused)
{
	mutex_lock(&tracers_lock);
	tracers_status(file);
	mutex_unlock(&tracers_lock);
	return 0;
}

static int names_show(struct seq_file *file, void *unused)
{
	struct monitor *monitor;

	mutex_lock(&tracers_lock);
	tasks_names(file);
	list_for_each_entry (monitor, &tracers_monitors, list)
		monitor->names(file);
	mutex_unlock(&tracers_lock);
	return 0;
}

static const struct proc_ops log_ops = {
	.proc_open = log_open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = log_release,
	.proc_write = commands_write,
};

static const struct proc_ops stream_ops = {
	.proc_open = stream_open,
	.proc_read = stream_read,
};

int proc_init(void)
{
	tracers_dir = proc_mkdir("tracers", NULL);
	if (tracers_dir &&
	    proc_create("control", 0600, tracers_dir, &log_ops) &&
	    proc_create("records", 0400, tracers_dir, &stream_ops) &&
	    proc_create_single("status", 0400, tracers_dir, status_show) &&
	    proc_create_single("names", 0400, tracers_dir, names_show))
		return 0;
	proc_exit();
	return -ENOMEM;
}

void proc_exit(void)
{
	proc_remove(tracers_dir);
}

int proc_add(struct monitor *monitor)
{
	monitor->file = proc_create_data(monitor->name, 0600, tracers_dir,
					 &log_ops, monitor);
	return monitor->file ? 0 : -ENOMEM;
}

void proc_remove_monitor(struct monitor *monitor)
{
	proc_remove(monitor->file);
}
