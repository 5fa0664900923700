/** A venue's REST side without sockets: every request is answered as scripted, by a value or by the text itself. */
import type { Fetch } from '../../src/venues/rest/http.ts'
import type { Asked } from './rest-stand-in.ts'

/** What is sent as it is. */
export class RawText {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export function answeringFetch(answer: (asked: Asked) => unknown): Fetch {
  return async (address, { method, body = '' }) => {
    const url = new URL(address)
    const value = answer({ method, path: url.pathname, query: url.searchParams, headers: {}, body })
    const text = value instanceof RawText ? value.text : JSON.stringify(value)
    async function* bytes() {
      yield Buffer.from(text)
    }
    return { status: value === undefined ? 404 : 200, headers: { get: () => null }, body: bytes() }
  }
}
