import type { EncodedFile } from '../route.ts'
import { encodedFile } from '../site.ts'

/** A page or file that anybody may read without a key or a session. */
export interface PublicPage {
  readonly path: string
  readonly contentType: string
  /** How long browsers and proxies may keep it. */
  readonly maxAgeSeconds: number
  /** Called for every request. */
  readonly read: () => PageBody | Promise<PageBody>
}

/** `encoded` caches the compressed forms of a body that is sent often. */
interface EncodedBody {
  readonly body: string
  readonly encoded: EncodedFile
}
type PageBody = string | Buffer | EncodedBody

/** For a page that stays the same while the process runs: it is built for the first request and then reused. */
export function madeOnce(make: () => string | Promise<string>): () => Promise<EncodedBody> {
  let made: Promise<EncodedBody> | undefined
  return () => {
    made ??= Promise.try(make).then(
      (body) => ({ body, encoded: encodedFile() }),
      (error) => {
        made = undefined
        throw error
      },
    )
    return made
  }
}

export const HTML = 'text/html; charset=utf-8'
export const CSS = 'text/css; charset=utf-8'
