/** The names that generated clients give to endpoints. */
const VERBS: Record<string, string> = { post: 'create', put: 'replace', patch: 'update', delete: 'delete' }

/**
 * The name of an endpoint, made of the words of its path. `GET /v1/open-interest` is `open interest`, `GET
 * /v1/markets/{id}` is `market`, `GET /v1/perpdex/{symbol}` is `perpdex by symbol`, `POST /v1/webhooks` is `create
 * webhook`, `POST /v1/webhooks/{id}/test` is `test webhook`, and `POST /rpc` is `rpc`.
 */
export function clientName(method: string, path: string): string[] {
  const parts = path.split('/').filter((part) => part !== '' && part !== 'v1')
  const isParam = (part: string | undefined) => part?.startsWith('{') === true
  const words: string[] = []
  for (const [n, part] of parts.entries()) {
    if (isParam(part)) continue
    // A part that is followed by a parameter names one item of a collection.
    const next = parts[n + 1]
    const isOne = isParam(next)
    const hasForm = isOne && singular(part) !== part
    words.push(hasForm ? singular(part) : part)
    if (isOne && !hasForm && n + 2 === parts.length) words.push('by', next?.slice(1, -1) ?? '')
  }
  const verb = VERBS[method.toLowerCase()]
  if (verb !== undefined && !isParam(parts.at(-1)) && words.length > 1) {
    const own = words.pop() ?? ''
    words.push(singular(words.pop() ?? ''))
    words.unshift(own)
  } else if (verb !== undefined && (isParam(parts.at(-1)) || singular(words.at(-1) ?? '') !== words.at(-1))) {
    words.push(singular(words.pop() ?? ''))
    words.unshift(verb)
  }
  return words
    .join(' ')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}

export function singular(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return `${word.slice(0, -3)}y`
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}
