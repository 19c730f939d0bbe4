// The few answers that a person reads in a browser instead of a program: a fixed sentence, no script, nothing from outside.
import type { FastifyReply, FastifyRequest } from "fastify";

/** For a route to which a browser goes by itself: its refusals are pages where the asker reads pages. */
export const IN_PAGES = { config: { pages: true } } as const;

export function wantsPage({ headers, routeOptions }: FastifyRequest): boolean {
  const { pages = false } = routeOptions.config as { pages?: boolean };
  return pages && (headers.accept ?? "").includes("text/html");
}

/** `code` is a stable one, for whoever looks it up. */
export function sendPage(reply: FastifyReply, sentence: string, code?: string): FastifyReply {
  const coded = code === undefined ? "" : `<p><code>${code}</code></p>`;
  return reply
    .type("text/html; charset=utf-8")
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>AIM</title><p>${sentence}</p>${coded}</html>\n`,
    );
}
