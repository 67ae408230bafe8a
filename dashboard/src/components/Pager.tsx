import { ChevronLeft, ChevronRight } from 'lucide-react';
import { Button } from './Button';

interface PagerProps {
  label: string;
  onPrevious?: (() => void) | undefined;
  onNext?: (() => void) | undefined;
}

/** Pages by cursor: there is a next and a previous one, and nobody counts them. */
export function Pager({ label, onPrevious, onNext }: PagerProps) {
  if (onPrevious === undefined && onNext === undefined) return null;
  return (
    <nav aria-label={label} className="flex justify-end gap-2 border-t px-3 py-2">
      <Button size="sm" icon={ChevronLeft} disabled={onPrevious === undefined} onClick={onPrevious}>
        Previous
      </Button>
      <Button size="sm" disabled={onNext === undefined} onClick={onNext}>
        Next
        <ChevronRight aria-hidden className="size-3.5" />
      </Button>
    </nav>
  );
}
