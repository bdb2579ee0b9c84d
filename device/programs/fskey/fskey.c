// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fskey: gives the kernel a key that a file system signs or encrypts by.
 *
 * --logon NAME adds a key of the type "logon" to the user's keyring, where a
 * mount with UBIFS's auth_key=NAME looks for it. --encrypt FOLDER adds a key to
 * the file system that FOLDER is on, and has FOLDER encrypted by it, names and
 * content, if it is not yet: it must be empty then. Keys are lost at an
 * unmount, the policy of a folder stays, so this is done after each mount.
 *
 * The keys are fixed and known to all: they protect nothing, and give the same
 * flash content each time but for the nonces that the kernel draws.
 *
 * Needs a kernel with CONFIG_KEYS, or with CONFIG_FS_ENCRYPTION and, for
 * AES-256, its ciphers XTS and CTS. Costs no flash operation but those of the
 * policy, which is an extended attribute.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fscrypt.h>
#include <linux/keyctl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checked.h"
#include "diag.h"
#include "options.h"

#define LOGON_BYTES  32 /* a key of HMAC-SHA256 */
#define MASTER_BYTES 64 /* a key of AES-256-XTS has two halves */

struct request {
	const char *logon;
	const char *folder;
};

static int take_logon(void *context, const char *value)
{
	if (!strchr(value, ':'))
		return fail("--logon %s: a key's name is PREFIX:NAME", value);
	((struct request *)context)->logon = value;
	return 0;
}

static int take_folder(void *context, const char *value)
{
	((struct request *)context)->folder = value;
	return 0;
}

static const struct option_decl options[] = {
	{"logon", "PREFIX:NAME", "add a logon key to the user's keyring",
	 take_logon},
	{"encrypt", "FOLDER",
	 "add a key to its file system, and encrypt this empty folder by it",
	 take_folder},
};

static void fill_key(unsigned char *key, size_t size)
{
	for (size_t i = 0; i < size; i++)
		key[i] = (unsigned char)(i + 1);
}

static int add_logon_key(const char *name)
{
	unsigned char key[LOGON_BYTES];

	fill_key(key, sizeof(key));
	if (syscall(SYS_add_key, "logon", name, key, sizeof(key),
		    KEY_SPEC_USER_KEYRING) < 0)
		return fail_errno("add the key", name);
	return 0;
}

static int add_master_key(int fd, const char *folder,
			  struct fscrypt_key_specifier *specifier)
{
	struct fscrypt_add_key_arg *arg =
		allocate(1, sizeof(*arg) + MASTER_BYTES, "a key");
	int ret = 0;

	arg->key_spec.type = FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER;
	arg->raw_size = MASTER_BYTES;
	fill_key(arg->raw, MASTER_BYTES);
	if (ioctl(fd, FS_IOC_ADD_ENCRYPTION_KEY, arg))
		ret = fail_errno("add a key to the file system of", folder);
	*specifier = arg->key_spec;
	free(arg);
	return ret;
}

/* A folder that has this policy already is left as it is. */
static int set_policy(int fd, const char *folder,
		      const struct fscrypt_key_specifier *specifier)
{
	struct fscrypt_policy_v2 policy = {
		.version = FSCRYPT_POLICY_V2,
		.contents_encryption_mode = FSCRYPT_MODE_AES_256_XTS,
		.filenames_encryption_mode = FSCRYPT_MODE_AES_256_CTS,
		.flags = FSCRYPT_POLICY_FLAGS_PAD_32,
	};

	memcpy(policy.master_key_identifier, specifier->u.identifier,
	       sizeof(policy.master_key_identifier));
	if (ioctl(fd, FS_IOC_SET_ENCRYPTION_POLICY, &policy))
		return fail_errno("encrypt", folder);
	return 0;
}

static int encrypt_folder(const char *folder)
{
	struct fscrypt_key_specifier specifier;
	int fd = checked_open(folder, O_RDONLY | O_DIRECTORY, 0);
	int ret;

	if (fd < 0)
		return -1;
	ret = add_master_key(fd, folder, &specifier);
	if (!ret)
		ret = set_policy(fd, folder, &specifier);
	if (checked_close(fd, folder))
		ret = -1;
	return ret;
}

int main(int argc, char **argv)
{
	struct request request = {};
	bool helped;

	(void)argc;
	diag_program = "fskey";
	if (options_walk(options, sizeof(options) / sizeof(*options), argv + 1,
			 &request, "--logon PREFIX:NAME | --encrypt FOLDER",
			 "Give the kernel a key of a file system.", &helped))
		return helped ? EXIT_OK : EXIT_USAGE;
	if (!request.logon && !request.folder) {
		fail("give --logon or --encrypt");
		return EXIT_USAGE;
	}
	if (request.logon && add_logon_key(request.logon))
		return EXIT_RUN_FAILED;
	if (request.folder && encrypt_folder(request.folder))
		return EXIT_RUN_FAILED;
	return EXIT_OK;
}
