/** The part of `fetch` that the client uses. The global `fetch` satisfies it, and so does a fake in tests. */
export type Fetch = (url: string, init: FetchInit) => Promise<HttpResponse>
/** The part of a response that the client reads; the `Response` of the global `fetch` satisfies it. */
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
