/** The official client on a running service. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const ROOT = join(import.meta.dirname, '..', '..')

export type Revision = '2025' | '2026'
export type ToolArgs = Record<string, unknown>

function clientOf(revision: Revision): Client {
  const mode = revision === '2026' ? ({ pin: '2026-07-28' } as const) : ('legacy' as const)
  return new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
}

export async function connectHttp(
  url: string,
  headers: Record<string, string>,
  revision: Revision = '2026',
): Promise<Client> {
  const client = clientOf(revision)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  return client
}

/** With a client of the same service, its discovery is used: the probe of the revision would be a second process. */
export async function connectStdio(
  url: string,
  key: string,
  { revision, like }: { revision: Revision; like: Client },
): Promise<Client> {
  const client = clientOf(revision)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['src/main.ts', 'mcp'],
    cwd: ROOT,
    env: { TAPELINE_URL: url, TAPELINE_KEY: key },
    stderr: 'pipe',
  })
  const discover = like.getDiscoverResult()
  await client.connect(transport, discover === undefined ? {} : { prior: { kind: 'modern', discover } })
  return client
}

export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
  readonly json: Record<string, unknown>
  readonly price: { credits_charged: number; credits_remaining: number; max_credits: number }
}

export async function callTool(client: Client, name: string, args: ToolArgs = {}): Promise<ToolAnswer> {
  const { content, isError = false } = await client.callTool({ name, arguments: args })
  const [first, ...others] = content
  assert.ok(first?.type === 'text' && others.length === 0)
  const json = JSON.parse(first.text) as ToolAnswer['json']
  return { isError, text: first.text, json, price: json.price as ToolAnswer['price'] }
}
