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
import type { EncodedForms } from '../../gate/request.ts'

/** Content encodings in order of preference. Small bodies are not compressed. */
const ENCODINGS = ['zstd', 'br', 'gzip'] as const
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

/** Large bodies are compressed for speed rather than size, so that they do not occupy a thread for seconds. */
const FAST_GZIP_LEVEL = 1
const FAST_BROTLI_QUALITY = 1

/** For a body in parts. */
export function compressor(encoding: Encoding): Transform {
  if (encoding === 'zstd') return createZstdCompress()
  if (encoding === 'gzip') return createGzip({ level: FAST_GZIP_LEVEL })
  return createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: FAST_BROTLI_QUALITY } })
}

/** Undefined means no compression. */
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

/** Forms that are being compressed; readers that ask meanwhile wait for them. */
const underWay = new WeakMap<EncodedForms, Map<Encoding, Promise<Buffer>>>()

/** @param encoded the compressed forms of a page in the page cache */
export async function compress(
  body: () => Buffer,
  encoding: Encoding,
  encoded: EncodedForms | undefined,
): Promise<Buffer> {
  if (encoded === undefined) return compressors[encoding](body())
  const known = encoded.get(encoding)
  if (known !== undefined) return known
  const running = underWay.get(encoded) ?? new Map<Encoding, Promise<Buffer>>()
  underWay.set(encoded, running)
  const begun = running.get(encoding)
  if (begun !== undefined) return begun
  const compressing = compressors[encoding](body())
  running.set(encoding, compressing)
  try {
    const bytes = await compressing
    encoded.set(encoding, bytes)
    return bytes
  } finally {
    running.delete(encoding)
  }
}
