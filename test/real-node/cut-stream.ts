/** A client of the stream that loses its connection again and again, and resumes where it was. */
import { setTimeout as wait } from 'node:timers/promises'
import { connectStream, type Frame } from '../fakes/stream-client.ts'
import { until } from '../until.ts'

type StreamEvent = NonNullable<Frame['event']>

export interface CutStream {
  readonly events: StreamEvent[]
  readonly cuts: number
  readonly gaps: Frame[]
  /** Continues without cuts until that number, then ends. */
  finish(seq: number): Promise<void>
  end(): Promise<void>
}

export function startCutStream(
  url: string,
  key: string,
  order: { readonly kinds: readonly string[]; readonly addresses: readonly string[] },
  everyMs: number,
): CutStream {
  const events: StreamEvent[] = []
  const gaps: Frame[] = []
  let cuts = 0
  let isFinishing = false
  const open = () => {
    let isCurrent = true
    const opened = connectStream(url, key, {
      onEvent: (event) => {
        // What arrives after the cut was not processed: it is requested again.
        if (isCurrent) events.push(event)
      },
    })
    opened.send({ op: 'subscribe', ...order, resume_after: events.at(-1)?.seq ?? 0 })
    return {
      client: opened,
      end() {
        isCurrent = false
        gaps.push(...opened.frames.filter(({ type }) => type === 'gap'))
        opened.cut()
      },
    }
  }
  let current = open()
  const run = async () => {
    while (!isFinishing) {
      await wait(everyMs * (0.5 + Math.random()))
      if (isFinishing) return
      current.end()
      cuts += 1
      current = open()
    }
  }
  const running = run()
  return {
    events,
    gaps,
    get cuts() {
      return cuts
    },
    async end() {
      isFinishing = true
      await running
      current.end()
    },
    async finish(seq) {
      isFinishing = true
      await running
      await until(`event ${seq} on the stream`, () => (events.at(-1)?.seq ?? 0) >= seq, 60_000)
      current.end()
    },
  }
}
