import type { Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib'
import { Lru } from '../../kit/lru.ts'

/** Content encodings, the preferred one first. Small bodies go out as they are. */
export const ENCODINGS = ['zstd', 'br', 'gzip'] as const
export type Encoding = (typeof ENCODINGS)[number]

const SMALLEST_COMPRESSED = 1_024
const BROTLI_QUALITY = 4

const compressors: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  zstd: promisify(zstdCompress) as (body: Buffer) => Promise<Buffer>,
  br: (body) =>
    promisify(brotliCompress)(body, {
      params: {
        [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
        [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
      },
    }),
  gzip: promisify(gzip) as (body: Buffer) => Promise<Buffer>,
}

/** A large body is compressed for speed: it must not hold a thread for seconds. */
const FAST_GZIP_LEVEL = 1
const FAST_BROTLI_QUALITY = 1

/** A compressor for a body that comes in parts. */
export function compressor(encoding: Encoding): Transform {
  if (encoding === 'zstd') return createZstdCompress()
  if (encoding === 'gzip') return createGzip({ level: FAST_GZIP_LEVEL })
  return createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: FAST_BROTLI_QUALITY } })
}

/** The encoding to use, or undefined for the plain body. */
export function chooseEncoding(accept: string | undefined, bytes: number): Encoding | undefined {
  if (accept === undefined || bytes < SMALLEST_COMPRESSED) return undefined
  const weights = new Map<string, number>()
  for (const part of accept.split(',')) {
    const [name = '', ...options] = part.split(';').map((piece) => piece.trim().toLowerCase())
    const q = options.find((option) => option.startsWith('q='))
    weights.set(name, q === undefined ? 1 : Number(q.slice(2)) || 0)
  }
  const star = weights.get('*') ?? 0
  let best: Encoding | undefined
  let bestWeight = 0
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? star
    if (weight > bestWeight) {
      best = encoding
      bestWeight = weight
    }
  }
  return best
}

/** Pages that never change are compressed once: the tag is a hash of their bytes. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024
const kept = new Lru<string, Buffer>({
  maxEntries: 10_000,
  maxWeight: MAX_KEPT_BYTES,
  weigh: (bytes) => bytes.length,
})

/** @param sealedTag the tag of a body that nothing can change any more. */
export async function compress(
  body: () => Buffer,
  encoding: Encoding,
  sealedTag: string | undefined,
): Promise<Buffer> {
  if (sealedTag === undefined) return compressors[encoding](body())
  const name = `${encoding} ${sealedTag}`
  const known = kept.get(name)
  if (known !== undefined) return known
  const bytes = await compressors[encoding](body())
  kept.set(name, bytes)
  return bytes
}
