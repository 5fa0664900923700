/** One socket of the exchange: which streams the path names, and the live control messages. */
import type { Session, VenueSocket } from '../server/sockets.ts'
import type { Product } from './streams.ts'

/** Streams that belong to the futures class `/public`; everything else is `/market`. */
const PUBLIC_STREAM = /@(depth|bookTicker|rpiDepth|trade)|^!bookTicker/
const METHODS = ['SUBSCRIBE', 'UNSUBSCRIBE', 'LIST_SUBSCRIPTIONS', 'SET_PROPERTY', 'GET_PROPERTY']

export interface BinancePath {
  readonly isCombined: boolean
  readonly streams: string[]
  /** undefined on the retired futures path: it connects and acknowledges, and never sends. */
  readonly carries: ((stream: string) => boolean) | undefined
}

export function parsePath(product: Product, url: URL): BinancePath | undefined {
  const match = /^(?:\/(market|public|private))?\/(ws|stream)(?:\/(.+))?$/.exec(url.pathname)
  if (match === null) return undefined
  const [, streamClass, mode, rest] = match
  if (product === 'spot' && streamClass !== undefined) return undefined
  const isCombined = mode === 'stream'
  const listed = isCombined ? (url.searchParams.get('streams') ?? '') : (rest ?? '')
  const streams = listed.split('/').filter((stream) => stream !== '')
  if (product === 'spot') return { isCombined, streams, carries: () => true }
  if (streamClass === 'market')
    return { isCombined, streams, carries: (stream) => !PUBLIC_STREAM.test(stream) }
  if (streamClass === 'public')
    return { isCombined, streams, carries: (stream) => PUBLIC_STREAM.test(stream) }
  return { isCombined, streams, carries: undefined }
}

export function openSession(options: {
  product: Product
  path: BinancePath
  socket: VenueSocket
  maxStreams: number
  now: () => number
}): Session {
  const { product, path, socket, maxStreams } = options
  let isCombined = path.isCombined

  function subscribe(stream: string): void {
    // On the wrong class a stream is listed like any other and stays silent.
    if (path.carries?.(stream) === true) socket.subscribe(stream)
    else socket.streams.add(stream)
  }

  function failure(code: number, msg: string, id: unknown): unknown {
    const known = typeof id === 'number' || typeof id === 'string' ? id : null
    return product === 'spot' ? { code, msg, id: known } : { error: { code, msg }, id: known }
  }

  /** What the venue answers to a control message, after doing what it asks. */
  function obey(message: Record<string, unknown> | undefined): unknown {
    if (message === undefined) return failure(3, 'Invalid JSON: expected value at line 1 column 1', null)
    const { method, params, id } = message
    if (typeof method !== 'string' || !METHODS.includes(method))
      return failure(
        2,
        `Invalid request: unknown variant \`${String(method)}\`, expected one of ${METHODS}`,
        id,
      )
    if (typeof id !== 'number' && typeof id !== 'string')
      return failure(2, 'Invalid request: request ID must be an unsigned integer or string', id)
    if (method === 'LIST_SUBSCRIPTIONS') return { result: [...socket.streams], id }
    if (method === 'GET_PROPERTY') return { result: isCombined, id }
    if (!Array.isArray(params)) return failure(2, 'Invalid request: params must be an array', id)
    if (method === 'SET_PROPERTY') {
      if (params[0] !== 'combined' || typeof params[1] !== 'boolean')
        return failure(0, 'Unknown property', id)
      isCombined = params[1]
      return { result: null, id }
    }
    if (!params.every((stream) => typeof stream === 'string'))
      return failure(2, 'Invalid request: invalid type, expected a string', id)
    if (method === 'SUBSCRIBE' && socket.streams.size + params.length > maxStreams)
      return failure(4, `Too many streams: at most ${maxStreams} per connection`, id)
    for (const stream of params) {
      if (method === 'SUBSCRIBE') subscribe(stream)
      else socket.unsubscribe(stream)
    }
    return { result: null, id }
  }

  for (const stream of path.streams.slice(0, maxStreams)) subscribe(stream)
  return {
    render: (frame) => (isCombined ? `{"stream":"${frame.stream}","data":${frame.data}}` : frame.data),
    receive: (text) => socket.say(JSON.stringify(obey(parseObject(text)))),
    ...(product === 'spot'
      ? {
          beforeEnd() {
            const data = `{"e":"serverShutdown","E":${options.now()}}`
            socket.sendData(isCombined ? `{"stream":"!serverShutdown","data":${data}}` : data)
          },
        }
      : {}),
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
