/** A webhook receiver on loopback whose answer can be set. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly events: { id: string; seq: number; kind: string }[]
  readonly atMs: number
}

export type Answer = (received: Received, response: ServerResponse) => void

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  answer: Answer
  /** Event ids that were answered with 2xx. */
  readonly accepted: Set<string>
  readonly connections: () => number
  close(): Promise<void>
}

export const accept: Answer = (_received, response) => void response.writeHead(204).end()
export const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_received, response) =>
    void response.writeHead(code, headers).end()
export const hang: Answer = () => {}

export async function startReceiver(first: Answer = accept): Promise<Receiver> {
  const received: Received[] = []
  const accepted = new Set<string>()
  let connections = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8')
      const parsed = JSON.parse(body) as Received['events'] | Received['events'][number]
      const events = Array.isArray(parsed) ? parsed : [parsed]
      const entry = { headers: request.headers, body, events, atMs: Date.now() }
      received.push(entry)
      response.on('finish', () => {
        if (response.statusCode < 300) for (const event of events) accepted.add(event.id)
      })
      receiver.answer(entry, response)
    })
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    accepted,
    answer: first,
    connections: () => connections,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}
