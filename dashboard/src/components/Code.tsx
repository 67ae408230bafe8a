import { clsx } from 'clsx';
import { useState } from 'react';
import { Button } from './Button';
import { CopyButton } from './CopyButton';

/** More than this makes the page slow; the rest is a press away. */
const SHOWN = 64 * 1024;

interface CodeProps {
  label: string;
  text: string;
  wrap?: boolean;
  className?: string;
}

/** Text as it is. Whatever markup is in it stays text. */
export function Code({ label, text, wrap = false, className }: CodeProps) {
  const [all, setAll] = useState(false);
  const cut = !all && text.length > SHOWN;
  return (
    <div className={clsx('group relative min-w-0 rounded-md border bg-sunken', className)}>
      <pre
        role="region"
        aria-label={label}
        tabIndex={0}
        className={clsx(
          'max-h-96 overflow-auto p-3 pr-10 font-mono text-xs',
          wrap ? 'break-words whitespace-pre-wrap' : 'whitespace-pre',
        )}
      >
        {cut ? text.slice(0, SHOWN) : text}
      </pre>
      <CopyButton text={text} label={`Copy: ${label}`} className="absolute top-1.5 right-1.5 bg-sunken" />
      {cut && (
        <div className="border-t p-2">
          <Button size="sm" onClick={() => setAll(true)}>
            Show all {Math.ceil(text.length / 1024)} KiB
          </Button>
        </div>
      )}
    </div>
  );
}
