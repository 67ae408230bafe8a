import { describe, expect, it } from 'vitest';
import { SseParser } from './sse';

const TWO = 'id: 7\nevent: job\ndata: {"a":1}\n\nid: 8\nevent: heartbeat\ndata: {}\n\n';

describe('the reader of server-sent events', () => {
  it('reads name, data and cursor', () => {
    expect(new SseParser().push(TWO)).toEqual([
      { name: 'job', data: '{"a":1}', id: '7' },
      { name: 'heartbeat', data: '{}', id: '8' },
    ]);
  });

  it('reads the same however the text is cut', () => {
    for (const text of [TWO, TWO.replaceAll('\n', '\r\n'), TWO.replaceAll('\n', '\r')]) {
      const whole = new SseParser().push(`${text}:end\n`);
      for (let cut = 1; cut < text.length; cut += 1) {
        const parser = new SseParser();
        const events = [...parser.push(text.slice(0, cut)), ...parser.push(`${text.slice(cut)}:end\n`)];
        expect(events, `cut at ${cut}`).toEqual(whole);
      }
      const parser = new SseParser();
      expect([...text, ':', '\n'].flatMap((character) => parser.push(character))).toEqual(whole);
      expect(whole).toHaveLength(2);
    }
  });

  it('does not take a CRLF cut in two for an empty line', () => {
    const parser = new SseParser();
    expect(parser.push('data: 1\r')).toEqual([]);
    expect(parser.push('\ndata: 2\r\n')).toEqual([]);
    expect(parser.push('\r\n')).toEqual([{ name: 'message', data: '1\n2', id: '' }]);
  });

  it('says nothing of a comment, or of an event without data', () => {
    expect(new SseParser().push(': hello\n\nevent: job\n\n')).toEqual([]);
  });

  it('keeps the cursor for events that bring none', () => {
    const [, second] = new SseParser().push('id: 7\ndata: a\n\ndata: b\n\n');
    expect(second?.id).toBe('7');
  });

  it('keeps the time to wait that the server asks for, and nothing that is no number', () => {
    const parser = new SseParser();
    parser.push('retry: 2500\n\nretry: soon\n\n');
    expect(parser.retry).toBe(2500);
  });

  it('leaves half an event for later', () => {
    const parser = new SseParser();
    expect(parser.push('data: {"a"')).toEqual([]);
    expect(parser.push(':1}\n')).toEqual([]);
    expect(parser.push('\n')).toEqual([{ name: 'message', data: '{"a":1}', id: '' }]);
  });
});
