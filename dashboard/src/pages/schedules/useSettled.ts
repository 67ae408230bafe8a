// A value after it has stood still for a while: what is asked once somebody stops typing.
import { useEffect, useState } from 'react';

export function useSettled<T>(value: T, milliseconds: number): T {
  // Compared as text: a form makes a new object at every key.
  const text = JSON.stringify(value);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === settled) return undefined;
    const timer = setTimeout(() => setSettled(text), milliseconds);
    return () => clearTimeout(timer);
  }, [text, settled, milliseconds]);
  return JSON.parse(settled) as T;
}
