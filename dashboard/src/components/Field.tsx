import { clsx } from 'clsx';
import { createContext, useContext, useId, useMemo, type ComponentProps, type ReactNode } from 'react';

interface Described {
  id: string;
  describedBy: string | undefined;
  invalid: boolean;
}

const Context = createContext<Described | null>(null);

interface FieldProps {
  label: ReactNode;
  /** What to write, in a few words. */
  hint?: ReactNode;
  /** What is wrong with it. */
  error?: ReactNode;
  /** Only for those who do not see: where the place makes it plain. */
  hideLabel?: boolean;
  className?: string;
  children: ReactNode;
}

/** A label, a control and what is to be said about it, tied together. */
export function Field({ label, hint, error, hideLabel = false, className, children }: FieldProps) {
  const id = useId();
  const hasError = error !== undefined && error !== null && error !== '';
  const describedBy =
    [hint !== undefined && `${id}-hint`, hasError && `${id}-error`].filter(Boolean).join(' ') || undefined;
  const described = useMemo(() => ({ id, describedBy, invalid: hasError }), [id, describedBy, hasError]);
  return (
    <Context value={described}>
      <div className={clsx('min-w-0', className)}>
        <label htmlFor={id} className={hideLabel ? 'sr-only' : 'mb-1 block text-xs font-medium text-muted'}>
          {label}
        </label>
        {children}
        {hint !== undefined && (
          <p id={`${id}-hint`} className="mt-1 text-xs text-faint">
            {hint}
          </p>
        )}
        {hasError && (
          <p id={`${id}-error`} className="mt-1 text-xs text-bad">
            {error}
          </p>
        )}
      </div>
    </Context>
  );
}

function useDescribed() {
  const field = useContext(Context);
  if (field === null) return {};
  return {
    id: field.id,
    ...(field.describedBy === undefined ? {} : { 'aria-describedby': field.describedBy }),
    ...(field.invalid ? { 'aria-invalid': true } : {}),
  };
}

const CONTROL =
  'w-full min-w-0 rounded-md border border-control bg-surface px-2.5 text-sm text-ink transition-colors hover:border-ink aria-invalid:border-bad disabled:opacity-60';

export function Input({ className, ...rest }: ComponentProps<'input'>) {
  return <input {...useDescribed()} className={clsx(CONTROL, 'h-8', className)} {...rest} />;
}

export function Select({ className, children, ...rest }: ComponentProps<'select'>) {
  return (
    <select {...useDescribed()} className={clsx(CONTROL, 'h-8 pr-6', className)} {...rest}>
      {children}
    </select>
  );
}

export function Textarea({ className, ...rest }: ComponentProps<'textarea'>) {
  return <textarea {...useDescribed()} className={clsx(CONTROL, 'py-1.5', className)} {...rest} />;
}

export function Checkbox({ label, className, ...rest }: ComponentProps<'input'> & { label: ReactNode }) {
  return (
    <label className={clsx('inline-flex cursor-pointer items-center gap-2 text-sm', className)}>
      <input type="checkbox" className="size-4 accent-accent" {...rest} />
      {label}
    </label>
  );
}
