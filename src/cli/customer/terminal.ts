import { ReaderGone } from './explain-failure.ts'
import type { CustomerTerminal } from './run-data.ts'

const PROGRESS_EVERY_MS = 100

export function customerTerminal(
  out: NodeJS.WriteStream = process.stdout,
  about: NodeJS.WriteStream = process.stderr,
): CustomerTerminal {
  // Errors reach the caller through the callback of each write below.
  out.on('error', () => {})
  about.on('error', () => {})
  /** If the rows go to the same terminal, they show enough progress. */
  const isWatched = about.isTTY === true && out.isTTY !== true
  let shownMs = Number.NEGATIVE_INFINITY
  return {
    isTerminal: out.isTTY === true,
    print(text) {
      if (text === '') return Promise.resolve()
      return new Promise((resolve, reject) => {
        out.write(text, (error) => (error ? reject(new ReaderGone(error.message)) : resolve()))
      })
    },
    say: (text) => void about.write(`${text}\n`),
    progress(text) {
      if (!isWatched || (text !== '' && performance.now() - shownMs < PROGRESS_EVERY_MS)) return
      shownMs = performance.now()
      about.write(`\r${text}\u001b[K`)
    },
  }
}
