// What a client needs of a connection. A browser gives one over fetch, Node.js one over a socket.

export interface Call {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** Path and query. */
  readonly path: string;
  /** JSON text. */
  readonly body?: string | undefined;
  /** Instead of a JSON text. */
  readonly bytes?: Uint8Array<ArrayBuffer> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  /** The body. Ending the iteration early closes the connection. */
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Sends one call. Rejects with ClientError `unreachable` when no answer begins. */
export type Transport = (call: Call) => Promise<Answer>;
