// Turns private frames into public events and keeps the books that the final accounting needs.
// Stores ids, flags and counts; of texts only the approved label of a task that is still unhidden.
import {
  COUNT_NAMES,
  hostError,
  type Counts,
  type EventBody,
  type HostStatus,
} from "@aim/contract";
import type { Frame, FrameOf, StreamFault } from "./frames.ts";
import { labelOf, WITHHELD_LABEL, type Label, type PublicHost } from "./names.ts";

export const PLAYS_MAX = 50_000;
export const TASKS_MAX = 50_000;

export interface ProjectionSettings {
  readonly mode: "summary" | "detail";
  readonly nonce: string;
  readonly ansible: string;
  readonly callback: string;
  readonly publicHost: (host: string) => PublicHost;
  readonly holdsCredential: (text: string) => boolean;
  /** Whether a changed result of the task at this place can be believed. */
  readonly knowsChange: (at: readonly [string, number] | null) => boolean;
  readonly emit: (event: EventBody) => void;
}

/** What was counted for one host from its results, and how far its changes can be believed. */
export interface HostBook {
  readonly derived: Counts;
  trusted: number;
  unverified: number;
}

export interface Books {
  readonly hello: boolean;
  readonly ended: boolean;
  readonly tasksStarted: number;
  readonly results: number;
  readonly hosts: ReadonlyMap<string, HostBook>;
  /** Ansible's own final rows; null until its stats frame came. */
  readonly recap: ReadonlyMap<string, Counts> | null;
  /** Text of the declared operation result, or null when none was sent. */
  readonly data: string | null;
}

export interface Projection {
  /** Takes the next frame; answers what is wrong with the stream, if anything. */
  readonly accept: (frame: Frame) => StreamFault | null;
  readonly books: Books;
}

interface Task {
  readonly play: number;
  readonly handler: boolean;
  readonly knows: boolean;
  label: Label;
}

export function zeroCounts(): Counts {
  return { ok: 0, changed: 0, failures: 0, unreachable: 0, skipped: 0, rescued: 0, ignored: 0 };
}

const INVALID = "invalid_event_stream";

/** Adds one result the way Ansible's strategy does. */
function countResult(counts: Counts, frame: FrameOf<"result">): void {
  if (frame.counted === "meta") return;
  const ignored = frame.ignored;
  if (frame.status === "skipped") counts.skipped += 1;
  else if (frame.status === "unreachable") {
    if (ignored) counts.ok += 1;
    else counts.unreachable += 1;
    counts.ignored += Number(ignored);
  } else if (frame.status === "failed") {
    if (ignored) {
      counts.ok += 1;
      counts.ignored += 1;
      counts.changed += Number(frame.changed);
    } else counts.failures += 1;
  } else if (frame.counted === "yes") {
    counts.ok += 1;
    counts.changed += Number(frame.changed);
  }
}

/** Failures and rescues cannot be told apart from results: only their sum is compared. */
export function sameCounts(derived: Counts, recap: Counts): boolean {
  return (
    derived.ok === recap.ok &&
    derived.changed === recap.changed &&
    derived.unreachable === recap.unreachable &&
    derived.skipped === recap.skipped &&
    derived.ignored === recap.ignored &&
    derived.failures + derived.rescued === recap.failures + recap.rescued
  );
}

