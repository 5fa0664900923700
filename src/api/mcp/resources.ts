import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { EndpointCall, ToolEndpoint } from './endpoint-call.ts'

/** The guide pages and the API reference, in parts that fit into a context. */
const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs')
const PAGES = ['guides/*.md', 'protocol/*.md']
const MAX_RESOURCE_CHARS = 60_000
const INDEX_URI = 'tapeline://openapi'
const PAGE_URI = 'tapeline://docs/'

export const RESOURCE_TEMPLATES = [
  {
    uriTemplate: `${INDEX_URI}{+path}`,
    name: 'operation',
    title: 'One path of the API',
    description:
      'Its OpenAPI description with the schemas it refers to, such as tapeline://openapi/v1/candles.',
    mimeType: 'application/json',
  },
] as const

export function listResources() {
  return [
    {
      uri: INDEX_URI,
      name: 'openapi',
      title: 'Index of the HTTP API',
      description: 'Every path with what it is for and its price.',
      mimeType: 'application/json',
    },
    ...pages().map((page) => ({
      uri: `${PAGE_URI}${page}`,
      name: basename(page, '.md'),
      title: titleOf(page),
      mimeType: 'text/markdown',
    })),
  ]
}

export async function readResource(uri: string, call: EndpointCall, endpoints: readonly ToolEndpoint[]) {
  if (uri === INDEX_URI) return json(uri, indexOf(endpoints))
  if (uri.startsWith(`${INDEX_URI}/`)) {
    return json(uri, await operationAt(uri.slice(INDEX_URI.length), call, endpoints))
  }
  const page = pages().find((name) => uri === `${PAGE_URI}${name}`)
  if (page === undefined) throw unknownResource(uri)
  return { uri, mimeType: 'text/markdown', text: cut(readFileSync(join(DOCS, page), 'utf8')) }
}

function pages(): string[] {
  return globSync(PAGES, { cwd: DOCS }).toSorted()
}

function titleOf(page: string): string {
  return /^# (.+)$/m.exec(readFileSync(join(DOCS, page), 'utf8'))?.[1] ?? basename(page, '.md')
}

function indexOf(endpoints: readonly ToolEndpoint[]) {
  return endpoints.map(({ method, path, doc, cost, access }) => ({
    operation: `${method} ${path}`,
    about: doc.summary,
    ...(access.auth === 'key' ? { credits: cost.describe(), min_tier: access.tier } : {}),
  }))
}

type Document = { paths: Record<string, unknown>; components: Record<string, Record<string, unknown>> }

async function operationAt(path: string, call: EndpointCall, endpoints: readonly ToolEndpoint[]) {
  const endpoint = endpoints.find((each) => each.path === '/openapi.json')
  if (endpoint === undefined) throw unknownResource(path)
  const reply = await call({ endpoint, pathParams: {}, query: '' })
  if (reply.status !== 200) throw new Error(`the OpenAPI document could not be read: ${reply.status}`)
  const document = JSON.parse(reply.text) as Document
  const wanted = decodeURI(path)
  if (!Object.hasOwn(document.paths, wanted)) throw unknownResource(`${INDEX_URI}${path}`)
  const operation = document.paths[wanted]
  return { path: wanted, ...(operation as object), components: referredBy(operation, document) }
}

/** The schemas that a value refers to, and those that they refer to. */
function referredBy(value: unknown, document: Document): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  const open = [JSON.stringify(value)]
  for (let text = open.pop(); text !== undefined; text = open.pop()) {
    for (const [, group = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      if (Object.hasOwn(found, `${group}/${name}`)) continue
      const part = document.components[group]?.[name]
      found[`${group}/${name}`] = part
      open.push(JSON.stringify(part) ?? '')
    }
  }
  return found
}

function unknownResource(uri: string): RangeError {
  return new RangeError(`There is no resource ${uri.slice(0, 200)}: resources/list has them all.`)
}

function json(uri: string, value: unknown) {
  return { uri, mimeType: 'application/json', text: cut(JSON.stringify(value)) }
}

function cut(text: string): string {
  if (text.length <= MAX_RESOURCE_CHARS) return text
  return `${text.slice(0, MAX_RESOURCE_CHARS)}\n… cut after ${MAX_RESOURCE_CHARS} of ${text.length} characters`
}
