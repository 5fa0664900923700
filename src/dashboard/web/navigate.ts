import { useEffect, useState } from 'preact/hooks'

/** The page's places are the fragment of its address: they survive a reload, and a link to one can be shared. */
export const readPath = () => location.hash.replace(/^#\/?/, '')

export const hashOf = (path: string) => `#/${path}`

/** As a new entry of the browser's history, or in place of the current one. */
export function navigate(path: string, how: 'push' | 'replace' = 'push'): void {
  if (path === readPath()) return
  if (how === 'push') {
    location.hash = hashOf(path)
    return
  }
  notePath(path)
  dispatchEvent(new Event('hashchange'))
}

/** Changes the address only; the view is there already. */
export function notePath(path: string): void {
  if (path !== readPath()) history.replaceState(history.state, '', hashOf(path))
}

export function usePath(): string {
  const [path, setPath] = useState(readPath)
  useEffect(() => {
    const onChange = () => setPath(readPath())
    addEventListener('hashchange', onChange)
    // Effects run after the first paint: the address may have changed in between.
    onChange()
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return path
}
