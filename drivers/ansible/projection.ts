// Turns private frames into public events and keeps the books that the final accounting needs.
// Stores ids, flags and counts, never a text: a label leaves with its start event and is not kept.
import {
  COUNT_NAMES,
  hostError,
  type Counts,
  type EventBody,
  type HostStatus,
} from "@aim/contract";
import type { Frame, FrameOf, StreamFault } from "./frames.ts";
import { labelOf, WITHHELD_LABEL, type Label, type LabelKind, type PublicHost } from "./names.ts";

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
  accept(frame: Frame): StreamFault | null;
  readonly books: Books;
}

interface Task {
  readonly play: number;
  readonly at: string | null;
  readonly knows: boolean;
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

const COUNTED_KINDS = ["recap", "data", "stats", "end"];

class StrictProjection implements Projection {
  readonly books = {
    hello: false,
    ended: false,
    tasksStarted: 0,
    results: 0,
    hosts: new Map<string, HostBook>(),
    recap: null as Map<string, Counts> | null,
    data: null as string | null,
  };
  readonly #settings: ProjectionSettings;
  readonly #tasks = new Map<number, Task>();
  readonly #totals = { ok: 0, changed: 0, failed: 0, unreachable: 0, skipped: 0 };
  readonly #noHosts = new Set<string>();
  /** Places of tasks that a result marked sensitive: their label is cut from then on. */
  readonly #hidden = new Set<string>();
  #plays = 0;
  #lastTask = 0;
  #recapRows: Map<string, Counts> | null = null;
  #parts: string[] = [];

  readonly #handlers: { [K in Frame["k"]]: (frame: FrameOf<K>) => StreamFault | null } = {
    hello: (frame) => this.#onHello(frame),
    play: (frame) => this.#onPlay(frame),
    no_hosts: (frame) => this.#onNoHosts(frame),
    task: (frame) => this.#onTask(frame),
    result: (frame) => this.#onResult(frame),
    retry: (frame) => this.#onRetryOrPoll(frame),
    poll: (frame) => this.#onRetryOrPoll(frame),
    include: (frame) => this.#onInclude(frame),
    recap: (frame) => this.#onRecap(frame),
    data: (frame) => this.#onData(frame),
    stats: (frame) => this.#onStats(frame),
    end: (frame) => this.#onEnd(frame),
  };

  constructor(settings: ProjectionSettings) {
    this.#settings = settings;
  }

  accept(frame: Frame): StreamFault | null {
    const { books } = this;
    if (books.ended || books.hello === (frame.k === "hello")) return INVALID;
    // After the recap has begun nothing but its rest may come.
    if (this.#recapRows !== null && !COUNTED_KINDS.includes(frame.k)) return INVALID;
    if (books.recap !== null && frame.k !== "end") return INVALID;
    const handle = this.#handlers[frame.k] as (frame: Frame) => StreamFault | null;
    return handle(frame);
  }

  #emitDetail(event: EventBody): void {
    if (this.#settings.mode === "detail") this.#settings.emit(event);
  }

  #emitProgress(): void {
    const { tasksStarted } = this.books;
    const results = { ...this.#totals };
    this.#settings.emit({ kind: "progress", tasks_started: tasksStarted, results });
  }

  #bookOf(host: string): HostBook {
    let book = this.books.hosts.get(host);
    if (book === undefined) {
      book = { derived: zeroCounts(), trusted: 0, unverified: 0 };
      this.books.hosts.set(host, book);
    }
    return book;
  }

  #labelOf(frame: FrameOf<"play"> | FrameOf<"task">, kind: LabelKind): Label {
    if (frame.hidden) return WITHHELD_LABEL;
    return labelOf(frame.name, kind, this.#settings.holdsCredential);
  }

