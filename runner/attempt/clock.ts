// Time for all threads of this process, and time as events carry it: UTC with microseconds, never going back, whatever the wall does.

export function createEventClock(): () => string {
  const base = Date.now() - performance.now();
  let last = 0;
  return () => {
    last = Math.max(last, base + performance.now());
    const whole = Math.floor(last);
    const micros = Math.floor((last - whole) * 1000);
    return `${new Date(whole).toISOString().slice(0, -1)}${String(micros).padStart(3, "0")}Z`;
  };
}

/** Milliseconds on the one line that all threads of this process share; it never jumps. */
export function processNow(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
