import { clsx } from 'clsx';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

export type Tone = 'grey' | 'accent' | 'good' | 'warn' | 'bad' | 'violet' | 'orange';

const TONES: Record<Tone, string> = {
  grey: 'bg-grey-soft text-grey',
  accent: 'bg-accent-soft text-accent',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  violet: 'bg-violet-soft text-violet',
  orange: 'bg-orange-soft text-orange',
};

export const TEXT_TONES: Record<Tone, string> = {
  grey: 'text-grey',
  accent: 'text-accent',
  good: 'text-good',
  warn: 'text-warn',
  bad: 'text-bad',
  violet: 'text-violet',
  orange: 'text-orange',
};

interface BadgeProps {
  tone?: Tone;
  icon?: LucideIcon;
  spin?: boolean;
  title?: string;
  children: ReactNode;
}

export function Badge({ tone = 'grey', icon: Icon, spin = false, title, children }: BadgeProps) {
  return (
    <span
      title={title}
      className={clsx(
        'inline-flex h-5 items-center gap-1 rounded-full px-2 text-xs font-medium whitespace-nowrap',
        TONES[tone],
      )}
    >
      {Icon !== undefined && (
        <Icon
          aria-hidden
          className={clsx('size-3 shrink-0', spin && 'animate-spin [animation-duration:2.4s]')}
        />
      )}
      {children}
    </span>
  );
}
