import { createRequire } from 'node:module'

type HttpClient = typeof import('undici')

const load = createRequire(import.meta.url)
let loaded: HttpClient | undefined

/**
 * What requests to other servers are made with. Loaded with the first of them, which a service without venues and
 * webhooks never makes: it takes as much memory as the whole HTTP server. At once, so that no request waits for it.
 */
export function httpClient(): HttpClient {
  loaded ??= load('undici') as HttpClient
  return loaded
}
