/**
 * The real HTTP client. The global `fetch` is not used, because it creates several streams and a dozen objects per
 * request, which costs more than all other work on the answer.
 */
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { httpClient } from '../../kit/http-client.ts'
import type { Fetch, FetchInit, HttpResponse } from './http.ts'

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
const ENCODINGS: ReadonlySet<string> = new Set(['', 'identity', 'gzip', 'x-gzip'])

/** Credentials in the URL are sent as a header instead, because error messages would repeat the URL. */
export const fetchOverHttp: Fetch = (url, init) => {
  if (!url.includes('@')) return send(url, init)
  const address = new URL(url)
  const { username, password } = address
  if (username === '' && password === '') return send(url, init)
  address.username = ''
  address.password = ''
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const headers = { ...init.headers, authorization: `Basic ${Buffer.from(login).toString('base64')}` }
  return send(address.href, { ...init, headers })
}

async function send(url: string, { method, headers, body, signal }: FetchInit): Promise<HttpResponse> {
  try {
    const response = await httpClient().request(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'gzip' },
      body: body ?? null,
      signal,
    })
    const { statusCode: status } = response
    // The reader of the body gets its errors; the error of an abandoned body must not end the thread.
    response.body.on('error', () => {})
    if (REDIRECTS.has(status)) {
      response.body.destroy()
      throw new Error('unexpected redirect')
    }
    const get = (name: string) => textOf(response.headers[name.toLowerCase()])
    const encoding = (get('content-encoding') ?? '').trim().toLowerCase()
    if (!ENCODINGS.has(encoding)) {
      // An unread body would keep its socket open for minutes.
      response.body.destroy()
      throw new Error(`an answer encoded as ${encoding.slice(0, 80)}`)
    }
    return { status, headers: { get }, body: decoded(response.body, encoding) }
  } catch (error) {
    throw new TypeError('fetch failed', { cause: error })
  }
}

function textOf(value: string | string[] | undefined): string | null {
  return value === undefined ? null : typeof value === 'string' ? value : value.join(', ')
}

function decoded(body: Readable, encoding: string): AsyncIterable<Uint8Array> {
  return encoding.endsWith('gzip') ? pipeline(body, createGunzip(), () => {}) : body
}
