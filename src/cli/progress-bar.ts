const WIDTH = 30
const EVERY_MS = 100

export interface ProgressBar {
  show(done: number, total: number, about: string): void
  end(): void
}

/** A progress bar on a terminal; prints nothing if the output is not a terminal. */
export function progressBar(
  terminal: { isTTY?: boolean; write(text: string): unknown } = process.stderr,
): ProgressBar {
  let shownMs = 0
  return {
    show(done, total, about) {
      if (terminal.isTTY !== true || (performance.now() - shownMs < EVERY_MS && done < total)) return
      shownMs = performance.now()
      const share = total === 0 ? 1 : done / total
      const filled = Math.round(share * WIDTH)
      const percent = `${Math.floor(share * 100)}`.padStart(3)
      terminal.write(`\r[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}] ${percent} %  ${about}\u001b[K`)
    },
    end() {
      if (terminal.isTTY === true) terminal.write('\n')
    },
  }
}
