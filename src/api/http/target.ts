/** What a request line asks for, as it was sent: the path before the first question mark, and what follows it. */
export function splitTarget(target: string | undefined): { path: string; search: string } {
  if (target === undefined) return { path: '/', search: '' }
  const mark = target.indexOf('?')
  return mark === -1
    ? { path: target, search: '' }
    : { path: target.slice(0, mark), search: target.slice(mark + 1) }
}
