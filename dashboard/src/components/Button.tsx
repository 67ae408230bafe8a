import { clsx } from 'clsx';
import { LoaderCircle, type LucideIcon } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger';

const LOOKS: Record<ButtonVariant, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent shadow-low',
  secondary: 'bg-surface text-ink hover:bg-hover border-line-strong shadow-low',
  ghost: 'bg-transparent text-muted hover:text-ink hover:bg-hover border-transparent',
  danger: 'bg-bad text-on-bad hover:opacity-90 border-transparent shadow-low',
};

/** The same look for a link that acts like a button. */
export function buttonClass(variant: ButtonVariant = 'secondary', size: 'sm' | 'md' = 'md'): string {
  return clsx(
    'inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap transition-colors select-none',
    'disabled:cursor-not-allowed disabled:opacity-50',
    size === 'sm' ? 'h-7 px-2 text-xs' : 'h-8 px-3 text-sm',
    LOOKS[variant],
  );
}

export interface ButtonProps extends ComponentProps<'button'> {
  variant?: ButtonVariant;
  size?: 'sm' | 'md';
  icon?: LucideIcon;
  /** Something is under way: it cannot be pressed again. */
  busy?: boolean;
}

export function Button({
  variant = 'secondary',
  size = 'md',
  icon: Icon,
  busy = false,
  className,
  children,
  disabled,
  type = 'button',
  ...rest
}: ButtonProps) {
  return (
    <button
      type={type}
      className={clsx(buttonClass(variant, size), className)}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      {...rest}
    >
      {busy ? (
        <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
      ) : (
        Icon !== undefined && <Icon aria-hidden className="size-3.5 shrink-0" />
      )}
      {children}
    </button>
  );
}

export interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  /** What it does, for those who do not see the icon, and on hover. */
  label: string;
  icon: LucideIcon;
  badge?: ReactNode;
}

export function IconButton({ label, icon: Icon, className, badge, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      className={clsx(
        'relative inline-flex size-8 shrink-0 items-center justify-center rounded-md text-muted transition-colors hover:bg-hover hover:text-ink disabled:opacity-50',
        className,
      )}
      {...rest}
    >
      <Icon aria-hidden className="size-4" />
      {badge}
    </button>
  );
}
