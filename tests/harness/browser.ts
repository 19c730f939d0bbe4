// What a browser does at a login: it follows redirects, keeps cookies of each origin, and leaves out strict ones on the way
// back from another site. It runs no script and shows nothing.

interface Cookie {
  readonly value: string;
  readonly strict: boolean;
  /** The attributes as they came. */
  readonly text: string;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  /** Of a page with a code or of a problem; empty for neither. */
  readonly code: string;
  /** Every address on the way, the last one included. */
  readonly trail: readonly string[];
}

export interface Browser {
  /** Goes there as if somebody had typed it, until an address that `until` matches, which is not opened. */
  readonly go: (url: string, until?: RegExp) => Promise<Page>;
  readonly cookie: (origin: string, name: string) => string | undefined;
  readonly attributes: (origin: string, name: string) => string;
  readonly setCookie: (origin: string, name: string, value: string) => void;
}

const HOPS_MAX = 15;

export function openBrowser(): Browser {
  const jar = new Map<string, Map<string, Cookie>>();
  const of = (origin: string) => {
    const kept = jar.get(origin) ?? new Map<string, Cookie>();
    jar.set(origin, kept);
    return kept;
  };

  async function open(url: URL, crossed: boolean): Promise<Response> {
    const cookies = [...of(url.origin)].filter(([, { strict }]) => !(strict && crossed));
    const cookie = cookies.map(([name, { value }]) => `${name}=${value}`).join("; ");
    const headers = { accept: "text/html", ...(cookie === "" ? {} : { cookie }) };
    const answer = await fetch(url, { headers, redirect: "manual" });
    for (const text of answer.headers.getSetCookie()) keep(of(url.origin), text);
    return answer;
  }

  async function go(start: string, until = /^$/): Promise<Page> {
    let url = new URL(start);
    let crossed = false;
    const trail = [url.href];
    while (trail.length <= HOPS_MAX) {
      if (until.test(url.href)) return { url: url.href, status: 0, text: "", code: "", trail };
      const answer = await open(url, crossed);
      const location = answer.headers.get("location");
      const text = await answer.text();
      if (location === null) {
        const code = /<code>([a-z_]+)<|"code":"([a-z_]+)"/.exec(text)?.slice(1).join("") ?? "";
        return { url: url.href, status: answer.status, text, code, trail };
      }
      const next = new URL(location, url);
      crossed ||= next.origin !== url.origin;
      url = next;
      trail.push(url.href);
    }
    throw new Error(`too many redirects: ${trail.map((one) => new URL(one).pathname).join(" ")}`);
  }

  return {
    go,
    cookie: (origin, name) => of(origin).get(name)?.value,
    attributes: (origin, name) => of(origin).get(name)?.text ?? "",
    setCookie: (origin, name, value) =>
      void of(origin).set(name, { value, strict: false, text: "" }),
  };
}

function keep(cookies: Map<string, Cookie>, text: string): void {
  const [pair = "", ...attributes] = text.split(/;\s*/);
  const at = pair.indexOf("=");
  const [name, value] = [pair.slice(0, at), pair.slice(at + 1)];
  const over = attributes.some((one) => /^max-age=0$|^expires=thu, 01 jan 1970/i.test(one));
  if (over) cookies.delete(name);
  else {
    const strict = attributes.some((one) => /^samesite=strict$/i.test(one));
    cookies.set(name, { value, strict, text: attributes.join("; ") });
  }
}
