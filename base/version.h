/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define FIO_DATAPLANE_VERSION	"0.1.0"

#endif /* BASE_VERSION_H */
