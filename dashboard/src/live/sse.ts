// Reads server-sent events out of text that arrives in pieces cut anywhere, even inside a line end.

export interface SseEvent {
  name: string;
  data: string;
  /** The cursor after this event; empty until the server has sent one. */
  id: string;
}

export class SseParser {
  /** What the server last asked for, in milliseconds. */
  retry: number | null = null;

  #rest = '';
  #name = '';
  #data: string[] = [];
  #id = '';
  #atStart = true;

  push(chunk: string): SseEvent[] {
    let text = this.#rest + chunk;
    if (this.#atStart && text.length > 0) {
      this.#atStart = false;
      if (text.startsWith('\uFEFF')) text = text.slice(1);
    }
    const events: SseEvent[] = [];
    let from = 0;
    for (;;) {
      const end = lineEnd(text, from);
      if (end === null) break;
      const event = this.#line(text.slice(from, end.at));
      if (event !== null) events.push(event);
      from = end.next;
    }
    this.#rest = text.slice(from);
    return events;
  }

  #line(line: string): SseEvent | null {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return null;
    const field = colon === -1 ? line : line.slice(0, colon);
    let value = colon === -1 ? '' : line.slice(colon + 1);
    if (value.startsWith(' ')) value = value.slice(1);
    if (field === 'event') this.#name = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value);
    return null;
  }

  #dispatch(): SseEvent | null {
    const event =
      this.#data.length === 0
        ? null
        : { name: this.#name === '' ? 'message' : this.#name, data: this.#data.join('\n'), id: this.#id };
    this.#name = '';
    this.#data = [];
    return event;
  }
}

/** A line ends with LF, CR or CRLF. A CR that is the last thing we have may be half of a CRLF: wait for the rest. */
function lineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\n') return { at, next: at + 1 };
    if (character === '\r') {
      if (at + 1 === text.length) return null;
      return { at, next: text[at + 1] === '\n' ? at + 2 : at + 1 };
    }
  }
  return null;
}
