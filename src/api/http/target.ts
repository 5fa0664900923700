/** Splits a request target at the first question mark. */
export function splitTarget(target: string | undefined): { path: string; search: string } {
  if (target === undefined) return { path: '/', search: '' }
  const mark = target.indexOf('?')
  return mark === -1
    ? { path: target, search: '' }
    : { path: target.slice(0, mark), search: target.slice(mark + 1) }
}
