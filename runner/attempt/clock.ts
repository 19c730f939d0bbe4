// Time as events carry it: UTC with microseconds, never going back, whatever the wall does.

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