  #onHello(frame: FrameOf<"hello">): StreamFault | null {
    const { nonce, ansible, callback } = this.#settings;
    if (frame.nonce !== nonce || frame.ansible !== ansible || frame.callback !== callback) {
      return INVALID;
    }
    this.books.hello = true;
    return null;
  }

  #onPlay(frame: FrameOf<"play">): StreamFault | null {
    if (frame.play !== this.#plays + 1) return INVALID;
    if (this.#plays === PLAYS_MAX) return "event_limit";
    this.#plays += 1;
    const label = this.#labelOf(frame, "play");
    this.#emitDetail({ kind: "play_started", play_id: `p${frame.play}`, ...label });
    return null;
  }

  #onNoHosts(frame: FrameOf<"no_hosts">): StreamFault | null {
    const key = `${frame.play} ${frame.reason}`;
    if (frame.play > this.#plays || this.#noHosts.has(key)) return INVALID;
    this.#noHosts.add(key);
    const play_id = `p${frame.play}`;
    this.#emitDetail(
      frame.reason === "no_hosts_matched"
        ? { kind: "play_skipped", play_id, reason: frame.reason }
        : { kind: "play_stopped", play_id, reason: frame.reason },
    );
    return null;
  }

  #onTask(frame: FrameOf<"task">): StreamFault | null {
    // A free strategy announces one task again for every host: the first time counts.
    if (frame.task <= this.#lastTask) {
      return this.#tasks.get(frame.task)?.play === frame.play ? null : INVALID;
    }
    if (frame.task !== this.#lastTask + 1 || frame.play > this.#plays) return INVALID;
    if (this.#lastTask === TASKS_MAX) return "event_limit";
    this.#lastTask = frame.task;
    const at = frame.at === null ? null : frame.at.join(":");
    const cut = at !== null && this.#hidden.has(at);
    const label = cut ? WITHHELD_LABEL : this.#labelOf(frame, frame.handler ? "handler" : "task");
    const knows = this.#settings.knowsChange(frame.at);
    this.#tasks.set(frame.task, { play: frame.play, at, knows });
    this.books.tasksStarted += 1;
    this.#emitDetail({
      kind: "task_started",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...label,
      handler: frame.handler,
    });
    this.#emitProgress();
    return null;
  }

  #taskOf(frame: FrameOf<"result"> | FrameOf<"retry"> | FrameOf<"poll">): Task | null {
    const task = this.#tasks.get(frame.task);
    if (task?.play !== frame.play) return null;
    if (frame.hidden && task.at !== null) this.#hidden.add(task.at);
    return task;
  }

  #onResult(frame: FrameOf<"result">): StreamFault | null {
    const task = this.#taskOf(frame);
    const bad = frame.status === "failed" || frame.status === "unreachable";
    if (task === null || bad !== (frame.hint !== null)) return INVALID;
    if (frame.cause !== null && !bad) return INVALID;
    const book = this.#bookOf(frame.host);
    countResult(book.derived, frame);
    if (frame.changed) book[task.knows ? "trusted" : "unverified"] += 1;
    this.books.results += 1;
    this.#totals[frame.status] += 1;
    this.#emitDetail({
      kind: "host_result",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...this.#settings.publicHost(frame.host),
      status: frame.status satisfies HostStatus,
      changed: frame.changed,
      ignored: frame.ignored,
      details_redacted: frame.hidden,
      error: errorOf(frame),
    });
    return null;
  }

  #onRetryOrPoll(frame: FrameOf<"retry"> | FrameOf<"poll">): StreamFault | null {
    if (this.#taskOf(frame) === null) return INVALID;
    const attempt = frame.k === "retry" && !frame.hidden ? frame.attempt : null;
    this.#emitDetail({
      kind: frame.k === "retry" ? "task_retry" : "task_async_poll",
      play_id: `p${frame.play}`,
      task_id: `t${frame.task}`,
      ...this.#settings.publicHost(frame.host),
      attempt,
      details_redacted: frame.hidden,
    });
    return null;
  }

  #onInclude(frame: FrameOf<"include">): null {
    for (const host of frame.hosts) this.#bookOf(host).derived.ok += 1;
    return null;
  }

  #onRecap(frame: FrameOf<"recap">): StreamFault | null {
    this.#recapRows ??= new Map();
    if (this.#recapRows.has(frame.host)) return INVALID;
    const counts = zeroCounts();
    for (const name of COUNT_NAMES) counts[name] = frame[name];
    this.#recapRows.set(frame.host, counts);
    return null;
  }

  #onData(frame: FrameOf<"data">): StreamFault | null {
    const inOrder = frame.part === this.#parts.length + 1 && frame.part <= frame.parts;
    if (!inOrder || this.books.data !== null) return INVALID;
    this.#parts.push(frame.text);
    if (frame.part === frame.parts) {
      this.books.data = this.#parts.join("");
      this.#parts = [];
    }
    return null;
  }

  #onStats(frame: FrameOf<"stats">): StreamFault | null {
    const rows = this.#recapRows ?? new Map<string, Counts>();
    if (rows.size !== frame.hosts || this.#parts.length > 0) return INVALID;
    for (const host of new Set([...rows.keys(), ...this.books.hosts.keys()])) {
      const derived = this.books.hosts.get(host)?.derived ?? zeroCounts();
      if (!sameCounts(derived, rows.get(host) ?? zeroCounts())) return INVALID;
    }
    this.books.recap = rows;
    const sum = zeroCounts();
    for (const [host, counts] of rows) {
      for (const name of COUNT_NAMES) sum[name] += counts[name];
      this.#emitDetail({ kind: "host_recap", ...this.#settings.publicHost(host), counts });
    }
    this.#emitProgress();
    this.#settings.emit({ kind: "stats", hosts: rows.size, counts: sum });
    return null;
  }

  #onEnd(frame: FrameOf<"end">): StreamFault | null {
    if (this.books.recap === null || frame.frames !== frame.n) return INVALID;
    this.books.ended = true;
    return null;
  }
}

export function createProjection(settings: ProjectionSettings): Projection {
  return new StrictProjection(settings);
}

function errorOf(frame: FrameOf<"result">) {
  if (frame.hint === null) return null;
  return frame.hidden ? hostError("details_withheld", null) : hostError(frame.hint, frame.cause);
}
