import { expect, test } from "vitest";
import { createInspections } from "./inspections.ts";

const QUESTION = { jobType: "ansible.playbook.run", inputs: {}, files: [] };

test("an inspection is handed out once, and answered only by the runner that has it", async () => {
  let woken = 0;
  const inspections = createInspections(
    () => "ins_1",
    () => {
      woken += 1;
    },
  );
  const asked = inspections.ask(QUESTION);
  expect(woken).toBe(1);
  expect(inspections.take("rnr_1", ["other.type"])).toBeNull();
  expect(inspections.take("rnr_1", [QUESTION.jobType])?.inspection_id).toBe("ins_1");
  expect(inspections.take("rnr_2", [QUESTION.jobType])).toBeNull();
  const answered = { inspectionId: "ins_1", answer: { ok: true } };
  expect(inspections.settle({ ...answered, runner: "rnr_2" })).toBe(false);
  expect(inspections.settle({ ...answered, runner: "rnr_1" })).toBe(true);
  expect(inspections.settle({ ...answered, runner: "rnr_1" })).toBe(false);
  expect(await asked).toEqual({ ok: true });
});
