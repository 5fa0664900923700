import type { CursorCodec, CursorPlace } from '../../../core/cursor.ts'
import { ApiError } from '../../../core/errors.ts'
import type { Source } from '../../../core/source.ts'
import type { Position } from '../../../store/series.ts'
import { WRITE_DELAY_MS } from './coverage-meta.ts'

/**
 * Paging. The cursor contains the order and the range as well as the position, so that the next page needs only the
 * cursor and the filters; another range or order is an error.
 */
export interface CursorWalk {
  readonly order: 'asc' | 'desc'
  readonly startMs: number | undefined
  readonly endMs: number | undefined
  readonly position: Position | undefined
  /** The exclusive end of what the walk reads, if that is not its range; see `sampled-walk.ts` and `downFromNow`. */
  readonly readToMs: number | undefined
  /** The start of the walk after the plan's window moved it; no later page reads before it. */
  readonly movedStartMs: number | undefined
}

export interface WalkInput {
  readonly after?: string | undefined
  readonly order?: 'asc' | 'desc' | undefined
  readonly start?: number | undefined
  readonly end?: number | undefined
}

export function readWalk(codec: CursorCodec, binding: () => string, input: WalkInput): CursorWalk {
  if (input.after === undefined) {
    return {
      order: input.order ?? (input.start === undefined ? 'desc' : 'asc'),
      startMs: input.start,
      endMs: input.end,
      position: undefined,
      readToMs: undefined,
      movedStartMs: undefined,
    }
  }
  const place = codec.decode(binding(), input.after)
  if (place === undefined) throw foreignCursor()
  const [order, start, end, ts, source, instrument, seq, readTo = null, movedStart = null] = place
  const walk: CursorWalk = {
    order: order === 'desc' ? 'desc' : 'asc',
    startMs: start === null ? undefined : Number(start),
    endMs: end === null ? undefined : Number(end),
    position: { ts: Number(ts), source: source as Source, instrument: String(instrument), seq: Number(seq) },
    readToMs: readTo === null ? undefined : Number(readTo),
    movedStartMs: movedStart === null ? undefined : Number(movedStart),
  }
  const changed =
    (input.start !== undefined && input.start !== walk.startMs) ||
    (input.end !== undefined && input.end !== walk.endMs) ||
    (input.order !== undefined && input.order !== walk.order)
  if (changed) throw foreignCursor()
  return walk
}

export function writeCursor(codec: CursorCodec, binding: string, walk: CursorWalk, last: Position): string {
  const { order, startMs = null, endMs = null, readToMs = null, movedStartMs = null } = walk
  const { ts, source, instrument, seq } = last
  const place: CursorPlace = [order, startMs, endMs, ts, source, instrument, seq]
  if (movedStartMs !== null) return codec.encode(binding, [...place, readToMs, movedStartMs])
  return codec.encode(binding, readToMs === null ? place : [...place, readToMs])
}

/**
 * Bounds a walk over samples that goes down from now and has no bound yet, so that later pages leave out rows newer
 * than its first row.
 */
export function downFromNow(walk: CursorWalk, nowMs: number, firstTs: number | undefined): CursorWalk {
  const isFirst = walk.position === undefined && firstTs !== undefined
  const isOpen = walk.endMs === undefined || walk.endMs >= nowMs - WRITE_DELAY_MS
  const isFree = isFirst && isOpen && walk.readToMs === undefined
  return isFree && walk.order === 'desc' ? { ...walk, readToMs: firstTs + 1 } : walk
}

const NOT_BOUND = ['after', 'order', 'start', 'end', 'limit']

/** Everything that identifies the query, except range, order and page size. */
export function walkBinding(path: string, input: Readonly<Record<string, unknown>>): string {
  const given = Object.keys(input)
    .filter((name) => input[name] !== undefined && !NOT_BOUND.includes(name))
    .sort()
    .map((name) => [name, input[name]])
  return JSON.stringify([path, given])
}

export function foreignCursor(): ApiError {
  return new ApiError(
    'invalid_param',
    'after is not a cursor of this query: take meta.next_cursor and keep the other parameters.',
    { param: 'after' },
  )
}
