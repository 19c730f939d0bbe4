// SPDX-License-Identifier: Apache-2.0
// System call numbers the filter needs, for the two machines we run on.
// Both use one numbering from 424 upwards.

export type Machine = "x64" | "arm64";

/** Refused with EPERM: powers no tool in a sandbox needs. */
export const FORBIDDEN = [
  // other processes' memory and descriptors
  "ptrace",
  "process_vm_readv",
  "process_vm_writev",
  "pidfd_getfd",
  "process_madvise",
  "kcmp",
  // kernel machinery with a long record of privilege bugs
  "bpf",
  "perf_event_open",
  "userfaultfd",
  "keyctl",
  "add_key",
  "request_key",
  "fanotify_init",
  // the mount tree and namespaces
  "mount",
  "umount2",
  "pivot_root",
  "chroot",
  "fsopen",
  "fsconfig",
  "fsmount",
  "fspick",
  "move_mount",
  "open_tree",
  "open_tree_attr",
  "mount_setattr",
  "unshare",
  "setns",
  "open_by_handle_at",
  // the machine itself
  "kexec_load",
  "kexec_file_load",
  "init_module",
  "finit_module",
  "delete_module",
  "swapon",
  "swapoff",
  "reboot",
  "acct",
  "quotactl",
  "quotactl_fd",
  "syslog",
  "settimeofday",
  "clock_settime",
  "clock_adjtime",
  "sethostname",
  "setdomainname",
  "vhangup",
  "move_pages",
  "migrate_pages",
] as const;

/** Answered with ENOSYS, so that programs take their older way by themselves. */
export const ABSENT = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"] as const;

/** Looked into by argument. */
export const INSPECTED = ["ioctl", "socket", "clone"] as const;

/** file_setattr, of Linux 6.17. What comes later is unknown to us, so absent. */
export const NEWEST_KNOWN = 469;

export type Syscall =
  | (typeof FORBIDDEN)[number]
  | (typeof ABSENT)[number]
  | (typeof INSPECTED)[number];

type Numbers = Readonly<Record<Syscall, number>>;

const UNIFIED = {
  io_uring_setup: 425,
  io_uring_enter: 426,
  io_uring_register: 427,
  open_tree: 428,
  move_mount: 429,
  fsopen: 430,
  fsconfig: 431,
  fsmount: 432,
  fspick: 433,
  clone3: 435,
  pidfd_getfd: 438,
  process_madvise: 440,
  mount_setattr: 442,
  quotactl_fd: 443,
  open_tree_attr: 467,
} as const;

export const NUMBERS: Readonly<Record<Machine, Numbers>> = {
  x64: {
    ...UNIFIED,
    ioctl: 16,
    socket: 41,
    clone: 56,
    ptrace: 101,
    syslog: 103,
    vhangup: 153,
    pivot_root: 155,
    chroot: 161,
    acct: 163,
    settimeofday: 164,
    mount: 165,
    umount2: 166,
    swapon: 167,
    swapoff: 168,
    reboot: 169,
    sethostname: 170,
    setdomainname: 171,
    init_module: 175,
    delete_module: 176,
    quotactl: 179,
    clock_settime: 227,
    kexec_load: 246,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    migrate_pages: 256,
    unshare: 272,
    move_pages: 279,
    perf_event_open: 298,
    fanotify_init: 300,
    open_by_handle_at: 304,
    clock_adjtime: 305,
    setns: 308,
    process_vm_readv: 310,
    process_vm_writev: 311,
    kcmp: 312,
    finit_module: 313,
    kexec_file_load: 320,
    bpf: 321,
    userfaultfd: 323,
  },
  arm64: {
    ...UNIFIED,
    ioctl: 29,
    umount2: 39,
    mount: 40,
    pivot_root: 41,
    chroot: 51,
    vhangup: 58,
    quotactl: 60,
    acct: 89,
    unshare: 97,
    kexec_load: 104,
    init_module: 105,
    delete_module: 106,
    clock_settime: 112,
    syslog: 116,
    ptrace: 117,
    reboot: 142,
    sethostname: 161,
    setdomainname: 162,
    settimeofday: 170,
    socket: 198,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    clone: 220,
    swapon: 224,
    swapoff: 225,
    migrate_pages: 238,
    move_pages: 239,
    perf_event_open: 241,
    fanotify_init: 262,
    open_by_handle_at: 265,
    clock_adjtime: 266,
    setns: 268,
    process_vm_readv: 270,
    process_vm_writev: 271,
    kcmp: 272,
    finit_module: 273,
    bpf: 280,
    userfaultfd: 282,
    kexec_file_load: 294,
  },
};
