import { HardHat } from 'lucide-react';

export function Logo() {
  return (
    <span className="inline-flex items-center gap-2">
      <span className="flex size-7 items-center justify-center rounded-lg bg-brand text-on-brand">
        <HardHat aria-hidden className="size-4.5" />
      </span>
      <span className="text-lg font-semibold tracking-tight">Foreman</span>
    </span>
  );
}
