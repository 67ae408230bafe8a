import { useRouter } from '@tanstack/react-router';
import { LogIn } from 'lucide-react';
import { useEffect, useId, useRef, useState, type FormEvent } from 'react';
import { isStatus } from '@/api/problem';
import { useSignIn, useWhoami } from '@/api/session';
import { Logo } from '@/app/Logo';
import { Button } from '@/components/Button';
import { ErrorNote } from '@/components/ErrorState';
import { Input } from '@/components/Field';
import { linkedKey } from './link';
import { safeNext } from './next';

export function SignInPage() {
  const who = useWhoami();
  const router = useRouter();
  // As it was when the page came: the address may change before the page does.
  const [next] = useState(() => safeNext((router.state.location.search as { next?: unknown }).next));
  const [linked] = useState(() => linkedKey(router.state.location.hash));
  // Signed in already, or nobody asks for a key. What was known before a refusal does not count.
  const isIn = who.data !== undefined && who.error === null;
  useEffect(() => {
    document.title = 'Sign in · Foreman';
  }, []);
  useEffect(() => {
    // Out of the address and the history at once.
    const { pathname, searchStr, hash } = router.state.location;
    if (hash !== '') router.history.replace(pathname + searchStr);
  }, [router]);
  useEffect(() => {
    // Only from here, and so only once.
    if (isIn && router.state.location.pathname === '/sign-in') router.history.replace(next);
  }, [isIn, next, router]);
  return (
    <main className="grid min-h-dvh place-items-center px-4 py-10">
      <div className="w-full max-w-sm space-y-6">
        <div className="flex justify-center">
          <Logo />
        </div>
        <SignInForm linked={linked} unreachable={isStatus(who.error, 401) ? null : who.error} />
        <p className="text-center text-xs text-faint">
          An operator of this server can create a key with{' '}
          <code className="font-mono">foreman keys create</code> or on the Keys page.
        </p>
      </div>
    </main>
  );
}

/** Swaps the key for a cookie that no script can read; the key itself is kept nowhere. */
export function SignInForm({ linked, unreachable = null }: { linked?: string; unreachable?: unknown }) {
  const id = useId();
  const [key, setKey] = useState('');
  const signIn = useSignIn();
  const { mutate } = signIn;
  const used = useRef(false);
  useEffect(() => {
    if (linked === undefined || used.current) return;
    used.current = true;
    mutate(linked);
  }, [linked, mutate]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim() === '' || signIn.isPending) return;
    signIn.mutate(key.trim(), {
      onError: (refused) => {
        if (isStatus(refused, 401)) setKey('');
      },
    });
  };
  const error = signIn.error ?? unreachable;
  return (
    <form onSubmit={send} noValidate className="space-y-4 rounded-xl border bg-surface p-6 shadow-low">
      <div>
        <h1 className="text-lg font-semibold">Sign in</h1>
        <p className="text-sm text-muted">With a key of your tenant. It is swapped for a session.</p>
      </div>
      <div>
        <label htmlFor={id} className="mb-1 block text-xs font-medium text-muted">
          API key
        </label>
        <Input
          id={id}
          type="password"
          name="key"
          required
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- the page has one thing to do
          autoFocus
          autoComplete="current-password"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="fm_…"
          value={key}
          onChange={(event) => setKey(event.target.value)}
          aria-invalid={signIn.error === null ? undefined : true}
          className="h-10 font-mono"
        />
      </div>
      {isStatus(signIn.error, 401) ? (
        <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-sm text-bad">
          This key is not valid. It may be mistyped, expired or revoked.
        </p>
      ) : (
        error !== null && <ErrorNote error={error} />
      )}
      <Button
        type="submit"
        variant="primary"
        icon={LogIn}
        busy={signIn.isPending}
        disabled={key.trim() === ''}
        className="h-10 w-full"
      >
        Sign in
      </Button>
    </form>
  );
}
