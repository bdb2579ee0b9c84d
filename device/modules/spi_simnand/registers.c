// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Registers of an SPI-NAND. What the ECC did is told in the way of the part's
 * maker, as the kernel's drivers/mtd/nand/spi reads it.
 */
#include "spi.h"

enum {
	MAKER_MICRON = 0x2c,
	MAKER_GIGADEVICE = 0xc8,
	ECC_CLEAN = 0 << 4,
	ECC_CORRECTED = 1 << 4,
	ECC_FAILED = 2 << 4,
	GIGADEVICE_8_BITS = 3 << 4,
	MICRON_4_TO_6_BITS = 3 << 4,
	MICRON_7_OR_8_BITS = 5 << 4,
};

void spi_wake(struct spi_chip *spi)
{
	struct chip *chip = &spi->sim->chip;

	chip->feature[REG_LOCK][0] = LOCK_ALL;
	chip->feature[REG_CONFIG][0] = CONFIG_ECC;
	spi->write_enabled = false;
	spi->failed = 0;
	spi->corrected = 0;
	spi->uncorrectable = false;
	spi->ready_ns = 0;
	spi->awake = true;
}

u8 spi_ecc_status(const struct spi_chip *spi)
{
	u8 maker = spi->sim->chip.params.id[0];
	unsigned int bits = spi->corrected;
	bool eight = spi->sim->params.ecc_strength == 8;

	if (spi->uncorrectable)
		return ECC_FAILED;
	if (!bits)
		return ECC_CLEAN;
	if (eight && maker == MAKER_GIGADEVICE && bits == 8)
		return GIGADEVICE_8_BITS;
	if (eight && maker == MAKER_MICRON && bits >= 4)
		return bits >= 7 ? MICRON_7_OR_8_BITS : MICRON_4_TO_6_BITS;
	return ECC_CORRECTED;
}

u8 spi_register(const struct spi_chip *spi, u8 number, u64 now_ns)
{
	u8 status = spi->failed | spi_ecc_status(spi);

	switch (number) {
	case REG_STATUS:
		if (now_ns < spi->ready_ns)
			status |= STATUS_BUSY;
		if (spi->write_enabled)
			status |= STATUS_WRITE_ENABLED;
		return status;
	case REG_FLIPS:
		return spi->corrected << 4;
	default:
		return spi->sim->chip.feature[number][0];
	}
}
