import { useEffect, useState } from 'preact/hooks'

/** The page's places are the fragment of its address, so that they survive a reload and can be shared as links. */
export const readPath = () => location.hash.replace(/^#\/?/, '')

export const hashOf = (path: string) => `#/${path}`

/** Navigates with a new entry in the browser's history, or replaces the current one. */
export function navigate(path: string, how: 'push' | 'replace' = 'push'): void {
  if (path === readPath()) return
  if (how === 'push') {
    location.hash = hashOf(path)
    return
  }
  notePath(path)
  dispatchEvent(new Event('hashchange'))
}

/** Changes only the address, because the view is already shown. */
export function notePath(path: string): void {
  if (path !== readPath()) history.replaceState(history.state, '', hashOf(path))
}

export function usePath(): string {
  const [path, setPath] = useState(readPath)
  useEffect(() => {
    const onChange = () => setPath(readPath())
    addEventListener('hashchange', onChange)
    // Effects run after the first paint, so the address may have changed in between.
    onChange()
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return path
}
