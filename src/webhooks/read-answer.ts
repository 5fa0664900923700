/**
 * Reads one HTTP/1.1 answer to a POST, chunk by chunk. A delivery needs little of it (the status, `Retry-After`,
 * how head and body begin, and whether the connection is good for another one), so nothing else is made of it.
 *
 *   head ──▶ body of known length ──────────────────────────▶ complete
 *    ▲ │ ──▶ size line ─▶ chunk ─▶ its line end ─▶ … trailer ─▶ complete
 *    │ └──▶ body until the connection ends ──(end)──────────▶ complete
 *    └ 1xx
 *
 * Every part has its bound, also those that a receiver could send for ever: interim answers, chunk sizes with
 * extensions, trailers. Whatever is not plainly HTTP is an error and ends the connection: a reader that guesses could take one answer
 * for the next one's.
 */
export interface AnswerReader {
  /** True when the answer is complete; throws AnswerError. */
  read(chunk: Buffer): boolean
  /** The connection has ended; true when that completes the answer. */
  end(): boolean
  /** Undefined until the head is there. */
  readonly head: AnswerHead | undefined
  /** How the body begins; null while it has none. */
  beginning(): string | null
}

export interface AnswerHead {
  /** How the head began: the status line and what follows it. */
  readonly text: string
  readonly status: number
  readonly retryAfter: string | undefined
  /** Whether another request may follow on the same connection. */
  readonly reusable: boolean
  /** How long the receiver keeps an idle connection, where it says so. */
  readonly keptForMs: number | undefined
}

export class AnswerError extends Error {
  override readonly name = 'AnswerError'
}

/** A body is read to its end so that the connection can be used again; a longer one is not worth that. */
export const MAX_BODY_BYTES = 65_536
/** What is kept of a body, and of a head. */
export const KEPT_BODY_BYTES = 1_024
export const KEPT_HEAD_CHARACTERS = 1_024
/** Of all heads together, those of interim answers included. */
const MAX_HEAD_BYTES = 16_384
const MAX_INTERIM_ANSWERS = 10
const MAX_TRAILER_BYTES = 8_192
/** Sizes of chunks and their extensions: a body in chunks of one byte fits, a flood does not. */
const MAX_FRAMING_BYTES = 4 * MAX_BODY_BYTES
const MAX_LINE_BYTES = 1_024
const EMPTY = Buffer.alloc(0)
const HEAD_END_BYTES = 4
const LINE_END_BYTES = 2
const CR = 13
const LF = 10

type Phase = 'head' | 'length' | 'until end' | 'size' | 'chunk' | 'chunk end' | 'trailer' | 'complete'

export function createAnswerReader(): AnswerReader {
  let phase: Phase = 'head'
  let head: AnswerHead | undefined
  let rest: Buffer = EMPTY
  let left = 0
  let bodyBytes = 0
  let headBytes = 0
  let interimAnswers = 0
  let framingBytes = 0
  let trailerBytes = 0
  let kept: Buffer = EMPTY

  /** Takes a line of the pending bytes, without its end; undefined when it is not whole yet. */
  function takeLine(longest: number): string | undefined {
    const end = rest.indexOf(LF)
    if (end > longest || (end === -1 && rest.length > longest)) throw new AnswerError('a line is too long')
    if (end === -1) return undefined
    if (end === 0 || rest[end - 1] !== CR) throw new AnswerError('a line has no proper end')
    const line = rest.toString('latin1', 0, end - 1)
    rest = rest.subarray(end + 1)
    return line
  }

  function takeBody(most: number): number {
    const taken = Math.min(most, rest.length)
    if (kept.length < KEPT_BODY_BYTES && taken > 0) {
      const wanted = rest.subarray(0, Math.min(taken, KEPT_BODY_BYTES - kept.length))
      kept = kept.length === 0 ? Buffer.from(wanted) : Buffer.concat([kept, wanted])
    }
    bodyBytes += taken
    if (bodyBytes > MAX_BODY_BYTES) throw new AnswerError('the body is too long')
    rest = rest.subarray(taken)
    return taken
  }

  /** One step; false when more bytes are needed. */
  const steps: Record<Exclude<Phase, 'complete'>, () => boolean> = {
    head() {
      const end = rest.indexOf('\r\n\r\n')
      const room = MAX_HEAD_BYTES - headBytes
      if (end > room || (end === -1 && rest.length > room)) throw new AnswerError('the head is too long')
      if (end === -1) return false
      headBytes += end + HEAD_END_BYTES
      const read = readHead(rest.toString('latin1', 0, end))
      rest = rest.subarray(end + HEAD_END_BYTES)
      if (read.status < 200) {
        if (++interimAnswers > MAX_INTERIM_ANSWERS) throw new AnswerError('too many interim answers')
        return true
      }
      head = read
      left = read.length
      phase = read.body === 'length' && left === 0 ? 'complete' : PHASE_OF[read.body]
      return true
    },
    length() {
      left -= takeBody(left)
      if (left > 0) return false
      phase = 'complete'
      return true
    },
    'until end'() {
      takeBody(rest.length)
      return false
    },
    size() {
      const line = takeLine(MAX_LINE_BYTES)
      if (line === undefined) return false
      framingBytes += line.length + LINE_END_BYTES
      if (framingBytes > MAX_FRAMING_BYTES) throw new AnswerError('the chunks say too much about themselves')
      const digits = /^([0-9a-f]{1,8})[ \t]*(?:;|$)/i.exec(line)?.[1]
      if (digits === undefined) throw new AnswerError('a chunk has no size')
      left = Number.parseInt(digits, 16)
      phase = left === 0 ? 'trailer' : 'chunk'
      return true
    },
    chunk() {
      left -= takeBody(left)
      if (left > 0) return false
      phase = 'chunk end'
      return true
    },
    'chunk end'() {
      if (rest.length < 2) return false
      if (rest[0] !== CR || rest[1] !== LF) throw new AnswerError('a chunk is longer than its size')
      rest = rest.subarray(2)
      phase = 'size'
      return true
    },
    trailer() {
      const line = takeLine(MAX_LINE_BYTES)
      if (line === undefined) return false
      trailerBytes += line.length + LINE_END_BYTES
      if (trailerBytes > MAX_TRAILER_BYTES) throw new AnswerError('the trailer is too long')
      if (line === '') phase = 'complete'
      return true
    },
  }

  return {
    read(chunk) {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      while (phase !== 'complete' && steps[phase]()) {}
      if (phase !== 'complete') return false
      if (rest.length > 0) throw new AnswerError('the answer is followed by something else')
      return true
    },
    end() {
      if (phase === 'until end') phase = 'complete'
      return phase === 'complete'
    },
    get head() {
      return head
    },
    beginning: () => (kept.length === 0 ? null : kept.toString('utf8')),
  }
}

