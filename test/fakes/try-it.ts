/**
 * Every operation of an OpenAPI document, filled in like a page with "Try it out": parameters from their example, else
 * their default; the body from its example.
 */
import { type Answer, ask } from './client.ts'

/** Nobody clicks faster, and it stays below every plan's rate. */
const PAUSE_MS = 25

interface Operation {
  parameters: {
    name: string
    in: string
    required: boolean
    example?: string | number | boolean
    schema: { default?: string | number | boolean }
  }[]
  requestBody?: { content: { 'application/json': { schema: object; example?: Record<string, unknown> } } }
  responses: Record<string, { content?: Record<string, { schema: object; example?: unknown }> }>
  security?: unknown[]
  'x-row-schema'?: string
}
export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}

export interface Tried {
  readonly name: string
  readonly path: string
  readonly method: string
  readonly operation: Operation
  readonly answer: Answer
}

/** What the document cannot know; everything else is sent as the document says. */
export interface Known {
  /** A receiver that this service can reach, because the host in the document's example may not resolve. */
  readonly receiver: string
  /** Other values of parameters, by operation. */
  readonly values?: (operation: string) => Readonly<Record<string, string>>
}

export async function tryAll(url: string, key: string, document: Document, known: Known): Promise<Tried[]> {
  const tried: Tried[] = []
  // A webhook exists only between its creation and its deletion.
  let webhookId: string | undefined
  for (const [path, method] of inOrder(document)) {
    const operation = document.paths[path]?.[method]
    if (operation === undefined) continue
    const name = `${method.toUpperCase()} ${path}`
    const values = { ...known.values?.(name), ...(webhookId === undefined ? {} : { id: webhookId }) }
    const body = operation.requestBody?.content['application/json'].example
    const sent = name === 'POST /v1/webhooks' ? { ...body, url: known.receiver } : body
    const answer = await ask(`${url}${fillIn(path, operation, values)}`, {
      method: method.toUpperCase(),
      key,
      ...(sent === undefined
        ? {}
        : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(sent) }),
    })
    if (name === 'POST /v1/webhooks') webhookId = String(answer.json.id)
    tried.push({ name, path, method, operation, answer })
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  return tried
}

function inOrder(document: Document): [path: string, method: string][] {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method): [string, string] => [path, method]),
  )
  const rank = ([path, method]: [string, string]) =>
    method === 'delete' ? 2 : path.startsWith('/v1/webhooks') && method !== 'post' ? 1 : 0
  const isCreate = ([path, method]: [string, string]) => path === '/v1/webhooks' && method === 'post'
  return [
    ...all.filter(isCreate),
    ...all.filter((one) => !isCreate(one)).toSorted((a, b) => rank(a) - rank(b)),
  ]
}

function fillIn(path: string, operation: Operation, values: Readonly<Record<string, string>>): string {
  let filled = path
  const query = new URLSearchParams()
  for (const { name, in: place, example, schema } of operation.parameters) {
    const value = values[name] ?? example ?? schema.default
    if (value === undefined) continue
    if (place === 'path') filled = filled.replace(`{${name}}`, encodeURIComponent(String(value)))
    if (place === 'query') query.set(name, String(value))
  }
  return query.size === 0 ? filled : `${filled}?${query}`
}