export function createProjection(settings: ProjectionSettings): Projection {
  const books = {
    hello: false,
    ended: false,
    tasksStarted: 0,
    results: 0,
    hosts: new Map<string, HostBook>(),
    recap: null as Map<string, Counts> | null,
    data: null as string | null,
  };
  const tasks = new Map<number, Task>();
  const totals = { ok: 0, changed: 0, failed: 0, unreachable: 0, skipped: 0 };
  const noHosts = new Set<string>();
  let plays = 0;
  let lastTask = 0;
  let recapRows: Map<string, Counts> | null = null;
  let parts: string[] = [];
  let closed = false;
  const detail = settings.mode === "detail";

  function emitDetail(event: EventBody): void {
    if (detail) settings.emit(event);
  }

  function bookOf(host: string): HostBook {
    let book = books.hosts.get(host);
    if (book === undefined) {
      book = { derived: zeroCounts(), trusted: 0, unverified: 0 };
      books.hosts.set(host, book);
    }
    return book;
  }

  function onHello(frame: FrameOf<"hello">): StreamFault | null {
    if (books.hello) return INVALID;
    if (frame.nonce !== settings.nonce || frame.ansible !== settings.ansible) return INVALID;
    if (frame.callback !== settings.callback) return INVALID;
    books.hello = true;
    return null;
  }

  function onPlay(frame: FrameOf<"play">): StreamFault | null {
    if (frame.play !== plays + 1) return INVALID;
    if (plays === PLAYS_MAX) return "event_limit";
    plays += 1;
    const label = frame.hidden
      ? WITHHELD_LABEL
      : labelOf(frame.name, "play", settings.holdsCredential);
    emitDetail({ kind: "play_started", play_id: `p${frame.play}`, ...label });
    return null;
  }

  function onNoHosts(frame: FrameOf<"no_hosts">): StreamFault | null {
    const key = `${frame.play} ${frame.reason}`;
    if (frame.play > plays || noHosts.has(key)) return INVALID;
    noHosts.add(key);
    const play_id = `p${frame.play}`;
    emitDetail(
      frame.reason === "no_hosts_matched"
        ? { kind: "play_skipped", play_id, reason: frame.reason }
        : { kind: "play_stopped", play_id, reason: frame.reason },
    );
    return null;
  }

  function onTask(frame: FrameOf<"task">): StreamFault | null {
    // A free strategy announces one task again for every host: the first time counts.
    if (frame.task <= lastTask) return tasks.get(frame.task)?.play === frame.play ? null : INVALID;
    if (frame.task !== lastTask + 1 || frame.play > plays) return INVALID;
    if (lastTask === TASKS_MAX) return "event_limit";
    lastTask = frame.task;
    const kind = frame.handler ? "handler" : "task";
    const label = frame.hidden
      ? WITHHELD_LABEL
      : labelOf(frame.name, kind, settings.holdsCredential);
    const knows = settings.knowsChange(frame.at);
    tasks.set(frame.task, { play: frame.play, handler: frame.handler, knows, label });
    books.tasksStarted += 1;
    emitDetail({
      kind: "task_started",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...label,
      handler: frame.handler,
    });
    emitProgress();
    return null;
  }

  function emitProgress(): void {
    settings.emit({ kind: "progress", tasks_started: books.tasksStarted, results: { ...totals } });
  }

  function taskOf(frame: { task: number; play: number; hidden: boolean }): Task | null {
    const task = tasks.get(frame.task);
    if (task === undefined || task.play !== frame.play) return null;
    // A result that is sensitive only at run time cuts every later label of its task.
    if (frame.hidden) task.label = WITHHELD_LABEL;
    return task;
  }

  function onResult(frame: FrameOf<"result">): StreamFault | null {
    const task = taskOf(frame);
    const bad = frame.status === "failed" || frame.status === "unreachable";
    if (task === null || bad !== (frame.hint !== null)) return INVALID;
    if (frame.cause !== null && !bad) return INVALID;
    const book = bookOf(frame.host);
    countResult(book.derived, frame);
    if (frame.changed) {
      if (task.knows) book.trusted += 1;
      else book.unverified += 1;
    }
    books.results += 1;
    totals[frame.status] += 1;
    emitDetail({
      kind: "host_result",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...settings.publicHost(frame.host),
      status: frame.status satisfies HostStatus,
      changed: frame.changed,
      ignored: frame.ignored,
      details_redacted: frame.hidden,
      error: errorOf(frame),
    });
    return null;
  }

  function onRetryOrPoll(frame: FrameOf<"retry"> | FrameOf<"poll">): StreamFault | null {
    if (taskOf(frame) === null) return INVALID;
    const attempt = frame.k === "retry" && !frame.hidden ? frame.attempt : null;
    emitDetail({
      kind: frame.k === "retry" ? "task_retry" : "task_async_poll",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...settings.publicHost(frame.host),
      attempt,
      details_redacted: frame.hidden,
    });
    return null;
  }

  function onInclude(frame: FrameOf<"include">): null {
    for (const host of frame.hosts) bookOf(host).derived.ok += 1;
    return null;
  }

  function onRecap(frame: FrameOf<"recap">): StreamFault | null {
    recapRows ??= new Map();
    if (recapRows.has(frame.host)) return INVALID;
    const counts = zeroCounts();
    for (const name of COUNT_NAMES) counts[name] = frame[name];
    recapRows.set(frame.host, counts);
    return null;
  }

  function onData(frame: FrameOf<"data">): StreamFault | null {
    if (frame.part !== parts.length + 1 || frame.part > frame.parts || books.data !== null) {
      return INVALID;
    }
    parts.push(frame.text);
    if (frame.part === frame.parts) {
      books.data = parts.join("");
      parts = [];
    }
    return null;
  }

  function onStats(frame: FrameOf<"stats">): StreamFault | null {
    const rows = recapRows ?? new Map<string, Counts>();
    if (books.recap !== null || rows.size !== frame.hosts || parts.length > 0) return INVALID;
    for (const host of new Set([...rows.keys(), ...books.hosts.keys()])) {
      const derived = books.hosts.get(host)?.derived ?? zeroCounts();
      if (!sameCounts(derived, rows.get(host) ?? zeroCounts())) return INVALID;
    }
    books.recap = rows;
    closed = true;
    const sum = zeroCounts();
    for (const [host, counts] of rows) {
      for (const name of COUNT_NAMES) sum[name] += counts[name];
      emitDetail({ kind: "host_recap", ...settings.publicHost(host), counts });
    }
    emitProgress();
    settings.emit({ kind: "stats", hosts: rows.size, counts: sum });
    return null;
  }

  function onEnd(frame: FrameOf<"end">): StreamFault | null {
    if (!closed || frame.frames !== frame.n) return INVALID;
    books.ended = true;
    return null;
  }

  const handlers: { [K in Frame["k"]]: (frame: FrameOf<K>) => StreamFault | null } = {
    hello: onHello,
    play: onPlay,
    no_hosts: onNoHosts,
    task: onTask,
    result: onResult,
    retry: onRetryOrPoll,
    poll: onRetryOrPoll,
    include: onInclude,
    recap: onRecap,
    data: onData,
    stats: onStats,
    end: onEnd,
  };

  function accept(frame: Frame): StreamFault | null {
    if (books.ended || books.hello === (frame.k === "hello")) return INVALID;
    // After the recap has begun nothing but its rest may come.
    if (recapRows !== null && !["recap", "data", "stats", "end"].includes(frame.k)) return INVALID;
    if (closed && frame.k !== "end") return INVALID;
    const handle = handlers[frame.k] as (frame: Frame) => StreamFault | null;
    return handle(frame);
  }

  return { accept, books };
}

function errorOf(frame: FrameOf<"result">) {
  if (frame.hint === null) return null;
  return frame.hidden ? hostError("details_withheld", null) : hostError(frame.hint, frame.cause);
}