const PHASE_OF = { length: 'length', chunked: 'size', end: 'until end' } as const

function readHead(text: string): AnswerHead & { body: keyof typeof PHASE_OF; length: number } {
  const lines = text.split('\r\n')
  const [, minor, digits] = /^HTTP\/1\.([01]) (\d{3})(?: |$)/.exec(lines[0] ?? '') ?? []
  if (minor === undefined || digits === undefined) throw new AnswerError('the answer is not HTTP/1.1')
  const status = Number(digits)
  if (status < 100 || status === 101) throw new AnswerError(`the answer has the status ${status}`)
  let retryAfter: string | undefined
  let length: number | undefined
  let encoding: string | undefined
  let connection = ''
  let keptForMs: number | undefined
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ''
    const colon = line.indexOf(':')
    if (colon <= 0 || line.includes('\n') || /^\s|\s:/.test(line.slice(0, colon + 1)))
      throw new AnswerError('a header line is not one')
    const value = () => line.slice(colon + 1).trim()
    switch (line.slice(0, colon).toLowerCase()) {
      case 'retry-after':
        retryAfter ??= value()
        break
      case 'content-length': {
        const given = /^\d{1,15}$/.test(value()) ? Number(value()) : undefined
        if (given === undefined || (length !== undefined && length !== given)) {
          throw new AnswerError('the length of the body is not clear')
        }
        length = given
        break
      }
      case 'transfer-encoding':
        encoding = encoding === undefined ? value().toLowerCase() : `${encoding}, ${value().toLowerCase()}`
        break
      case 'connection':
        connection += `,${value().toLowerCase()}`
        break
      case 'keep-alive': {
        const seconds = /(?:^|[ ,])timeout=(\d{1,6})/.exec(value())?.[1]
        if (seconds !== undefined) keptForMs = Number(seconds) * 1_000
        break
      }
    }
  }
  const hasNone = status === 204 || status === 304 || status < 200
  const body = hasNone ? 'length' : encoding !== undefined ? framingOf(encoding) : bodyOf(length)
  const keeps = minor === '1' ? !connection.includes('close') : connection.includes('keep-alive')
  // Two framings at once are how answers get mixed up: such a connection is not used again.
  const reusable = keeps && body !== 'end' && !(encoding !== undefined && length !== undefined)
  return {
    text: text.slice(0, KEPT_HEAD_CHARACTERS),
    status,
    retryAfter,
    reusable,
    keptForMs,
    body,
    length: hasNone ? 0 : (length ?? 0),
  }
}

const framingOf = (encoding: string) => (encoding === 'chunked' ? 'chunked' : 'end')
const bodyOf = (length: number | undefined) => (length === undefined ? 'end' : 'length')
