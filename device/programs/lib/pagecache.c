// SPDX-License-Identifier: GPL-2.0-or-later
/* The page-cache drop; see pagecache.h. */
#include <fcntl.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "pagecache.h"

int pagecache_drop(const char *control)
{
	int fd, error;

	sync();
	fd = checked_open(control, O_WRONLY, 0);
	if (fd < 0)
		return fail("the page cache was not dropped: be root, or take "
			    "'set drop' out of the configuration");
	error = checked_write(fd, "3\n", 2, control);
	return checked_close(fd, control) ? -1 : error;
}
