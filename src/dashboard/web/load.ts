import { useCallback, useEffect, useRef, useState } from 'preact/hooks'

export interface Loaded<T> {
  value: T | undefined
  error: string | undefined
  reload: () => void
}

/** A request that has no answer after this time is repeated. */
const MAX_WAIT_MS = 60_000

/**
 * Loads when `deps` change, on demand and every `everyMs`. An answer that was overtaken is dropped. The timer does not
 * overtake a running request; otherwise an answer slower than the interval would never be shown.
 */
export function useLoad<T>(load: () => Promise<T>, deps: readonly unknown[], everyMs = 0): Loaded<T> {
  const [value, setValue] = useState<T>()
  const [error, setError] = useState<string>()
  const [turn, setTurn] = useState(0)
  const startedAtMs = useRef(0)
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  // An error of another request must not be shown for this one.
  useEffect(() => setError(undefined), deps)
  useEffect(() => {
    let current = true
    startedAtMs.current = Date.now()
    load()
      .then(
        (loaded) => {
          if (!current) return
          setValue(loaded)
          setError(undefined)
        },
        (problem: Error) => current && setError(problem.message),
      )
      .finally(() => {
        if (current) startedAtMs.current = 0
      })
    return () => {
      current = false
    }
  }, [...deps, turn])
  useEffect(() => {
    if (everyMs === 0) return
    const timer = setInterval(() => {
      const isDue = Date.now() - startedAtMs.current > MAX_WAIT_MS
      if (isDue && document.visibilityState === 'visible') reload()
    }, everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
  return { value, error, reload }
}
