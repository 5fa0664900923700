import type { EncodedFile } from '../route.ts'

/** A page or file that anybody may read without a key or a session. */
export interface PublicPage {
  readonly path: string
  readonly contentType: string
  /** How long browsers and proxies may keep it. */
  readonly maxAgeSeconds: number
  /** Called for every request. */
  readonly read: () => PageBody | Promise<PageBody>
}

/** With `encoded` the compressed forms of a body that is sent often are made once. */
type PageBody = string | Buffer | { readonly body: string; readonly encoded: EncodedFile }

export const HTML = 'text/html; charset=utf-8'
export const CSS = 'text/css; charset=utf-8'
