/**
 * Receives messages of other processes (`NOTIFY`) over a separate connection.
 *
 *   connecting ──▶ listening ──error, end or no answer──▶ pause ──▶ connecting
 *
 * Messages sent while it is not listening are lost, so listeners read the state in `onConnected` and at intervals.
 */
import type { PostgresAddress } from './address.ts'
import { connect } from './connection.ts'

const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 2_000
/** A connection that hangs is detected by a query that is not answered. */
const CHECK_EVERY_MS = 5_000

interface Listening {
  readonly address: PostgresAddress
  /** Letters, digits and `_`. */
  readonly channel: string
  onMessage(message: string): void
  /** `again` is true after a connection was lost; the new one may lead to another server. */
  onConnected(again: boolean): void
}

/** The returned function stops listening. */
export function listen({ address, channel, onMessage, onConnected }: Listening): () => Promise<void> {
  let isEnded = false
  let wake = () => {}
  let pauseMs = FIRST_PAUSE_MS
  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (isEnded) wake()
    })
  const listenOnce = async (again: boolean): Promise<void> => {
    const connection = await connect(address, [address.schema])
    const { client } = connection
    try {
      client.on('notification', ({ payload }) => {
        if (!isEnded) onMessage(payload ?? '')
      })
      client.on('end', () => wake())
      client.on('error', () => wake())
      await client.query(`LISTEN ${channel}`)
      pauseMs = FIRST_PAUSE_MS
      if (!isEnded) onConnected(again)
      while (!isEnded && !connection.isBroken()) {
        await pause(CHECK_EVERY_MS)
        if (!isEnded) await client.query(`LISTEN ${channel}`)
      }
    } finally {
      // Otherwise the end of this connection would cut short the pause before the next one.
      client.removeAllListeners('end')
      client.removeAllListeners('error')
      client.on('error', () => {})
      client.end().catch(() => {})
    }
  }
  const run = async () => {
    for (let again = false; !isEnded; again = true) {
      try {
        await listenOnce(again)
      } catch {
        // The loop reconnects; callers see the state of the server in their own calls.
      }
      if (isEnded) return
      await pause(pauseMs)
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2)
    }
  }
  const ended = run()
  return () => {
    isEnded = true
    wake()
    return ended
  }
}
