import { parentPort } from 'node:worker_threads'

/**
 * Tells where a running sandbox is and ends it when asked: a thread posts the addresses and ends on the message
 * "close"; a process prints them as one line of JSON and ends on SIGTERM, SIGINT or, when wanted, the end of its
 * standard input.
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
