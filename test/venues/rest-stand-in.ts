/** A loopback stand-in for a venue's REST side: records every request and answers as scripted. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endAfterTest } from './scripted-venue.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface RestStandIn {
  readonly url: string
  readonly asked: Asked[]
}

/** An answer with 400 and the venue's own code. */
export class Refusal {
  readonly code: number
  readonly msg: string
  constructor(code: number, msg: string) {
    this.code = code
    this.msg = msg
  }
}

/** The answer is sent as JSON with 200; `undefined` is 404. */
export async function restStandIn(answer: (asked: Asked) => unknown): Promise<RestStandIn> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://stand-in')
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () => {
      const question: Asked = {
        method: request.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body,
      }
      asked.push(question)
      const value = answer(question)
      const status = value === undefined ? 404 : value instanceof Refusal ? 400 : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(value === undefined ? { code: -1, msg: 'unknown path' } : value))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  endAfterTest(async () => {
    server.closeAllConnections()
    if (server.listening) await new Promise<void>((resolve) => server.close(() => resolve()))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}
