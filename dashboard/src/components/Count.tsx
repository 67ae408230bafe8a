import { countText } from './numbers';

interface CountProps {
  count: number;
  /** "At least so many": nobody counted to the end. */
  estimate?: boolean;
}

export function Count({ count, estimate = false }: CountProps) {
  const text = countText(count);
  if (!estimate) return <span className="tabular">{text}</span>;
  return (
    <span className="tabular" title={`At least ${text}; counting stopped there`}>
      <span aria-hidden>{text}+</span>
      <span className="sr-only">at least {text}</span>
    </span>
  );
}
