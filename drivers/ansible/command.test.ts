import fc from "fast-check";
import { expect, test } from "vitest";
import { Compile } from "typebox/compile";
import { absoluteArguments, playbookArguments, variablesYaml } from "./command.ts";
import { PlaybookInputsSchema, type PlaybookInputs } from "./schema.ts";

const INPUTS: PlaybookInputs = {
  playbook: "project/site.yml",
  inventory: ["project/inventory.ini", "inventory/0/hosts"],
  hosts: ["web-1"],
  variables: { release: "1" },
  progress_mode: "detail",
  credential_slots: [],
  tags: ["deploy"],
  skip_tags: [],
  forks: 5,
  user: "deploy",
  become: true,
  operation_result: null,
};
const inputs = Compile(PlaybookInputsSchema);

test("the command line has every path absolute and no text of the request", () => {
  const relative = playbookArguments({
    inputs: INPUTS,
    check: true,
    slots: ["become_password", "vault_password", "ssh_key"],
  });
  expect(absoluteArguments(relative, "/work")).toEqual([
    "--inventory",
    "/work/project/inventory.ini",
    "--inventory",
    "/work/inventory/0/hosts",
    "--limit",
    "@/work/aim/limit",
    "--forks",
    "5",
    "--extra-vars",
    "@/work/aim/variables.yml",
    "--tags",
    "deploy",
    "--user",
    "deploy",
    "--become",
    "--check",
    "--become-password-file",
    "{path:become_password}",
    "--vault-id",
    "aim@/dev/fd/{fd:vault_password}",
    "/work/project/site.yml",
  ]);
});

test.for([
  { user: "-oProxyCommand=x" },
  { user: "a b" },
  { tags: ["--help"] },
  { tags: ["a,b"] },
  { playbook: "/etc/passwd" },
  { playbook: "-x.yml" },
  { playbook: "a\nb.yml" },
  { inventory: ["-i"] },
  { inventory: [] },
  { forks: 0 },
  { forks: 501 },
  { surprise: 1 },
])("inputs that could become options or paths of the machine are refused: %j", (change) => {
  expect(inputs.Check(INPUTS)).toBe(true);
  expect(inputs.Check({ ...INPUTS, ...change })).toBe(false);
});

test("no accepted name, tag or user begins an argument with a dash", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (user, tag) => {
      const candidate = { ...INPUTS, user, tags: [tag] };
      if (!inputs.Check(candidate)) return;
      const relative = playbookArguments({ inputs: candidate, check: false, slots: [] });
      const argv = absoluteArguments(relative, "/work");
      const known = new Set(["--inventory", "--limit", "--forks", "--extra-vars", "--tags"]);
      const options = argv.filter((argument) => argument.startsWith("-"));
      expect(
        options.every((option) => known.has(option) || /^--(?:user|become)$/.test(option)),
      ).toBe(true);
    }),
    { numRuns: 5000 },
  );
});

test("a value that could be a template is marked unsafe, keys and all other values are data", () => {
  expect(
    variablesYaml({ a: "{{ x }}", b: ["{% x %}", "plain", 1, true, null], c: { d: "#{x}" } }),
  ).toBe(
    `{"a": !unsafe "{{ x }}", "b": [!unsafe "{% x %}", "plain", 1, true, null], "c": {"d": "#{x}"}}`,
  );
});
