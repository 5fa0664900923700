import { filledPath } from '../../contract/filled-path.ts'
import type { EndpointCall } from './endpoint-call.ts'

const CALL_TIMEOUT_MS = 25_000
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Calls a running service over HTTP. */
export function serviceCall(url: string, key: string): EndpointCall {
  const base = url.replace(/\/+$/, '')
  return async (request) => {
    const { endpoint, pathParams, query, body } = request
    const path = filledPath(endpoint.path, pathParams)
    const response = await fetch(`${base}${path}${query === '' ? '' : `?${query}`}`, {
      method: endpoint.method,
      headers: { 'X-API-Key': key, Accept: 'application/json', 'Content-Type': 'application/json' },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
    })
    return {
      status: response.status,
      header: (name) => response.headers.get(name) ?? undefined,
      text: await readAtMost(response, MAX_ANSWER_BYTES),
    }
  }
}

async function readAtMost(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
