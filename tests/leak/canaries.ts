// Secrets that stand for real ones: unique, of many shapes, each found again in whatever form it was written.
import { randomBytes } from "node:crypto";

const hex = (bytes: number): string => randomBytes(bytes).toString("hex");

const SHAPES: readonly (() => string)[] = [
  () => hex(12),
  () => hex(12).toUpperCase(),
  () => randomBytes(18).toString("base64"),
  () => `Aa1!~#%^*_${hex(8)}`,
  () => `quote"and\\slash ${hex(8)}`,
  () => `gr\u00fc\u00df-\u6f22\u5b57-${hex(8)}`,
  () => `correct horse ${hex(4)} battery ${hex(4)}`,
  () => `${hex(4)}-${hex(2)}-${hex(2)}-${hex(2)}-${hex(6)}`,
  () => `sk_live_${hex(14)}`,
  () => `<${hex(6)}&${hex(6)}'>`,
];

export class CanaryCage {
  readonly all: string[] = [];

  /** One secret that only letters, digits and dashes make, for places that take nothing else. */
  plain(): string {
    return this.#keep(`c${hex(10)}`);
  }

  one(): string {
    const shape = SHAPES[this.all.length % SHAPES.length] ?? (() => hex(12));
    return this.#keep(shape());
  }

  some(count: number): string[] {
    return Array.from({ length: count }, () => this.one());
  }

  plainOnes(count: number): string[] {
    return Array.from({ length: count }, () => this.plain());
  }

  #keep(canary: string): string {
    this.all.push(canary);
    return canary;
  }
}
