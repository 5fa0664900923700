import { useCallback, useEffect, useState } from 'preact/hooks'

export interface Loaded<T> {
  value: T | undefined
  error: string | undefined
  reload: () => void
}

/** Loads when `deps` change, on demand and every so often; an answer that was overtaken is dropped. */
export function useLoad<T>(load: () => Promise<T>, deps: readonly unknown[], everyMs = 0): Loaded<T> {
  const [value, setValue] = useState<T>()
  const [error, setError] = useState<string>()
  const [turn, setTurn] = useState(0)
  const reload = useCallback(() => setTurn((before) => before + 1), [])
  // What went wrong with another question is no answer to this one.
  useEffect(() => setError(undefined), deps)
  useEffect(() => {
    let current = true
    load().then(
      (loaded) => {
        if (!current) return
        setValue(loaded)
        setError(undefined)
      },
      (problem: Error) => current && setError(problem.message),
    )
    return () => {
      current = false
    }
  }, [...deps, turn])
  useEffect(() => {
    if (everyMs === 0) return
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, reload])
  return { value, error, reload }
}
