import { useNavigate } from '@tanstack/react-router';
import { clsx } from 'clsx';
import { ListFilter, Search, X } from 'lucide-react';
import { useId, useState, type ComponentProps } from 'react';
import { useQueues } from '@/api/queues';
import { readSearch } from '@/app/lookup';
import { Button } from '@/components/Button';
import { Field, Input } from '@/components/Field';
import { isFiltered, type JobsSearch } from './search';
import { useIsWide } from './useIsWide';

interface FiltersProps {
  search: JobsSearch;
  onChoose: (next: Partial<JobsSearch>) => void;
}

const COMMON = ['queue', 'kind', 'tag'] as const;
/** Behind the button on a desktop too: the fields for a time alone have a dozen stops for whoever goes by keyboard. */
const RARE = ['correlation_id', 'created_after', 'created_before'] as const;

/** What is written takes effect on Enter, or when one goes on to the next field. */
export function Filters({ search, onChoose }: FiltersProps) {
  const queues = useQueues().data?.items ?? [];
  const list = useId();
  const fields = useId();
  const folded = useIsWide() ? RARE : [...COMMON, ...RARE];
  const chosen = folded.filter((name) => search[name] !== undefined).length;
  const [isOpen, setOpen] = useState(chosen > 0);
  const [known, setKnown] = useState(chosen);
  // One came by the URL: it is not to work unseen. Emptying a field does not fold it away under the hand.
  if (known !== chosen) {
    setKnown(chosen);
    if (chosen > known) setOpen(true);
  }
  const rare = isOpen ? '' : 'hidden';
  return (
    <form
      role="search"
      aria-label="Filters"
      className="space-y-2"
      onSubmit={(event) => event.preventDefault()}
    >
      <div className="flex gap-2">
        <Find onChoose={onChoose} />
        <Button
          icon={ListFilter}
          aria-expanded={isOpen}
          aria-controls={fields}
          onClick={() => setOpen(!isOpen)}
        >
          Filters{chosen > 0 ? ` (${chosen})` : ''}
        </Button>
        {isFiltered(search) && (
          <Button
            variant="ghost"
            icon={X}
            onClick={() =>
              onChoose({
                state: undefined,
                queue: undefined,
                kind: undefined,
                tag: undefined,
                correlation_id: undefined,
                error_group: undefined,
                created_after: undefined,
                created_before: undefined,
              })
            }
          >
            Clear
          </Button>
        )}
      </div>
      {search.error_group !== undefined && (
        <p className="flex flex-wrap items-center gap-x-2 text-sm text-muted">
          Only jobs that ended with the same error.
          <Button variant="ghost" size="sm" onClick={() => onChoose({ error_group: undefined })}>
            Show all jobs
          </Button>
        </p>
      )}
      <div
        id={fields}
        className={clsx(
          'grid-cols-2 gap-2 sm:grid-cols-3 lg:grid',
          isOpen ? 'grid lg:grid-cols-6' : 'hidden lg:grid-cols-3',
        )}
      >
        <Field label="Queue">
          <FilterInput
            list={list}
            value={search.queue ?? ''}
            placeholder="any"
            onCommit={(queue) => onChoose({ queue })}
          />
        </Field>
        <Field label="Kind">
          <FilterInput value={search.kind ?? ''} placeholder="any" onCommit={(kind) => onChoose({ kind })} />
        </Field>
        <Field label="Tag">
          <FilterInput value={search.tag ?? ''} placeholder="any" onCommit={(tag) => onChoose({ tag })} />
        </Field>
        <Field label="Correlation id" className={rare}>
          <FilterInput
            value={search.correlation_id ?? ''}
            placeholder="any"
            onCommit={(correlation_id) => onChoose({ correlation_id })}
          />
        </Field>
        <Field label="Created after" className={rare}>
          <FilterInput
            type="datetime-local"
            value={toLocal(search.created_after)}
            onCommit={(text) => onChoose({ created_after: fromLocal(text) })}
          />
        </Field>
        <Field label="Created before" className={rare}>
          <FilterInput
            type="datetime-local"
            value={toLocal(search.created_before)}
            onCommit={(text) => onChoose({ created_before: fromLocal(text) })}
          />
        </Field>
      </div>
      <datalist id={list}>
        {queues.map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </datalist>
    </form>
  );
}

interface FilterInputProps extends ComponentProps<'input'> {
  value: string;
  onCommit: (value: string | undefined) => void;
}

function FilterInput({ value, onCommit, ...rest }: FilterInputProps) {
  const [written, setWritten] = useState(value);
  const [known, setKnown] = useState(value);
  // The URL changed, by a link or by going back.
  if (known !== value) {
    setKnown(value);
    setWritten(value);
  }
  const commit = () => {
    const next = written.trim();
    if (next !== value) onCommit(next === '' ? undefined : next);
  };
  return (
    <Input
      {...rest}
      value={written}
      autoComplete="off"
      onChange={(event) => setWritten(event.target.value)}
      onBlur={commit}
      onKeyDown={(event) => {
        if (event.key === 'Enter') commit();
      }}
    />
  );
}

/** One box for what one has at hand: an id opens the job, the rest becomes a filter. */
function Find({ onChoose }: { onChoose: (next: Partial<JobsSearch>) => void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const find = () => {
    const [found] = readSearch(text);
    if (found === undefined) return;
    setText('');
    if (found.field === 'id') void navigate({ to: '/jobs/$id', params: { id: found.value } });
    else onChoose({ [found.field]: found.value });
  };
  return (
    <div className="relative min-w-0 flex-1">
      <Search aria-hidden className="pointer-events-none absolute top-2 left-2.5 size-4 text-faint" />
      <Field label="Search jobs" hideLabel>
        <Input
          type="search"
          className="pl-8"
          placeholder="Job id, tag:eu, correlation:order-7, kind:email, queue:mail"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') find();
          }}
        />
      </Field>
    </div>
  );
}

/** An instant as the browser's own field wants it: in the reader's zone, without saying which. */
export function toLocal(instant: string | undefined): string {
  if (instant === undefined) return '';
  const date = new Date(instant);
  const local = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16);
}

export function fromLocal(text: string | undefined): string | undefined {
  if (text === undefined || Number.isNaN(Date.parse(text))) return undefined;
  return new Date(text).toISOString();
}
