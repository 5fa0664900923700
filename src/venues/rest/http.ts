/** How a request is sent and what is read of its response: that of the global `fetch` fits, and so does a fake. */
export type Fetch = (url: string, init: FetchInit) => Promise<HttpResponse>
/** What is read of a response; that of the global `fetch` is one. */
export interface HttpResponse {
  readonly status: number
  readonly headers: ResponseHeaders
  readonly body: AsyncIterable<Uint8Array> | null
}
export type ResponseHeaders = Pick<Headers, 'get'>
export interface FetchInit {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: string
  readonly signal: AbortSignal
}
