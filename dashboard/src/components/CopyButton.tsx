import { clsx } from 'clsx';
import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { toast } from './toasts';

export function CopyButton({ text, label, className }: { text: string; label: string; className?: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1_500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await copyText(text);
      setCopied(true);
    } catch (error) {
      toast.failed('Could not copy', error);
    }
  };
  const Icon = copied ? Check : Copy;
  return (
    <button
      type="button"
      aria-label={copied ? 'Copied' : label}
      title={copied ? 'Copied' : label}
      onClick={(event) => {
        event.stopPropagation();
        void copy();
      }}
      className={clsx(
        'inline-flex size-6 shrink-0 items-center justify-center rounded text-faint transition-colors hover:bg-hover hover:text-ink',
        copied && 'text-good',
        className,
      )}
    >
      <Icon aria-hidden className="size-3.5" />
    </button>
  );
}

export async function copyText(text: string): Promise<void> {
  // Only there where the page came by https or from this machine.
  if (navigator.clipboard === undefined)
    throw new Error('Browsers allow copying only on pages served over https.');
  await navigator.clipboard.writeText(text);
}
