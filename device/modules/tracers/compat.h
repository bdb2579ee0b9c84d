/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Linux 5.10 to 6.12 name differently, and nothing else. */
#ifndef TRACERS_COMPAT_H
#define TRACERS_COMPAT_H

#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/proc_fs.h>
#include <linux/ptrace.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
static inline struct kretprobe *
get_kretprobe(struct kretprobe_instance *instance)
{
	return instance->rp;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 17, 0)
#define pde_data PDE_DATA
#endif

/* The n-th word that a function was called with, from 0. */
static inline unsigned long call_arg(const struct pt_regs *regs, unsigned int n)
{
#if defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)
	return regs_get_kernel_argument((struct pt_regs *)regs, n);
#elif defined(CONFIG_ARM)
	if (n < 4)
		return regs->uregs[n];
	return ((const unsigned long *)kernel_stack_pointer(
		(struct pt_regs *)regs))[n - 4];
#else
#error "how does this machine pass arguments?"
#endif
}

/* A page of a file: struct folio from 5.16 on, struct page before. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 16, 0)
typedef struct folio file_page;
#define file_page_uptodate folio_test_uptodate
#else
typedef struct page file_page;
#define file_page_uptodate PageUptodate
#endif

/* Is the first argument of vfs_unlink and others a user namespace or id map? */
#define VFS_HAS_IDMAP (LINUX_VERSION_CODE >= KERNEL_VERSION(5, 12, 0))

/* Do page_cache_sync_ra() and the like find file_ra_state in
 * readahead_control? */
#define RA_IN_CONTROL (LINUX_VERSION_CODE >= KERNEL_VERSION(5, 13, 0))

#endif
