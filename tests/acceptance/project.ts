// The project that the acceptance scenarios run: its inventories name the ports of one lab.
import type { Lab } from "./sshd.ts";

const CONFIG = `[defaults]
timeout = 8
`;

const PLAIN = `- name: Plain work
  hosts: all
  gather_facts: false
  tasks:
    - name: Say hello
      ansible.builtin.command: /bin/echo hello
      changed_when: false
    - name: Leave a file
      ansible.builtin.copy:
        content: "left by {{ inventory_hostname }}"
        dest: "{{ left_at }}/{{ inventory_hostname }}"
        mode: "0644"
    - name: Work in the background
      ansible.builtin.command: "true"
      async: 30
      poll: 1
      changed_when: false
      register: background
    - name: Its job file is the login's own
      ansible.builtin.assert:
        that: background.results_file is not match('/tmp/ansible')
      when: not ansible_check_mode
`;

const REACH = `- name: Reach every host
  hosts: all
  gather_facts: false
  tasks:
    - name: First contact
      ansible.builtin.command: /bin/true
      changed_when: false
    - name: Second contact
      ansible.builtin.command: /bin/true
      changed_when: false
`;

const BECOME = `- name: Become another
  hosts: all
  gather_facts: false
  tasks:
    - name: Act as somebody else
      ansible.builtin.raw: id
      changed_when: false
      become: true
`;

const FLOW = `- name: Mend what fails
  hosts: fleet
  gather_facts: false
  tasks:
    - name: Guarded
      block:
        - name: Fails on one
          ansible.builtin.command: "{{ 'false' if inventory_hostname == 'north' else 'true' }}"
          changed_when: false
      rescue:
        - name: Mend
          ansible.builtin.command: "true"
    - name: Allowed to fail
      ansible.builtin.command: "false"
      changed_when: false
      ignore_errors: true
- name: Do without some
  hosts: fleet:away
  gather_facts: false
  tasks:
    - name: Allowed to be gone
      ansible.builtin.command: "true"
      changed_when: false
      ignore_unreachable: true
- name: One after another
  hosts: fleet
  gather_facts: false
  serial: 2
  tasks:
    - name: In its turn
      ansible.builtin.command: "true"
      changed_when: false
- name: Each at its own pace
  hosts: fleet
  gather_facts: false
  strategy: ansible.builtin.free
  tasks:
    - name: Own pace
      ansible.builtin.command: "sleep {{ pace }}"
      changed_when: false
    - name: Own end
      ansible.builtin.command: "true"
      changed_when: false
- name: Tell the others
  hosts: fleet
  gather_facts: false
  tasks:
    - name: Change something
      ansible.builtin.command: "true"
      changed_when: inventory_hostname != 'west'
      notify: Told of the change
    - name: Work in the background
      ansible.builtin.command: sleep 3
      async: 30
      poll: 1
      changed_when: false
    - name: Until it holds
      ansible.builtin.command: "test {{ tried.attempts | default(0) }} -ge 1"
      register: tried
      until: tried.attempts | default(1) >= 2
      retries: 3
      delay: 0
      changed_when: false
      failed_when: false
    - name: Once for all
      ansible.builtin.command: "true"
      changed_when: false
      run_once: true
    - name: On another host
      ansible.builtin.command: "true"
      changed_when: false
      delegate_to: south
      when: inventory_hostname == 'north'
    - name: One more host
      ansible.builtin.add_host:
        name: newcomer
        groups: joined
  handlers:
    - name: Told of the change
      ansible.builtin.command: "true"
      changed_when: false
- name: Those who joined
  hosts: joined
  gather_facts: false
  tasks:
    - name: Never for a host outside the review
      ansible.builtin.command: "true"
`;

const GIVE_UP = `- name: Too many lost
  hosts: fleet
  gather_facts: false
  max_fail_percentage: 10
  tasks:
    - name: Fails for most
      ansible.builtin.command: "{{ 'true' if inventory_hostname == 'west' else 'false' }}"
      changed_when: false
    - name: Never reached
      ansible.builtin.command: "true"
- name: Never started
  hosts: fleet
  gather_facts: false
  tasks:
    - name: Never reached either
      ansible.builtin.command: "true"
`;

/** Every file of the project by its path. */
export function projectFiles(lab: Lab): Record<string, string> {
  const { ports, address, folder, user } = lab;
  const [one, two] = lab.accounts ?? [];
  const every = [
    "[all:vars]",
    `ansible_host=${address}`,
    "ansible_python_interpreter=/usr/bin/python3",
    `ansible_remote_tmp=${folder}/remote-\${USER}`,
    `left_at=${folder}`,
    "",
  ].join("\n");
  const as = `ansible_user=${user}`;
  return {
    "ansible.cfg": CONFIG,
    "plain.yml": PLAIN,
    "reach.yml": REACH,
    "become.yml": BECOME,
    "become-again.yml": BECOME,
    "flow.yml": FLOW,
    "give-up.yml": GIVE_UP,
    "plain.ini": `only ansible_port=${ports.known} ${as}\ndry ansible_port=${ports.known} ${as}\n${every}`,
    "reach.ini": [
      `fine ansible_port=${ports.known} ${as}`,
      `refused ansible_port=${ports.closed} ${as}`,
      `silent ansible_port=${ports.silent} ${as}`,
      `nameless ansible_port=${ports.known} ${as} ansible_host=gone-for-good.invalid`,
      `changed ansible_port=${ports.changed} ${as}`,
      `unknown ansible_port=${ports.unknown} ${as}`,
      `snakeless ansible_port=${ports.known} ${as} ansible_python_interpreter=/opt/nowhere/python9`,
      `sftpless ansible_port=${ports.second} ${as} ansible_ssh_transfer_method=sftp ansible_pipelining=false ansible_ssh_args="-o ControlMaster=no"`,
      `muted ansible_port=${ports.second} ${as} ansible_ssh_transfer_method=sftp ansible_pipelining=false`,
      `foreign ansible_port=${ports.known} ansible_user=nobody-of-ours`,
      every,
    ].join("\n"),
    "password.ini": `locked ansible_port=${ports.second} ansible_user=${one?.name}\nunseen ansible_port=${ports.secondUnknown} ansible_user=${one?.name}\n${every}`,
    "become.ini": `humble ansible_port=${ports.known} ansible_user=${one?.name} ansible_become_method=su ansible_become_user=${two?.name}\n${every}`,
    "fleet.ini": [
      "[fleet]",
      `north ansible_port=${ports.known} ${as} pace=0.5`,
      `south ansible_port=${ports.known} ${as} pace=0`,
      `west ansible_port=${ports.known} ${as} pace=0`,
      // The three are one machine and would make the default folder all at once.
      "[fleet:vars]",
      `ansible_async_dir=${folder}/async`,
      "[away]",
      `absent ansible_port=${ports.closed} ${as}`,
      every,
    ].join("\n"),
  };
}
