// SPDX-License-Identifier: GPL-2.0-or-later
/* vmalloc() has no tracepoint: probes sit on the function that all its forms
 * end in, and on vfree(). */
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "events.h"

/*
 * What a function was called with. The caller is the ninth argument of
 * __vmalloc_node_range(). An x86 has six arguments in registers, and on the
 * stack the return address before the others. An ARM has four, and no such
 * address; there a page's protection may be of two words.
 */
#ifdef CONFIG_HAVE_FUNCTION_ARG_ACCESS_API
#define call_argument(regs, n) regs_get_kernel_argument(regs, n)
#define range_caller(regs)     regs_get_kernel_stack_nth(regs, 3)
#elif defined(CONFIG_ARM)
#define stack_words(regs)      ((const unsigned long *)kernel_stack_pointer(regs))
#define call_argument(regs, n) ((regs)->uregs[n])
#define range_caller(regs) \
	(stack_words(regs)[sizeof(pgprot_t) > sizeof(long) ? 6 : 4])
#else
#error "how does this machine pass arguments?"
#endif

struct vmalloc_call {
	unsigned long caller;
	unsigned long bytes;
};

/* __vmalloc_area_node(area, ...) */
static int on_vmalloc_area(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;
	struct vm_struct *area = (void *)call_argument(regs, 0);

	call->bytes = get_vm_area_size(area);
	call->caller = (unsigned long)area->caller;
	return 0;
}

/* __vmalloc_node_range(size, align, start, end, gfp, prot, vm_flags, node,
 * caller) */
static int on_vmalloc_range(struct kretprobe_instance *instance,
			    struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;

	call->bytes = PAGE_ALIGN(call_argument(regs, 0));
	call->caller = range_caller(regs);
	return 0;
}

static int on_vmalloc_done(struct kretprobe_instance *instance,
			   struct pt_regs *regs)
{
	struct vmalloc_call *call = (void *)instance->data;

	allocated(call->caller, (void *)regs_return_value(regs), call->bytes,
		  RAM_VMALLOC);
	return 0;
}

static int on_vfree(struct kprobe *probe, struct pt_regs *regs)
{
	freed((void *)call_argument(regs, 0));
	return 0;
}

static struct kretprobe vmalloc_probe = {
	.handler = on_vmalloc_done,
	.data_size = sizeof(struct vmalloc_call),
	.maxactive = 16,
};

static struct kprobe vfree_probe = {
	.symbol_name = "vfree",
	.pre_handler = on_vfree,
};

/* The function that all forms of vmalloc() end in. The compiler inlines one of
 * the two; in Linux 5.10 the inner one is left. */
static const struct {
	const char *name;
	kretprobe_handler_t on_entry;
} vmalloc_places[] = {
	{"__vmalloc_area_node", on_vmalloc_area},
	{"__vmalloc_area_node_noprof", on_vmalloc_area},
	{"__vmalloc_node_range", on_vmalloc_range},
	{"__vmalloc_node_range_noprof", on_vmalloc_range},
};

int attach_vmalloc(void)
{
	int i, err = -ENOENT;

	for (i = 0; err && i < ARRAY_SIZE(vmalloc_places); i++) {
		vmalloc_probe.kp.symbol_name = vmalloc_places[i].name;
		vmalloc_probe.kp.addr = NULL;
		vmalloc_probe.entry_handler = vmalloc_places[i].on_entry;
		err = register_kretprobe(&vmalloc_probe);
	}
	if (err)
		return err;
	err = register_kprobe(&vfree_probe);
	if (err)
		unregister_kretprobe(&vmalloc_probe);
	return err;
}

void detach_vmalloc(void)
{
	unregister_kprobe(&vfree_probe);
	unregister_kretprobe(&vmalloc_probe);
}
