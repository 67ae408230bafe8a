import { clsx } from 'clsx';
import { useEffect, useRef, useState } from 'react';
import type { OutputLine } from '@/api/documents';
import { fetchOutput } from '@/api/jobs';
import { isStatus } from '@/api/problem';
import { Card } from '@/components/Card';
import { Checkbox } from '@/components/Field';
import { appended } from './output';

const POLL_MS = 1_000;
/** The output is in the memory of the process that runs it; another one need not be asked as often. */
const ELSEWHERE_MS = 10_000;

/** What a running command prints, as it prints it. */
export function LiveOutput({ id }: { id: string }) {
  const { lines, dropped, isElsewhere } = useOutput(id);
  const [follows, setFollows] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (follows && box.current !== null && lines.length > 0) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, follows]);
  return (
    <Card
      title="Live output"
      actions={
        <Checkbox
          label="Follow"
          className="text-xs"
          checked={follows}
          onChange={(event) => setFollows(event.target.checked)}
        />
      }
    >
      <pre
        ref={box}
        role="log"
        aria-label="Live output"
        tabIndex={0}
        className="h-72 overflow-auto rounded-md border bg-sunken p-3 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {dropped > 0 && (
          <span className="text-faint">
            … {dropped} earlier lines are not shown{'\n'}
          </span>
        )}
        {lines.length === 0 && (
          <span className="text-faint">
            {isElsewhere
              ? 'It runs in another process. Its output is shown when the attempt ends.'
              : 'No output yet.'}
          </span>
        )}
        {lines.map((line, at) => (
          <span key={dropped + at} className={clsx('block', line.stream === 'stderr' && 'text-bad')}>
            {line.stream === 'stderr' && <span className="sr-only">error: </span>}
            {line.text}
          </span>
        ))}
      </pre>
    </Card>
  );
}

function useOutput(id: string) {
  const [shown, setShown] = useState({ lines: [] as OutputLine[], dropped: 0 });
  const [isElsewhere, setElsewhere] = useState(false);
  useEffect(() => {
    const abort = new AbortController();
    let after = 0;
    let timer: ReturnType<typeof setTimeout>;
    const poll = async () => {
      let wait = POLL_MS;
      try {
        const chunk = await fetchOutput(id, after, abort.signal);
        setElsewhere(false);
        const skipped = chunk.first_line - after;
        after = chunk.next_line;
        if (chunk.lines.length > 0) setShown((before) => appended(before, chunk.lines, skipped));
      } catch (error) {
        if (abort.signal.aborted) return;
        if (isStatus(error, 404)) setElsewhere(true);
        wait = ELSEWHERE_MS;
      }
      timer = setTimeout(() => void poll(), wait);
    };
    void poll();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [id]);
  return { ...shown, isElsewhere };
}
