import { parentPort } from 'node:worker_threads'

/**
 * Announces the addresses of a running sandbox and ends it on request. A thread posts the addresses and ends on the
 * message "close". A process writes them as one line of JSON and ends on SIGTERM, SIGINT or, with `untilStdinEnds`, the
 * end of its standard input.
 */
export function announce(sandbox: { close(): Promise<void> }, ready: object, untilStdinEnds: boolean): void {
  if (parentPort !== null) {
    const port = parentPort
    port.postMessage(ready)
    port.on('message', (message) => {
      if (message === 'close') sandbox.close().then(() => port.close())
    })
    return
  }
  process.stdout.write(`${JSON.stringify(ready)}\n`)
  const end = () => void sandbox.close().then(() => process.exit(0))
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
  if (untilStdinEnds) process.stdin.resume().once('end', end)
}

/** A number from the command line. */
export function readNumber(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text)
  if (!Number.isFinite(value) || value < 0) throw new RangeError(`--${name} must be a number`)
  return value
}

/** Starts parts one after another; if one fails, those before it are closed. */
export async function startAll<T>(
  start: (keep: <P extends { close(): Promise<void> }>(part: P) => P) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const parts: { close(): Promise<void> }[] = []
  const close = async () => void (await Promise.all(parts.map((part) => part.close())))
  try {
    const started = await start((part) => {
      parts.push(part)
      return part
    })
    return { ...started, close }
  } catch (error) {
    await close()
    throw error
  }
}
