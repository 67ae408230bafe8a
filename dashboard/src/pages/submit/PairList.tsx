import { Plus, X } from 'lucide-react';
import { Button, IconButton } from '@/components/Button';
import { Input } from '@/components/Field';
import type { Pair } from './draft';
import { escapePointer, type Mistakes } from './spec';

interface PairListProps {
  legend: string;
  /** What one of them is called: `Header`. */
  one: string;
  pairs: Pair[];
  onChange: (pairs: Pair[]) => void;
  /** Where they stand in the document: `/headers`. */
  pointer: string;
  mistakes: Mistakes;
  placeholders: [name: string, value: string];
}

/** Names with values, such as headers. */
export function PairList({
  legend,
  one,
  pairs,
  onChange,
  pointer,
  mistakes,
  placeholders: [namePlaceholder, valuePlaceholder],
}: PairListProps) {
  const change = (at: number, part: Partial<Pair>) =>
    onChange(pairs.map((pair, each) => (each === at ? { ...pair, ...part } : pair)));
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1 text-xs font-medium text-muted">{legend}</legend>
      <div className="space-y-2">
        {pairs.map(({ name, value }, at) => {
          const mistake = mistakes[`${pointer}/${escapePointer(name.trim())}`];
          const invalid = mistake === undefined ? {} : { 'aria-invalid': true };
          return (
            <div key={at}>
              <div className="flex gap-2">
                <Input
                  aria-label={`${one} ${at + 1}: name`}
                  placeholder={namePlaceholder}
                  value={name}
                  onChange={(event) => change(at, { name: event.target.value })}
                  className="basis-2/5 font-mono"
                  autoComplete="off"
                  spellCheck={false}
                  {...invalid}
                />
                <Input
                  aria-label={`${one} ${at + 1}: value`}
                  placeholder={valuePlaceholder}
                  value={value}
                  onChange={(event) => change(at, { value: event.target.value })}
                  className="flex-1 font-mono"
                  autoComplete="off"
                  spellCheck={false}
                  {...invalid}
                />
                <IconButton
                  label={`Remove ${one.toLowerCase()} ${at + 1}`}
                  icon={X}
                  onClick={() => onChange(pairs.filter((_, each) => each !== at))}
                />
              </div>
              {mistake !== undefined && (
                <p className="mt-1 text-xs text-bad">
                  {name === '' ? one : <code className="font-mono">{name}</code>} {mistake}
                </p>
              )}
            </div>
          );
        })}
        <Button size="sm" icon={Plus} onClick={() => onChange([...pairs, { name: '', value: '' }])}>
          Add {one.toLowerCase()}
        </Button>
      </div>
    </fieldset>
  );
}
