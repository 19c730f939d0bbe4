// A playbook whose processes cling to life: in the foreground, asynchronous, and split off in sessions of their own.
import { randomBytes } from "node:crypto";

export interface Stubborn {
  /** Stands in the command line of every process that the playbook leaves. */
  readonly mark: string;
  readonly files: Readonly<Record<string, string>>;
  /** How many processes stand when the playbook waits. */
  readonly processes: number;
}

const DEAF = `import signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
time.sleep(600)
`;

const DAEMON = `import os, signal, socket, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ear = socket.socket(socket.AF_UNIX)
        ear.bind("/work/project/" + sys.argv[1])
        ear.listen()
        os.set_inheritable(ear.fileno(), True)
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        os.execv("/bin/sleep", [sys.argv[1], "600"])
    os._exit(0)
os.wait()
`;

export function stubborn(): Stubborn {
  const mark = `mark-${randomBytes(8).toString("hex")}`;
  return {
    mark,
    processes: 3,
    files: {
      "inventory.ini": "one ansible_connection=local\n",
      "deaf.py": DEAF,
      "daemon.py": DAEMON,
      "site.yml": `- name: Stay
  hosts: all
  gather_facts: false
  tasks:
    - name: Leave a daemon
      ansible.builtin.command: python3 /work/project/daemon.py ${mark}-daemon
    - name: Leave an asynchronous job
      ansible.builtin.command: python3 /work/project/deaf.py ${mark}-async
      async: 600
      poll: 0
    - name: Wait in the foreground
      ansible.builtin.command: python3 /work/project/deaf.py ${mark}-front
`,
    },
  };
}

/** A playbook that is done at once. */
export const QUICK = {
  "inventory.ini": "one ansible_connection=local\n",
  "site.yml": `- name: Quick
  hosts: all
  gather_facts: false
  tasks:
    - name: Look
      ansible.builtin.ping:
`,
} as const;
