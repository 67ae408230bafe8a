import { Dialog } from '@/components/Dialog';
import { Kbd } from '@/components/Kbd';
import { PLACES } from './navigation';

const COMMAND = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘' : 'Ctrl';

const EVERYWHERE: [string[], string][] = [
  [['/'], 'Search for a job, a tag, a page'],
  [[COMMAND, 'K'], 'The same, also while typing'],
  [['?'], 'This list'],
  [['Esc'], 'Close the open dialog or menu'],
];
const JOBS: [string[], string][] = [
  [['j'], 'Next row'],
  [['k'], 'Previous row'],
  [['x'], 'Select or deselect the row'],
  [['Enter'], 'Open the job'],
];

export function KeyboardHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts" wide>
      <div className="grid gap-6 pb-2 sm:grid-cols-2">
        <div className="space-y-6">
          <Shortcuts title="Everywhere" list={EVERYWHERE} />
          <Shortcuts title="In the list of jobs" list={JOBS} />
        </div>
        <Shortcuts title="Go to" list={PLACES.map(({ key, label }) => [['g', key], label])} />
      </div>
    </Dialog>
  );
}

function Shortcuts({ title, list }: { title: string; list: [string[], string][] }) {
  return (
    <section>
      <h3 className="mb-2 text-xs font-medium text-muted">{title}</h3>
      <dl className="space-y-1.5">
        {list.map(([pressed, meaning]) => (
          <div key={meaning} className="flex items-center gap-3 text-sm">
            <dt className="flex w-16 gap-1">
              {pressed.map((key) => (
                <Kbd key={key}>{key}</Kbd>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
