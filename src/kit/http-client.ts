import { createRequire } from 'node:module'

type HttpClient = typeof import('undici')

const load = createRequire(import.meta.url)
let loaded: HttpClient | undefined

/**
 * The client for requests to other servers. It is loaded when it is first asked for, because it takes as much memory as
 * the whole HTTP server and a service without venues and webhooks never needs it. Loading is synchronous, so that no
 * request has to wait for it; it holds the thread for a tenth of a second.
 */
export function httpClient(): HttpClient {
  loaded ??= load('undici') as HttpClient
  return loaded
}
